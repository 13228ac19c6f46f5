//! `couplet doctor`, the checks that start no server.

use std::io::Write;

use serde_json::json;

use super::{Out, Selection};
use crate::{
    Env, Error, ErrorKind, Host, Hosts, Server, discover,
    doctor::{self, Finding, Severity},
};

/// Diagnoses why servers do not start or connect.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DoctorArgs {
    /// The server: a name, or host:name (default: all servers)
    pub server: Option<String>,
    /// Which hosts.
    #[command(flatten)]
    pub selection: Selection,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Checks the configurations of hosts and writes the findings to `out`.
///
/// # Errors
/// If a finding is an error ([`ErrorKind::Findings`]), or the arguments name an unknown host or server.
pub fn doctor(args: &DoctorArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let (servers, findings) = inspect(args, env)?;
    report(&findings, servers.len(), args.json, env, out)
}

/// Returns the selected servers, and the findings about their configuration. A command that also starts the servers
/// adds its own findings and passes them all to [`report`].
///
/// # Errors
/// If there is no such server or host.
pub fn inspect(args: &DoctorArgs, env: &Env) -> Result<(Vec<Server>, Vec<Finding>), Error> {
    let hosts = Hosts::load(env)?;
    let mut wanted = args.selection.hosts(env, &hosts)?;
    let mut only = args.server.as_deref();
    // `host:name` selects one of several servers of the same name.
    if let Some((host, name)) = only.and_then(|name| name.split_once(':'))
        && let Ok(host) = hosts.get(host)
    {
        wanted = Some(vec![host]);
        only = Some(name);
    }
    let found = discover(env, &hosts);
    // If no host has the server, it may be in a file that cannot be read: all files are checked then.
    let has_it = |host: &&Host| found.servers.iter().any(|s| s.host == host.id() && Some(s.name.as_str()) == only);
    let wanted = wanted.unwrap_or_else(|| {
        let having: Vec<&Host> = hosts.iter().filter(has_it).collect();
        if having.is_empty() { hosts.iter().collect() } else { having }
    });
    let is_wanted = |s: &Server| wanted.iter().any(|h| h.id() == s.host) && only.is_none_or(|name| s.name == name);
    let names: Vec<_> = found.servers.iter().map(|s| s.name.clone()).collect();
    let servers: Vec<_> = found.servers.into_iter().filter(is_wanted).collect();
    let findings = doctor::check(env, wanted, only);
    match only {
        Some(name) if servers.is_empty() && findings.is_empty() => {
            let close = crate::suggest::sentence(name, names);
            Err(Error::unknown(format!("no host has a server `{name}`{close}"))
                .with_hint("`couplet servers` lists those that there are"))
        }
        _ => Ok((servers, findings)),
    }
}

/// Writes findings to `out`, the most severe first.
///
/// # Errors
/// If one of the findings is an error, or `out` cannot be written to.
pub fn report(findings: &[Finding], servers: usize, json: bool, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let mut out = Out(out);
    let mut sorted: Vec<_> = findings.iter().collect();
    sorted.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    if json {
        out.json(&sorted.iter().map(|finding| described(finding)).collect())?;
    } else {
        for finding in &sorted {
            let about: Vec<_> = [&finding.host, &finding.server].into_iter().flatten().cloned().collect();
            let about = if about.is_empty() { String::new() } else { format!("{}: ", about.join(":")) };
            out.line(format_args!("{}: {about}{} [{}]", finding.severity, finding.message, finding.code))?;
            if let Some(path) =
                finding.path.as_ref().filter(|path| !finding.message.contains(&path.display().to_string()))
            {
                out.line(format_args!("  in {}", env.display_path(path)))?;
            }
            for line in &finding.details {
                out.line(format_args!("  {line}"))?;
            }
            if let Some(fix) = &finding.fix {
                out.line(format_args!("  do: {fix}"))?;
            }
        }
        out.line(summary(findings, servers))?;
    }
    match count(findings, Severity::Error) {
        0 => Ok(()),
        errors => Err(Error::new(ErrorKind::Findings, format!("{} found", things(errors, "error")))),
    }
}

fn summary(findings: &[Finding], servers: usize) -> String {
    let servers = things(servers, "server");
    match findings.len() {
        0 => format!("{servers}, no problems found"),
        _ => {
            let errors = things(count(findings, Severity::Error), "error");
            format!("{servers}, {errors}, {}", things(count(findings, Severity::Warning), "warning"))
        }
    }
}

fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

fn things(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn described(finding: &Finding) -> serde_json::Value {
    json!({
        "severity": finding.severity.to_string(),
        "code": finding.code,
        "host": finding.host,
        "server": finding.server,
        "path": finding.path,
        "message": finding.message,
        "details": finding.details,
        "fix": finding.fix,
    })
}
