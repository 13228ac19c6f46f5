//! `couplet uninstall`.

use std::io::Write;

use super::{Out, Planned, Plans, Selection, WriteOptions};
use crate::{Config, Env, Error, Host, Hosts, Scope, Server, discover};

/// Removes a server from the configuration of hosts.
#[derive(Clone, Debug, clap::Args)]
pub struct UninstallArgs {
    /// The name of the server in the hosts
    pub name: String,
    /// Which hosts; not needed if only one has it.
    #[command(flatten)]
    pub selection: Selection,
    /// The scope: user, project or local; only needed if the server is in several
    #[arg(long)]
    pub scope: Option<Scope>,
    /// How.
    #[command(flatten)]
    pub options: WriteOptions,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Removes a server from hosts.
///
/// # Errors
/// If no host has the server, several have it and none was selected, or a file cannot be changed.
pub fn uninstall(args: &UninstallArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let hosts = Hosts::load(env)?;
    // All hosts that have the server count, whether they seem to be installed or not.
    let named = if args.selection.all { None } else { args.selection.hosts(env, &hosts)? };
    let candidates: Vec<&Host> = named.clone().unwrap_or_else(|| hosts.iter().collect());
    let mut found = Vec::new();
    for host in &candidates {
        let places = match args.scope {
            Some(scope) => host.place(env, scope).into_iter().collect(),
            None => host.places(env),
        };
        for place in places {
            match Config::read(host, place) {
                Ok(config) if config.server(&args.name).is_some() => found.push(config),
                // A broken file matters only if its host was named.
                Err(error) if named.is_some() => return Err(error),
                _ => {}
            }
        }
    }
    if found.is_empty() {
        return Err(not_found(args, env, &hosts, named.as_deref()));
    }
    let one_file = found.iter().all(|config| config.place() == found[0].place());
    if !args.selection.all && is_unclear(&found, named.is_some()) && !one_file {
        return Err(which(&args.name, &found));
    }
    let mut plans = Plans::new(&args.selection);
    for config in &found {
        plans.push(config.host(), plan(args, env, config))?;
    }
    plans.carry_out(env, &args.options, args.json, &mut Out(out))
}

fn plan<'a>(args: &'a UninstallArgs, env: &'a Env, config: &Config<'a>) -> Result<Planned<'a>, Error> {
    let (host, place) = (config.host(), config.place().clone());
    let scope = place.scope();
    let change = config.remove(env, &args.name)?;
    let what = format!("removed `{}` ({scope})", args.name);
    let again = Box::new(move || plan(args, env, &Config::read(host, place.clone())?));
    Ok(Planned { host, scope, change, what, notes: Vec::new(), next: None, again })
}

/// Whether the server is in several places and the arguments do not say which is meant.
fn is_unclear(found: &[Config<'_>], hosts_named: bool) -> bool {
    let is_again = |at: usize| found[..at].iter().any(|c| c.host().id() == found[at].host().id());
    if hosts_named { (0..found.len()).any(is_again) } else { found.len() > 1 }
}

fn which(name: &str, found: &[Config<'_>]) -> Error {
    let places: Vec<_> = found.iter().map(|c| format!("{} ({})", c.host().id(), c.place().scope())).collect();
    Error::usage(format!("`{name}` is in several places: {}", places.join(", ")))
        .with_hint("select with `--host` and `--scope`, or `--all` for all of them")
}

fn not_found(args: &UninstallArgs, env: &Env, hosts: &Hosts, named: Option<&[&Host]>) -> Error {
    let is_asked = |server: &&Server| named.is_none_or(|named| named.iter().any(|h| h.id() == server.host));
    let found = discover(env, hosts);
    let names = found.servers.iter().filter(is_asked).map(|s| s.name.clone());
    let close = crate::suggest::sentence(&args.name, names);
    let who = match named {
        Some([host]) => format!("{} has no", host.name()),
        Some(_) => "none of these hosts has a".to_owned(),
        None => "no host has a".to_owned(),
    };
    Error::unknown(format!("{who} server `{}`{close}", args.name))
        .with_hint("`couplet servers` lists those that there are")
}
