//! The subcommands `install`, `uninstall`, `sync`, `servers`, `hosts` and `doctor`: `clap` arguments and functions.
//!
//! Each function writes plain text to `out`, or one JSON value if `json` is set, and nothing anywhere else. An
//! [`Error`] has a message, a hint, and a kind to choose the exit code by.

mod doctor;
mod install;
mod plan;
mod prepare;
mod servers;
mod sync;
mod uninstall;

use std::{fmt, io::Write};

use crate::{Env, Error, ErrorKind, Host, Hosts, Scope};

use plan::{Planned, Plans};

pub use doctor::{DoctorArgs, doctor, inspect, report};
pub use install::{InstallArgs, install};
pub use servers::{HostsArgs, ServersArgs, hosts, servers};
pub use sync::{SyncArgs, sync};
pub use uninstall::{UninstallArgs, uninstall};

/// The hosts that a command applies to.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Selection {
    /// A host, by its name in `couplet hosts`; repeatable, or comma-separated
    #[arg(long = "host", value_name = "HOST", value_delimiter = ',')]
    pub host: Vec<String>,
    /// Every installed host
    #[arg(long, conflicts_with = "host")]
    pub all: bool,
}

/// How a change is applied.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WriteOptions {
    /// Show the changes as a diff, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Replace existing entries that differ
    #[arg(long)]
    pub force: bool,
}

impl Selection {
    /// The selected hosts; `None` if none were selected.
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

    /// The selected hosts, or an error that lists the hosts. `--all` selects those that have the scope.
    fn required<'a>(&self, env: &Env, hosts: &'a Hosts, scope: Scope) -> Result<Vec<&'a Host>, Error> {
        let mut found = hosts.detected(env);
        found.retain(|host| host.scopes().any(|s| s == scope));
        let ids: Vec<_> = found.iter().map(|h| h.id()).collect();
        match self.hosts(env, hosts)? {
            Some(named) if !self.all => Ok(named),
            Some(_) if !found.is_empty() => Ok(found),
            _ if found.is_empty() => {
                let all: Vec<_> = hosts.iter().map(Host::id).collect();
                Err(Error::usage("no installed host was found: name one with `--host`")
                    .with_hint(format!("the hosts are {}", all.join(", "))))
            }
            _ => Err(Error::usage("select a host with `--host`, or all installed ones with `--all`")
                .with_hint(format!("installed here: {}", ids.join(", ")))),
        }
    }
}

/// The output of a command.
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

/// Formats rows as a table with columns as wide as needed.
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
