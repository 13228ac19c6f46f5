//! `couplet sync`.

use std::io::Write;

use super::{
    Out, Planned, Plans, Selection, WriteOptions,
    prepare::{bridge, takes},
};
use crate::{Config, Entry, Env, Error, ErrorKind, Host, Hosts, Overwrite, Scope, Server};

/// Copies servers from one host to others.
#[derive(Clone, Debug, clap::Args)]
pub struct SyncArgs {
    /// The servers (default: all enabled ones)
    pub name: Vec<String>,
    /// The host to copy from
    #[arg(long, value_name = "HOST")]
    pub from: String,
    /// The scope to copy from
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    pub from_scope: Scope,
    /// Which hosts get them.
    #[command(flatten)]
    pub selection: Selection,
    /// The scope to copy to: user, project or local
    #[arg(long, default_value = "user")]
    pub scope: Scope,
    /// How.
    #[command(flatten)]
    pub options: WriteOptions,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Copies servers from one host to others. Entries that differ in the target are skipped unless `--force` is given.
///
/// # Errors
/// If entries were skipped, after all others were copied; or if the arguments are invalid.
pub fn sync(args: &SyncArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let hosts = Hosts::load(env)?;
    let from = hosts.get(&args.from)?;
    let source = Config::read(from, from.place(env, args.from_scope)?)?;
    let servers = chosen(args, &source)?;
    let mut plans = Plans::new(&args.selection);
    let mut left = 0;
    for host in args.selection.required(env, &hosts, args.scope)? {
        if host.id() == from.id() && args.scope == args.from_scope {
            continue;
        }
        let plan = plan(args, env, host, &servers).map(|(plan, conflicts)| {
            left += conflicts;
            plan
        });
        plans.push(host, plan)?;
    }
    if plans.is_empty() {
        return Err(Error::usage("there is no other host to copy to").with_hint("name one with `--host`"));
    }
    plans.carry_out(env, &args.options, args.json, &mut Out(out))?;
    match left {
        0 => Ok(()),
        _ => {
            Err(Error::new(ErrorKind::Conflict, format!("{left} of the entries could not be copied and were skipped"))
                .with_hint("`--force` replaces those that differ"))
        }
    }
}

/// The servers to copy.
fn chosen(args: &SyncArgs, source: &Config<'_>) -> Result<Vec<(String, Entry)>, Error> {
    let host = source.host().name();
    let copied = |server: Server| match server.entry {
        Ok(entry) => Ok((server.name, entry)),
        Err(what) => Err(Error::broken(source.place().path(), None, format!("server `{}`: {what}", server.name))),
    };
    if !args.name.is_empty() {
        let find = |name: &String| {
            let close = || crate::suggest::sentence(name, source.servers().into_iter().map(|s| s.name));
            source.server(name).ok_or_else(|| Error::unknown(format!("{host} has no server `{name}`{}", close())))
        };
        return args.name.iter().map(|name| find(name).and_then(copied)).collect();
    }
    // Without names, entries that cannot be read are skipped: a host may have entries of its own there.
    let all: Vec<_> = source.servers().into_iter().filter(|s| s.enabled).filter_map(|s| copied(s).ok()).collect();
    match all.is_empty() {
        true => Err(Error::unknown(format!("{host} has no servers in `{}`", source.place().path().display()))),
        false => Ok(all),
    }
}

/// Plans adding all servers to one host's file as one change; also returns the number of skipped entries.
fn plan<'a>(
    args: &'a SyncArgs,
    env: &'a Env,
    host: &'a Host,
    servers: &'a [(String, Entry)],
) -> Result<(Planned<'a>, usize), Error> {
    let mut config = Config::read(host, host.place(env, args.scope)?)?;
    let overwrite = if args.options.force { Overwrite::Yes } else { Overwrite::No };
    let (mut added, mut notes, mut left) = (Vec::new(), Vec::new(), 0);
    let mut change = None;
    for (name, entry) in servers {
        let entry = match entry {
            Entry::Remote(remote) if !takes(host, remote.transport) => {
                notes.push(format!(
                    "`{name}` uses a transport that {} does not support, so it starts a bridge instead",
                    host.name()
                ));
                bridge(env, remote).into()
            }
            entry => entry.clone(),
        };
        let had = config.server(name).is_some();
        let next = match config.add(name, &entry, overwrite) {
            Ok(next) => next,
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Usage) => {
                left += 1;
                notes.push(format!("skipped: {error}"));
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_new = !had || next.after() != config.text().unwrap_or_default();
        if is_new {
            added.push(format!("`{name}`"));
        }
        notes.extend(next.notes().iter().cloned());
        config = config.with(&next)?;
        change = Some(next);
    }
    let change = match change {
        Some(change) => change,
        None => config.unchanged(),
    };
    let what = format!("added {} ({})", added.join(", "), args.scope);
    let again = Box::new(move || plan(args, env, host, servers).map(|(plan, _)| plan));
    Ok((Planned { host, scope: args.scope, change, what, notes, next: host.next_step(), again }, left))
}
