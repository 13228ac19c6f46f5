//! `couplet servers` and `couplet hosts`.

use std::io::Write;

use serde_json::json;

use super::{Out, Selection, columns};
use crate::{Entry, Env, Error, Hosts, Server, discover};

/// Lists the servers in the configuration of all hosts on this machine.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServersArgs {
    /// Which hosts.
    #[command(flatten)]
    pub selection: Selection,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Lists the known hosts and their configuration files.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HostsArgs {
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Lists the configured servers. Values of variables and headers are not shown, since they may be secret.
///
/// # Errors
/// If a selected host is unknown, or `out` cannot be written to.
pub fn servers(args: &ServersArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let hosts = Hosts::load(env)?;
    let wanted = args.selection.hosts(env, &hosts)?;
    let found = discover(env, &hosts);
    let is_wanted = |server: &&Server| wanted.as_ref().is_none_or(|w| w.iter().any(|h| h.id() == server.host));
    let servers: Vec<_> = found.servers.iter().filter(is_wanted).collect();
    let mut out = Out(out);
    if args.json {
        return out.json(&servers.iter().map(|server| described(server)).collect());
    }
    match servers.is_empty() {
        true => out.line("no host has a server configured")?,
        false => out.text(&columns(&rows(&servers)))?,
    }
    for error in &found.broken {
        out.line(format_args!("not read: {error}"))?;
    }
    Ok(())
}

/// One row per server; hosts that share a file share a row.
fn rows(servers: &[&Server]) -> Vec<Vec<String>> {
    let mut rows: Vec<(&Server, Vec<String>)> = Vec::new();
    for server in servers {
        let is_same =
            |other: &Server| (&other.path, other.scope, &other.name) == (&server.path, server.scope, &server.name);
        if let Some((_, row)) = rows.iter_mut().find(|(other, _)| is_same(other)) {
            row[1] = format!("{}, {}", row[1], server.host);
            continue;
        }
        let how = match &server.entry {
            Ok(entry) => entry.to_string(),
            Err(what) => format!("({what})"),
        };
        let off = if server.enabled { "" } else { " (off)" };
        rows.push((server, vec![server.name.clone(), server.host.clone(), format!("{}{off}", server.scope), how]));
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Lists the known hosts and the paths of their files.
///
/// # Errors
/// If the user's table of hosts is invalid, or `out` cannot be written to.
pub fn hosts(args: &HostsArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let hosts = Hosts::load(env)?;
    let mut out = Out(out);
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for host in hosts.iter() {
        let is_here = host.is_detected(env);
        let places = host.places(env);
        let file = places.first().map(|place| env.display_path(place.path())).unwrap_or_default();
        let here = if is_here { "installed" } else { "" };
        rows.push(vec![host.id().to_owned(), host.name().to_owned(), here.to_owned(), file]);
        all.push(json!({
            "id": host.id(),
            "name": host.name(),
            "installed": is_here,
            "files": places.iter().map(|p| json!({ "scope": p.scope().to_string(), "path": p.path() })).collect::<Vec<_>>(),
        }));
    }
    if args.json { out.json(&all.into()) } else { out.text(&columns(&rows)) }
}

fn described(server: &Server) -> serde_json::Value {
    let names = |pairs: &[(String, crate::Text)]| pairs.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let how = match &server.entry {
        Err(what) => json!({ "error": what }),
        Ok(Entry::Stdio(stdio)) => json!({
            "command": stdio.command.to_string(),
            "args": stdio.args.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "env": names(&stdio.env),
        }),
        Ok(Entry::Remote(remote)) => json!({ "url": remote.url.to_string(), "headers": names(&remote.headers) }),
    };
    let mut all = json!({
        "name": server.name,
        "host": server.host,
        "scope": server.scope.to_string(),
        "path": server.path,
        "enabled": server.enabled,
    });
    if let (Some(all), serde_json::Value::Object(how)) = (all.as_object_mut(), how) {
        all.extend(how);
    }
    all
}
