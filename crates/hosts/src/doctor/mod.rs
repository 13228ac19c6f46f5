//! Why a server does not start or connect, as far as its configuration tells.
//!
//! Nothing is started here. A program that also starts servers and speaks to them adds [`Finding`]s of its own.
//!
//! ```
//! use couplet_hosts::{Env, Hosts, Os, doctor};
//!
//! let hosts = Hosts::builtin();
//! let env = Env::new(Os::Linux, "/nowhere", "/nowhere");
//! let findings = doctor::check(&env, hosts.iter(), None);
//! assert!(findings.is_empty());
//! ```

mod file;
mod keys;
mod remote;
mod stdio;
mod values;

use std::{fmt, path::PathBuf};

use crate::{Config, Entry, Env, Host, Server};

/// Something that is wrong, or could be better.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// A short name that stays the same, such as `command-not-found`.
    pub code: &'static str,
    /// The host that it is about, by its id.
    pub host: Option<String>,
    /// The server that it is about.
    pub server: Option<String>,
    /// The file that it is about.
    pub path: Option<PathBuf>,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// More lines about it, such as the last words of a server.
    pub details: Vec<String>,
    /// What to do about it.
    pub fix: Option<String>,
}

/// How bad a [`Finding`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Good to know.
    Note,
    /// It may not work, or only here, or is not safe.
    Warning,
    /// It cannot work.
    Error,
}

impl Finding {
    /// A finding about nothing in particular.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            host: None,
            server: None,
            path: None,
            message: message.into(),
            details: Vec::new(),
            fix: None,
        }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// The same with more lines about it.
    #[must_use]
    pub fn details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(lines);
        self
    }

    /// The same, about a server.
    #[must_use]
    pub fn about(mut self, server: &Server) -> Self {
        self.host = Some(server.host.clone());
        self.server = Some(server.name.clone());
        self.path = Some(server.path.clone());
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Looks at the files of hosts, in every scope, and at every server in them, or only at those with a name and the files
/// that they are in. Files that cannot be read are told of in any case.
pub fn check<'a>(env: &Env, hosts: impl IntoIterator<Item = &'a Host>, only: Option<&str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for host in hosts {
        for place in host.places(env) {
            let path = place.path().to_owned();
            match Config::read(host, place) {
                Err(error) => findings.push(file::unreadable(host, &path, &error)),
                Ok(config) => {
                    if only.is_none_or(|name| config.server(name).is_some()) {
                        findings.extend(file::check(&config, only));
                    }
                    for server in config.servers().iter().filter(|s| only.is_none_or(|name| s.name == name)) {
                        findings.extend(check_server(env, host, server));
                    }
                }
            }
        }
    }
    // Two hosts may read one file, and a file may have servers in two scopes.
    let mut once: Vec<Finding> = Vec::new();
    for finding in findings {
        if !once.contains(&finding) {
            once.push(finding);
        }
    }
    once
}

/// Looks at one server of a host.
#[must_use]
pub fn check_server(env: &Env, host: &Host, server: &Server) -> Vec<Finding> {
    let mut look = Look { env, host, server, findings: Vec::new() };
    if !server.enabled {
        look.note("disabled", format!("{} has switched it off", host.name()), "switch it on in the host");
    }
    keys::check(&mut look);
    match &server.entry {
        Err(what) => look.error("not-a-server", what.clone(), "give it a command or a URL"),
        Ok(entry) => {
            match entry {
                Entry::Stdio(program) => stdio::check(&mut look, program),
                Entry::Remote(remote) => remote::check(&mut look, remote),
            }
            values::check(&mut look, entry);
        }
    }
    look.findings
}

/// A server that is being looked at, and what was found.
struct Look<'a> {
    env: &'a Env,
    host: &'a Host,
    server: &'a Server,
    findings: Vec<Finding>,
}

impl Look<'_> {
    fn error(&mut self, code: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Error, code, message.into(), fix.into());
    }

    fn warning(&mut self, code: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Warning, code, message.into(), fix.into());
    }

    fn note(&mut self, code: &'static str, message: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Note, code, message.into(), fix.into());
    }

    fn add(&mut self, severity: Severity, code: &'static str, message: String, fix: String) {
        self.findings.push(Finding::new(severity, code, message).fix(fix).about(self.server));
    }
}
