//! Checks of a whole file.

use std::path::Path;

use super::{Finding, Severity, values};
use crate::{
    Config, Entry, Error, Format, Host, Scope,
    format::json,
    node::{Node, Value},
};

/// The keys of servers in the files of all hosts.
const ROOTS: [&str; 4] = ["mcpServers", "servers", "mcp_servers", "context_servers"];

pub(super) fn unreadable(host: &Host, path: &Path, error: &Error) -> Finding {
    let mut finding = Finding::new(Severity::Error, "file-unreadable", error.to_string());
    finding.fix = error.hint().map(str::to_owned);
    about(finding, host, path)
}

/// Checks a file; checks about single servers cover only those named `only`, if a name is given.
pub(super) fn check(config: &Config<'_>, only: Option<&str>) -> Vec<Finding> {
    let Some(text) = config.text() else { return Vec::new() };
    let (host, path) = (config.host(), config.place().path());
    let mut findings = Vec::new();
    if text.starts_with('\u{feff}') {
        let what = "the file begins with a byte order mark (BOM), which many JSON parsers reject";
        findings.push(Finding::new(Severity::Warning, "bom", what).fix("save it as UTF-8 without BOM"));
    }
    if host.format() == Format::Json && !text.trim().is_empty() {
        findings.extend(strict(host, text));
    }
    findings.extend(not_table(config));
    findings.extend(twice(config, only));
    findings.extend(other_root(config));
    findings.extend(exposed(config, only));
    findings.into_iter().map(|finding| about(finding, host, path)).collect()
}

/// Reports JSON extensions that are accepted here but not by this host's parser.
fn strict(host: &Host, text: &str) -> Option<Finding> {
    let broken = json::parse_strict(text.trim_start_matches('\u{feff}')).err()?;
    let at = broken.at.map(|(line, column)| format!("line {line}, column {column}: ")).unwrap_or_default();
    let what = format!("{} reads plain JSON, and this file uses extensions: {at}{}", host.name(), broken.what);
    Some(Finding::new(Severity::Warning, "not-plain-json", what).fix("remove comments and trailing commas"))
}

/// Reports another value in the place of the table of servers: the host has no servers then, or rejects the file.
fn not_table(config: &Config<'_>) -> Option<Finding> {
    let is_other = |node: &Node| node.members().is_none() && !matches!(node.value, Value::Null);
    let (depth, node) = (0..=config.key().len())
        .filter_map(|depth| Some((depth, config.root().at(&config.key()[..depth])?)))
        .find(|(_, node)| is_other(node))?;
    let name = config.key()[..depth].last().map_or("the file".to_owned(), |key| format!("`{key}`"));
    let what = format!("{name} is {}, where a table of servers should be", node.kind());
    Some(
        Finding::new(Severity::Error, "servers-not-table", what)
            .fix(format!("write {name} as a table with the names as keys")),
    )
}

/// Reports names that occur twice: the last one counts.
fn twice(config: &Config<'_>, only: Option<&str>) -> Vec<Finding> {
    let members = config.root().at(config.key()).and_then(Node::members).unwrap_or_default();
    let is_again = |at: usize| members[..at].iter().any(|m| m.key == members[at].key);
    let finding = |at: usize| {
        let what = format!("there are two servers `{}`, and only the last one counts", members[at].key);
        let mut finding = Finding::new(Severity::Error, "duplicate-name", what).fix("give one another name");
        finding.server = Some(members[at].key.clone());
        finding
    };
    let is_meant = |at: usize| only.is_none_or(|name| name == members[at].key);
    (0..members.len()).filter(|&at| is_meant(at) && is_again(at)).map(finding).collect()
}

/// Reports servers under the key of another host.
fn other_root(config: &Config<'_>) -> Option<Finding> {
    let own = config.host().data().key.first()?;
    let is_server = |node: &Node| node.get("command").is_some() || node.get("url").is_some();
    let has_servers = |node: &Node| node.members().is_some_and(|all| all.iter().any(|m| is_server(&m.value)));
    let wrong = ROOTS.into_iter().find(|&key| key != own && config.root().get(key).is_some_and(has_servers))?;
    let what = format!("there are servers under `{wrong}`, but {} looks under `{own}`", config.host().name());
    Some(Finding::new(Severity::Warning, "wrong-root-key", what).fix(format!("move them to `{own}`")))
}

/// Reports secrets in files that others can read.
fn exposed(config: &Config<'_>, only: Option<&str>) -> Option<Finding> {
    let has_secret = |entry: &Entry| values::secrets(entry).next().is_some();
    let is_meant = |name: &str| only.is_none_or(|only| only == name);
    let servers = config.servers();
    let server = servers.iter().find(|s| is_meant(&s.name) && s.entry.as_ref().is_ok_and(has_secret))?;
    let name = &server.name;
    if config.place().scope() == Scope::Project {
        let what = format!("the file belongs to the project, and has what looks like a secret in `{name}`");
        let fix = "refer to a variable instead, and change the secret if the file was shared";
        return Some(Finding::new(Severity::Warning, "secret-in-project", what).fix(fix));
    }
    let path = config.place().path();
    if !is_readable_by_others(path) {
        return None;
    }
    let what = format!("others on this machine can read the file, and it has what looks like a secret in `{name}`");
    Some(Finding::new(Severity::Warning, "secret-readable", what).fix(format!("chmod 600 '{}'", path.display())))
}

#[cfg(unix)]
fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o044 != 0)
}

/// On other systems, a user's folder is private.
#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}

fn about(mut finding: Finding, host: &Host, path: &Path) -> Finding {
    finding.host = Some(host.id().to_owned());
    finding.path = Some(path.to_owned());
    finding
}
