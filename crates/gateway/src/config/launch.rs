//! The launch of a server: what exactly is started or contacted, as written.

use std::collections::BTreeMap;

use couplet_hosts::{Entry, Part, Text};
use serde_json::{Value, json};

use super::settings::Auth;

/// How a server is reached, as canonical JSON. References to secrets are not resolved, so that it can be compared and
/// hashed without them.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    canonical: String,
    lines: Vec<String>,
}

impl Launch {
    pub(super) fn new(entry: &Entry, removed: &[String], env_file: Option<&Text>, auth: Option<Auth>) -> Self {
        Self { canonical: canonical(entry, removed, env_file, auth), lines: lines(entry, removed, env_file) }
    }

    /// Returns the canonical JSON. It may contain secrets that the file contains.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Returns the launch for people, a line for each part: the exact words of the command or the URL, the folder, the
    /// variables and headers. Literal values that look like secrets are masked.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch").field("lines", &self.lines).finish_non_exhaustive()
    }
}

fn canonical(entry: &Entry, removed: &[String], env_file: Option<&Text>, auth: Option<Auth>) -> String {
    let pairs = |pairs: &[(String, Text)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| (name.clone(), text.to_string())).collect()
    };
    let mut members: BTreeMap<&str, Value> = BTreeMap::new();
    match entry {
        Entry::Stdio(stdio) => {
            members.insert("command", stdio.command.to_string().into());
            members.insert("args", stdio.args.iter().map(ToString::to_string).collect());
            members.insert("env", json!(pairs(&stdio.env)));
            members.insert("cwd", stdio.cwd.as_ref().map(ToString::to_string).into());
            members.insert("without", json!(removed));
            members.extend(env_file.map(|path| ("envFile", path.to_string().into())));
        }
        Entry::Remote(remote) => {
            members.insert("url", remote.url.to_string().into());
            members.insert("transport", format!("{:?}", remote.transport).to_lowercase().into());
            members.insert("headers", json!(pairs(&remote.headers)));
            members.insert("auth", auth.map(|auth| format!("{auth:?}").to_lowercase()).into());
        }
    }
    json!(members).to_string()
}

fn lines(entry: &Entry, removed: &[String], env_file: Option<&Text>) -> Vec<String> {
    let mut lines = Vec::new();
    match entry {
        Entry::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args).map(ToString::to_string);
            lines.push(format!("command: {}", json!(words.collect::<Vec<_>>())));
            lines.extend(stdio.cwd.iter().map(|cwd| format!("cwd: {cwd}")));
            lines.extend(stdio.env.iter().map(|(name, text)| format!("env: {name}={}", shown(name, text))));
            lines.extend(env_file.map(|path| format!("env: all of the file {path}")));
            lines.extend(removed.iter().map(|name| format!("env: {name} is not passed on")));
        }
        Entry::Remote(remote) => {
            lines.push(format!("url: {}", remote.url));
            let shown = |(name, text): &(String, Text)| format!("header: {name}: {}", masked(text));
            lines.extend(remote.headers.iter().map(shown));
        }
    }
    lines
}

/// The value of a variable: in full, since a variable such as `NODE_OPTIONS` is code, unless its name is that of a secret.
fn shown(name: &str, text: &Text) -> String {
    const SECRETS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "PRIVATE"];
    let name = name.to_ascii_uppercase();
    if SECRETS.iter().any(|word| name.contains(word)) { masked(text) } else { text.to_string() }
}

/// A text with its literal parts masked; references show where a secret comes from.
fn masked(text: &Text) -> String {
    let part = |part: &Part| match part {
        Part::Plain(_) => "…".to_owned(),
        Part::Var { name, .. } => format!("${{{name}}}"),
        Part::Host(raw) => raw.clone(),
        _ => String::new(),
    };
    text.parts().iter().map(part).collect()
}
