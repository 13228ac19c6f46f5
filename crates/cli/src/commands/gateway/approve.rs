//! `couplet gateway pins approve`: servers, or single definitions of them.

use std::fmt::Write;

use couplet::core::clock::unix_seconds;
use couplet_gateway::{
    Config, Inspected, PinFile, Unapproved,
    config::{Server, Time},
    inspect,
};
use couplet_host::{
    names::Kind,
    pins::{Approval, Launch, Lock, Seen, Select},
};
use serde_json::json;

use super::{
    here, load,
    pins::{launched, not_seen, word},
};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// The arguments of `couplet gateway pins approve`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Configuration
    config: std::path::PathBuf,
    /// Server, or SERVER/NAME for one tool, prompt or resource template, or
    /// SERVER/instructions (default: all servers)
    items: Vec<String>,
    /// Time after which it must be approved again, such as 90d or 12h
    /// (default: never)
    #[arg(long, value_name = "TIME", value_parser = time)]
    expires: Option<Time>,
    /// Name of the person who approves, for the lock file
    #[arg(long, value_name = "NAME", value_parser = name)]
    signer: Option<String>,
}

impl Args {
    fn approval(&self) -> Approval {
        let at = unix_seconds();
        Approval { at, by: self.signer.clone(), expires: self.expires.map(|time| at.saturating_add(time.0.as_secs())) }
    }
}

/// Parses the time for which an approval counts.
fn time(text: &str) -> Result<Time, String> {
    let time = Time::parse(text).filter(|time| time.0.as_secs() > 0);
    time.ok_or_else(|| "expected a time such as 90d, 12h or 1h30m, of a second or more".to_owned())
}

/// Parses a name: it is a line of the lock file, which is read in version control.
fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().count() > 100 || name != text::line(name) {
        return Err("expected a name of up to 100 printable characters".to_owned());
    }
    Ok(name.to_owned())
}

pub(super) async fn run(args: Args, output: &Output) -> Result<(), Failure> {
    let (env, approval) = (here()?, args.approval());
    let config = load(Some(args.config), &env, output)?;
    let wanted = args.items.iter().map(|item| ApprovedName::parse(item, &config)).collect::<Result<Vec<_>, _>>()?;
    let file = PinFile::new(config.lock_path());
    let before = file.read()?;
    let found = inspect(&config, &env, &before, |server| unapproved(server, &wanted)).await;
    let plans = found.iter().map(|one| ServerApproval::new(one, &wanted)).collect::<Result<Vec<_>, _>>()?;
    // Another program may have changed it meanwhile.
    let mut lock = file.read()?;
    let mut page: String = plans.iter().map(|plan| plan.carry_out(&mut lock, &approval, output)).collect();
    if lock != before {
        file.write(&lock)?;
        if !output.json {
            let _ = writeln!(page, "wrote {}", text::line(&env.display_path(file.path())));
        }
    }
    output.print(&page)?;
    failure(&found, &wanted, &config).map_or(Ok(()), Err)
}

/// A server, or one definition of it, on the command line.
struct ApprovedName {
    key: String,
    item: Option<String>,
}

impl ApprovedName {
    fn parse(written: &str, config: &Config) -> Result<Self, Failure> {
        let by_id = |key: &str| config.servers.iter().find(|server| server.id.as_str() == key);
        let find = |key: &str| config.server(key).or_else(|| by_id(key));
        // A key may contain `/`, too.
        let parts = || written.match_indices('/').map(|(at, _)| (&written[..at], &written[at + 1..]));
        let whole = find(written).map(|server| (server, None));
        let found = whole.or_else(|| parts().find_map(|(key, item)| Some((find(key)?, Some(item.to_owned())))));
        let Some((server, item)) = found else {
            let key = written.split('/').next().unwrap_or(written);
            let keys = config.servers.iter().map(|server| server.key.clone());
            let close = couplet_hosts::suggest::sentence(key, keys);
            return Err(Failure::usage(format!("`{}` has no server `{key}`{close}", config.path.display())));
        };
        if !server.is_pinned() {
            let what = format!("the server `{}` has `\"pin\": false`: it needs no approval", server.key);
            return Err(Failure::usage(what));
        }
        Ok(Self { key: server.key.clone(), item })
    }
}

/// Whether a server is started. The approval of a single definition says nothing about another launch.
fn unapproved(server: &Server, wanted: &[ApprovedName]) -> Option<Unapproved> {
    let of_server: Vec<_> = wanted.iter().filter(|wanted| wanted.key == server.key).collect();
    match of_server.as_slice() {
        _ if !server.is_pinned() => None,
        [] => wanted.is_empty().then_some(Unapproved::Start),
        some if some.iter().any(|wanted| wanted.item.is_none()) => Some(Unapproved::Start),
        _ => Some(Unapproved::Leave),
    }
}

/// What is approved of a server.
struct ServerApproval<'a> {
    one: &'a Inspected,
    /// The definitions; `None` if it is the server as a whole.
    items: Option<Vec<&'a Seen>>,
}

impl<'a> ServerApproval<'a> {
    /// Finds the definitions. One that is not there is an error, and then nothing is approved.
    fn new(one: &'a Inspected, wanted: &[ApprovedName]) -> Result<Self, Failure> {
        let of_server = || wanted.iter().filter(|wanted| wanted.key == one.server.key);
        if one.seen.is_err() || of_server().next().is_none() || of_server().any(|wanted| wanted.item.is_none()) {
            return Ok(Self { one, items: None });
        }
        let names = of_server().filter_map(|wanted| wanted.item.as_deref());
        let items = names.map(|name| one.find(name).map_err(Failure::usage)).collect::<Result<Vec<_>, _>>()?;
        match items.iter().find(|seen| seen.kind == Kind::Resource) {
            Some(seen) => Err(Failure::usage(format!("`{}` is a resource, which needs no approval", seen.raw))),
            None => Ok(Self { one, items: Some(items) }),
        }
    }

    /// Approves, and returns the text about it.
    fn carry_out(&self, lock: &mut Lock, approval: &Approval, output: &Output) -> String {
        let one = self.one;
        let approved = match &self.items {
            None => one.approve(lock, Select::Server, approval).map(drop),
            Some(items) => {
                let select = |seen: &&Seen| one.approve(lock, Select::Item(seen.kind, &seen.raw), approval).map(drop);
                items.iter().try_for_each(select)
            }
        };
        if let Err(why) = approved {
            return not_seen(one, &why, output);
        }
        let all = || one.seen.iter().flatten().filter(|seen| seen.kind != Kind::Resource).collect();
        let items = self.items.clone().unwrap_or_else(all);
        if output.json {
            let names = items.iter().map(|seen| json!({ "kind": seen.kind.as_str(), "name": seen.raw }));
            let approved: Vec<_> = names.collect();
            let line = json!({
                "server": one.server.key, "id": one.server.id, "launch": word(one.launch), "approved": approved,
            });
            return format!("{line}\n");
        }
        let number = text::count(items.len(), "definition", "definitions");
        let name = output.out.name(text::line(&one.server.key));
        format!("{}{name}  {} {number}\n", launched(one, output), output.out.good("approved:"))
    }
}

/// The error for servers that were not approved.
fn failure(found: &[Inspected], wanted: &[ApprovedName], config: &Config) -> Option<Failure> {
    let failed: Vec<_> = found.iter().filter(|one| one.seen.is_err()).collect();
    let is_refused =
        |one: &&&Inspected| one.launch == Launch::Changed && unapproved(&one.server, wanted) == Some(Unapproved::Leave);
    let not_available = || format!("{} not available", text::count(failed.len(), "server is", "servers are"));
    match failed.iter().find(is_refused) {
        None if failed.is_empty() => None,
        None => Some(Failure::new(Exit::Unreachable, not_available())),
        Some(one) => {
            let key = &one.server.key;
            let what = format!("the server `{key}` would be started in another way than the approved one");
            let path = config.path.display();
            let hint = format!("if that is right, approve all of it: `couplet gateway pins approve {path} {key}`");
            Some(Failure::new(Exit::Refused, what).hint(hint))
        }
    }
}
