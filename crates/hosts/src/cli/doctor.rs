//! `couplet doctor`, the part that starts nothing.

use std::io::Write;

use serde_json::json;

use super::{Out, Selection};
use crate::{
    Env, Error, ErrorKind, Host, Hosts, Server, discover,
    doctor::{self, Finding, Severity},
};

/// Finds out why servers do not start or connect.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DoctorArgs {
    /// The server: a name, or host:name; all of them if it is left out
    pub server: Option<String>,
    /// Which hosts.
    #[command(flatten)]
    pub selection: Selection,
    /// Write JSON.
    #[arg(skip)]
    pub json: bool,
}

/// Looks at configurations and writes what it finds.
///
/// # Errors
/// When something is found that cannot work; see [`Error`] for others.
pub fn doctor(args: &DoctorArgs, env: &Env, out: &mut dyn Write) -> Result<(), Error> {
    let (servers, findings) = look_at(args, env)?;
    report(&findings, servers.len(), args.json, env, out)
}

/// The servers that were asked about, and what is wrong with them as far as their configuration tells. A command that
/// starts them goes on from here, and gives everything to [`report`].
///
/// # Errors
/// When there is no such server or host.
pub fn look_at(args: &DoctorArgs, env: &Env) -> Result<(Vec<Server>, Vec<Finding>), Error> {
    let hosts = Hosts::load(env)?;
    let mut wanted = args.selection.hosts(env, &hosts)?;
    let mut only = args.server.as_deref();
    // `host:name` is how a server is named when several hosts have one.
    if let Some((host, name)) = only.and_then(|name| name.split_once(':'))
        && let Ok(host) = hosts.get(host)
    {
        wanted = Some(vec![host]);
        only = Some(name);
    }
    let found = discover(env, &hosts);
    // A server is judged by the files of the hosts that have it; if none has, it may be in one that cannot be read.
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

/// Writes findings, the worst first; an error if one of them is an error.
///
/// # Errors
/// When one of the findings is.
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
                out.line(format_args!("  in {}", env.short(path)))?;
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
        errors => Err(Error::new(ErrorKind::Findings, format!("{} that cannot work", things(errors, "thing")))),
    }
}

fn summary(findings: &[Finding], servers: usize) -> String {
    let servers = things(servers, "server");
    match findings.len() {
        0 => format!("{servers}, nothing wrong as far as can be seen"),
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
