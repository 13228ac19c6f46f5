//! `couplet gateway pins`: servers compared with the lock file.

use std::{fmt::Write, sync::Arc};

use clap::Subcommand;
use couplet::core::clock::unix_seconds;
use couplet_gateway::{Config, Inspected, PinFile, Unapproved, inspect};
use couplet_host::{
    names::Kind,
    pins::{Launch, Lock, Select},
};
use serde_json::json;

use super::{ConfigArgs, here, load};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// The arguments of `couplet gateway pins`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: PinsCommand,
}

#[derive(Debug, Subcommand)]
enum PinsCommand {
    /// Show what differs from the lock file
    Diff(CompareArgs),
    /// Approve what servers offer now, and how they are started
    Approve(Approve),
    /// Fail if anything differs from the lock file, without a diff
    Check(CompareArgs),
}

#[derive(clap::Args, Debug)]
struct CompareArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(clap::Args, Debug)]
struct Approve {
    /// Configuration
    config: std::path::PathBuf,
    /// Server, or server/tool (default: all servers)
    items: Vec<String>,
}

pub(super) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let _ = couplet::stdio::children::guard();
    match args.command {
        PinsCommand::Diff(args) => compare(args, true, output).await,
        PinsCommand::Check(args) => compare(args, false, output).await,
        PinsCommand::Approve(args) => approve(args, output).await,
    }
}

async fn compare(args: CompareArgs, in_detail: bool, output: &Output) -> Result<(), Failure> {
    let env = here()?;
    let config = load(args.config.config, &env, output)?;
    let lock = PinFile::new(config.lock_path()).read()?;
    let found = inspect(&config, &env, &lock, Unapproved::Leave, couplet_gateway::config::Server::is_pinned).await;
    let mut page = String::new();
    let (mut differs, mut failed) = (0, 0);
    for one in &found {
        let outcome = outcome(one, &lock, in_detail, output);
        differs += usize::from(outcome.differs);
        failed += usize::from(outcome.failed);
        page.push_str(&outcome.text);
    }
    output.print(&page)?;
    match (differs, failed) {
        (0, 0) => Ok(()),
        (0, failed) => {
            let what = format!("{} not available", text::count(failed, "server is", "servers are"));
            Err(Failure::new(Exit::Unreachable, what))
        }
        (differs, _) => {
            let what = format!("{} from the lock file", text::count(differs, "server differs", "servers differ"));
            let hint = format!("approve with `couplet gateway pins approve {}`", config.path.display());
            Err(Failure::new(Exit::Refused, what).hint(hint))
        }
    }
}

/// A server, compared.
struct Outcome {
    text: String,
    differs: bool,
    failed: bool,
}

fn outcome(one: &Inspected, lock: &Lock, in_detail: bool, output: &Output) -> Outcome {
    let (id, launch) = (&one.server.id, one.server.launch_digest());
    let seen = match &one.seen {
        Ok(seen) => seen,
        Err(why) => {
            let differs = one.launch == Launch::Changed;
            return Outcome { text: not_seen(one, why, output), differs, failed: !differs };
        }
    };
    let compared = lock.compare(id, &launch, seen, unix_seconds());
    let differs = !compared.is_clean();
    let mut page = String::new();
    if output.json {
        let names = |items: &[couplet_host::pins::Item]| {
            items.iter().map(|item| json!({ "kind": item.kind.as_str(), "name": item.raw })).collect::<Vec<_>>()
        };
        let line = json!({
            "server": one.server.key, "id": id, "launch": word(compared.launch), "pending": names(&compared.pending),
            "changed": names(&compared.changed), "gone": names(&compared.gone),
        });
        let _ = writeln!(page, "{line}");
        return Outcome { text: page, differs, failed: false };
    }
    let name = output.out.name(text::line(&one.server.key));
    if !differs {
        let number =
            text::count(seen.iter().filter(|seen| seen.kind != Kind::Resource).count(), "definition", "definitions");
        let _ = writeln!(page, "{name}  {} {number}", output.out.good("approved:"));
    } else if in_detail {
        let _ = write!(page, "{}", launched(one, output));
        // It is escaped already.
        let _ = writeln!(page, "{}", lock.diff(id, &launch, seen, unix_seconds()).to_string().trim_end());
    } else {
        let number = |items: &[couplet_host::pins::Item], what: &str| match items.len() {
            0 => None,
            number => Some(format!("{number} {what}")),
        };
        let launch = (compared.launch != Launch::Approved).then(|| format!("launch {}", word(compared.launch)));
        let parts = [
            launch,
            number(&compared.pending, "pending"),
            number(&compared.changed, "changed"),
            number(&compared.gone, "gone"),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        let _ = writeln!(page, "{name}  {}", output.out.warning(parts.join(", ")));
    }
    Outcome { text: page, differs, failed: false }
}

fn not_seen(one: &Inspected, why: &str, output: &Output) -> String {
    if output.json {
        return format!("{}\n", json!({ "server": one.server.key, "launch": word(one.launch), "error": why }));
    }
    let name = output.out.name(text::line(&one.server.key));
    let head = format!("{name}  {}\n", output.out.error(text::visible(why).replace('\n', "\n    ")));
    if one.launch == Launch::Changed { head + &launched(one, output) } else { head }
}

/// The exact launch, for a server whose launch is not approved.
fn launched(one: &Inspected, output: &Output) -> String {
    if one.launch == Launch::Approved {
        return String::new();
    }
    let lines = one.server.launch.lines().iter().map(|line| format!("    {}\n", text::line(line)));
    let head = format!("  {} {}\n", output.out.warning(format!("launch {}:", word(one.launch))), one.server.id);
    head + &lines.collect::<String>()
}

fn word(launch: Launch) -> &'static str {
    match launch {
        Launch::Approved => "approved",
        Launch::New => "new",
        Launch::Changed => "changed",
    }
}

async fn approve(args: Approve, output: &Output) -> Result<(), Failure> {
    let env = here()?;
    let config = load(Some(args.config), &env, output)?;
    let items = args.items.iter().map(|item| parse(item, &config)).collect::<Result<Vec<_>, _>>()?;
    let file = PinFile::new(config.lock_path());
    let before = file.read()?;
    let wanted = |server: &couplet_gateway::config::Server| {
        server.is_pinned() && (items.is_empty() || items.iter().any(|(key, _)| *key == server.key))
    };
    let found = inspect(&config, &env, &before, Unapproved::Start, wanted).await;
    // Another program may have changed it meanwhile.
    let mut lock = file.read()?;
    let mut page = String::new();
    let mut failed = 0;
    for one in &found {
        let selects: Vec<_> = items.iter().filter(|(key, _)| *key == one.server.key).collect();
        let whole = selects.is_empty() || selects.iter().any(|(_, item)| item.is_none());
        let name = output.out.name(text::line(&one.server.key));
        let approved = if whole {
            one.approve(&mut lock, Select::Server)
        } else {
            let names = selects.iter().filter_map(|(_, item)| item.as_deref());
            names.map(|name| one.approve(&mut lock, Select::Item(Kind::Tool, name))).sum()
        };
        match approved {
            Ok(number) => {
                page.push_str(&if whole { launched(one, output) } else { String::new() });
                let number = text::count(number, "definition", "definitions");
                let _ = writeln!(page, "{name}  {} {number}", output.out.good("approved:"));
            }
            Err(why) => {
                failed += 1;
                page.push_str(&not_seen(one, &why, output));
            }
        }
    }
    if lock != before {
        file.write(&lock)?;
        let _ = writeln!(page, "wrote {}", text::line(&env.display_path(file.path())));
    }
    if !output.json {
        output.print(&page)?;
    }
    if failed == 0 {
        return Ok(());
    }
    Err(Failure::new(Exit::Unreachable, format!("{} not available", text::count(failed, "server is", "servers are"))))
}

/// Parses `server` or `server/tool`.
fn parse(item: &str, config: &Config) -> Result<(String, Option<String>), Failure> {
    let (key, tool) = match config.server(item) {
        Some(_) => (item, None),
        None => item.split_once('/').map_or((item, None), |(key, tool)| (key, Some(tool.to_owned()))),
    };
    let server = config.server(key).or_else(|| config.servers.iter().find(|server| server.id.as_str() == key));
    match server {
        Some(server) => Ok((server.key.clone(), tool)),
        None => {
            let keys = config.servers.iter().map(|server| server.key.clone());
            let close = couplet_hosts::suggest::sentence(key, keys);
            Err(Failure::usage(format!("`{}` has no server `{key}`{close}", config.path.display())))
        }
    }
}
