//! Diagnoses why a server does not start or connect, from its configuration.
//!
//! This module starts nothing. A program that also starts servers and talks to them adds its own [`Finding`]s.
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

/// A problem, or a suggestion for improvement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The severity of the problem.
    pub severity: Severity,
    /// A stable identifier, such as `command-not-found`.
    pub code: &'static str,
    /// The id of the host concerned.
    pub host: Option<String>,
    /// The name of the server concerned.
    pub server: Option<String>,
    /// The path of the file concerned.
    pub path: Option<PathBuf>,
    /// The problem, as a sentence without a full stop.
    pub message: String,
    /// More lines, such as the end of a server's standard error.
    pub details: Vec<String>,
    /// The suggested fix.
    pub fix: Option<String>,
}

/// The severity of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// For information.
    Note,
    /// May not work, works only on this machine, or is not secure.
    Warning,
    /// Cannot work.
    Error,
}

impl Finding {
    /// Creates a finding that concerns no particular host or server.
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

    /// Sets the suggested fix.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds more lines.
    #[must_use]
    pub fn details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(lines);
        self
    }

    /// Sets the host, the file and the server concerned.
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

/// Checks the files of hosts, in all scopes, and all servers in them. With `only`, it checks the servers of that name
/// and the files that contain them. Files that cannot be read are always reported.
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

/// Checks one server of a host.
#[must_use]
pub fn check_server(env: &Env, host: &Host, server: &Server) -> Vec<Finding> {
    let mut look = Look { env, host, server, findings: Vec::new() };
    if !server.enabled {
        look.note("disabled", format!("it is disabled in {}", host.name()), "enable it in the host");
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

/// A server under inspection, with the findings so far.
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
