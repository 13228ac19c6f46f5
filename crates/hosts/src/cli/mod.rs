//! `install`, `uninstall`, `sync`, `servers`, `hosts` and `doctor`: arguments for `clap`, and functions that do it.
//!
//! Each function writes what people read to `out` and nothing anywhere else, in no colour. With `json` set it writes one
//! JSON value instead. An [`Error`] has what an exit code is chosen by, a line and a hint.

mod doctor;
mod install;
mod prepare;
mod servers;
mod sync;
mod uninstall;

use std::{fmt, io::Write};

use crate::{Change, Env, Error, ErrorKind, Host, Hosts, Scope};

pub use doctor::{DoctorArgs, doctor, look_at, report};
pub use install::{InstallArgs, install};
pub use servers::{HostsArgs, ServersArgs, hosts, servers};
pub use sync::{SyncArgs, sync};
pub use uninstall::{UninstallArgs, uninstall};

/// Which hosts a command is about.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Selection {
    /// A host, by the name that `couplet hosts` shows; several with commas, or by repeating this
    #[arg(long = "host", value_name = "HOST", value_delimiter = ',')]
    pub host: Vec<String>,
    /// Every host that is installed here
    #[arg(long, conflicts_with = "host")]
    pub all: bool,
}

/// How a change is made.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Manner {
    /// Show what would change, as a diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace entries that are there and differ
    #[arg(long)]
    pub force: bool,
}

impl Selection {
    /// The hosts; `None` if none were named.
    fn hosts<'a>(&self, env: &Env, hosts: &'a Hosts) -> Result<Option<Vec<&'a Host>>, Error> {
        if self.all {
            return Ok(Some(hosts.detected(env)));
        }
        let mut named: Vec<&Host> = Vec::new();
        for name in &self.host {
            let host = hosts.get(name)?;
            if !named.iter().any(|h| h.id() == host.id()) {
                named.push(host);
            }
        }
        Ok((!named.is_empty()).then_some(named))
    }

    /// The hosts, or an error that says which there are. Of all that are installed, those count that have the scope.
    fn required<'a>(&self, env: &Env, hosts: &'a Hosts, scope: Scope) -> Result<Vec<&'a Host>, Error> {
        let mut found = hosts.detected(env);
        found.retain(|host| host.scopes().any(|s| s == scope));
        let ids: Vec<_> = found.iter().map(|h| h.id()).collect();
        match self.hosts(env, hosts)? {
            Some(named) if !self.all => Ok(named),
            Some(_) if !found.is_empty() => Ok(found),
            _ if found.is_empty() => {
                let all: Vec<_> = hosts.iter().map(Host::id).collect();
                Err(Error::usage("no host is installed here as far as can be seen: name one with `--host`")
                    .with_hint(format!("the hosts are {}", all.join(", "))))
            }
            _ => Err(Error::usage("say which host with `--host`, or `--all` for those that are installed here")
                .with_hint(format!("installed here: {}", ids.join(", ")))),
        }
    }
}

/// A change that was planned for a host.
struct Planned<'a> {
    host: &'a Host,
    scope: Scope,
    change: Change,
    /// `added …`, `removed …`.
    what: String,
    notes: Vec<String>,
    /// What has to be done in the host.
    next: Option<&'a str>,
}

impl<'a> Planned<'a> {
    /// Puts a plan to the others. Hosts that share a file share the change of it.
    fn push_to(self, all: &mut Vec<Self>) {
        let is_same = |other: &&mut Self| other.change.path() == self.change.path() && other.scope == self.scope;
        match all.iter_mut().find(is_same) {
            Some(other) => other.notes.push(format!("{} reads the same file", self.host.name())),
            None => all.push(self),
        }
    }
}

/// Makes all changes, or shows them, and says so.
fn carry_out(env: &Env, planned: &[Planned<'_>], manner: &Manner, json: bool, out: &mut Out<'_>) -> Result<(), Error> {
    let mut told = Vec::new();
    for (at, plan) in planned.iter().enumerate() {
        let backup = match manner.dry_run {
            true => None,
            false => plan.change.apply(env).map_err(|e| in_part(e, &planned[..at]))?,
        };
        if json {
            told.push(serde_json::json!({
                "host": plan.host.id(),
                "scope": plan.scope.to_string(),
                "path": plan.change.path(),
                "changed": !plan.change.is_nothing(),
                "dryRun": manner.dry_run,
                "diff": plan.change.diff(),
                "backup": backup,
                "notes": plan.notes,
            }));
            continue;
        }
        let (file, host) = (env.short(plan.change.path()), plan.host.name());
        match (plan.change.is_nothing(), manner.dry_run) {
            (true, _) => out.line(format_args!("{host}: nothing to do, {file} has it already"))?,
            (false, true) => out.text(&plan.change.diff())?,
            (false, false) => out.line(format_args!("{host}: {}, {file}", plan.what))?,
        }
        for note in &plan.notes {
            out.line(format_args!("  note: {note}"))?;
        }
        if let Some(backup) = backup {
            out.line(format_args!("  before: {}", env.short(&backup)))?;
        }
        if let Some(next) = plan.next.filter(|_| !manner.dry_run && !plan.change.is_nothing()) {
            out.line(format_args!("  next: {next}"))?;
        }
    }
    if json { out.json(&told.into()) } else { Ok(()) }
}

/// An error that came when some files were already written.
fn in_part(error: Error, done: &[Planned<'_>]) -> Error {
    let done: Vec<_> = done.iter().filter(|p| !p.change.is_nothing()).map(|p| p.host.name()).collect();
    match done.is_empty() {
        true => error,
        false => error.with_hint(format!("already done: {}", done.join(", "))),
    }
}

/// What a command writes to.
struct Out<'a>(&'a mut dyn Write);

impl Out<'_> {
    fn line(&mut self, line: impl fmt::Display) -> Result<(), Error> {
        self.text(&format!("{line}\n"))
    }

    fn text(&mut self, text: &str) -> Result<(), Error> {
        let written = self.0.write_all(text.as_bytes());
        written.map_err(|e| Error::new(ErrorKind::Io, format!("the output cannot be written: {e}")))
    }

    fn json(&mut self, value: &serde_json::Value) -> Result<(), Error> {
        self.line(format_args!("{value:#}"))
    }
}

/// Words in columns as wide as they need to be.
fn columns(rows: &[Vec<String>]) -> String {
    let widest =
        |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|t| t.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = if column + 1 == row.len() { 0 } else { widest(column) + 2 };
            line.push_str(&format!("{cell:width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
