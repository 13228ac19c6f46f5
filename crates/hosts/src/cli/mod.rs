//! `install`, `uninstall`, `sync`, `servers`, `hosts` and `doctor`: arguments for `clap`, and functions that do it.
//!
//! Each function writes what people read to `out` and nothing anywhere else, in no colour. With `json` set it writes one
//! JSON value instead. An [`Error`] has what an exit code is chosen by, a line and a hint.

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
