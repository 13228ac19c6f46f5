//! The configuration file of a gateway.

mod de;
mod foreign;
mod launch;
mod layout;
mod revision;
mod schema;
mod sections;
mod server;
mod settings;
#[cfg(test)]
mod tests;
mod units;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use couplet_host::policy::{Glob, Rule};
use couplet_hosts::{
    Env, Format, read_file,
    tree::{Node, Value, position},
};

use crate::{Error, ErrorKind};
use de::Problem;
use layout::Layout;

pub use launch::Launch;
pub use revision::Revision;
pub use schema::schema;
pub use sections::{Audit, AuditArgs, Consent, Discovery, Listen, ListenAuth, Names, OnFull, Profile, ProfileTools};
pub use server::Server;
pub use settings::{Auth, Effect, Isolation, Label, Limits, Oauth, Settings, Start, Tools, Trust};
pub use units::{Size, Time};

/// The time that a person has to answer, unless the file says otherwise.
const CONSENT_TIMEOUT: Time = Time(Duration::from_secs(5 * 60));

/// A configuration, read and validated. Nothing in it is resolved yet: references to secrets are resolved at use.
///
/// The file is a superset of the `mcpServers` map that most hosts have, as JSON with comments, TOML or YAML. The file of a
/// host that [`couplet_hosts`] knows can be used unchanged: its servers are read, its other settings are ignored.
///
/// ```
/// use couplet_gateway::Config;
/// use couplet_hosts::{Env, Os};
///
/// let env = Env::new(Os::Linux, "/u/ann", "/srv");
/// let text = r#"{
///   "mcpServers": { "files": { "command": "mcp-files", "args": ["/srv"], "limits": { "timeout": "2m" } } }
/// }"#;
/// let config = Config::parse("gateway.json".as_ref(), text, &env)?;
/// assert_eq!(config.servers[0].id.as_str(), "files");
///
/// let error = Config::parse("gateway.json".as_ref(), &text.replace("limits", "limit"), &env).unwrap_err();
/// assert!(error.to_string().contains("did you mean `limits`?"));
/// # Ok::<(), couplet_gateway::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The path of the file.
    pub path: PathBuf,
    /// The servers, in the order of the file, without disabled ones.
    pub servers: Vec<Server>,
    /// The keys of disabled servers.
    pub disabled: Vec<String>,
    /// The profiles by name.
    pub profiles: BTreeMap<String, Profile>,
    /// The rules, if there is a section `policy`. Without one, everything that is offered is allowed.
    pub policy: Option<Vec<Rule>>,
    /// Where the gateway listens, and for whom.
    pub listen: Listen,
    /// The file of audit records.
    pub audit: Option<Audit>,
    /// The names of tools and prompts.
    pub names: Names,
    /// Whether definitions and launches are pinned.
    pub pins: bool,
    /// What happens when the policy says `ask`.
    pub consent: Consent,
    /// The time that a person on this machine has to answer.
    pub consent_timeout: Time,
    /// Members that are ignored, as sentences.
    pub notes: Vec<String>,
    /// Rules of approved projects, which can only narrow.
    pub(crate) project_policy: Vec<Rule>,
    /// The sections that the file has, except `policy`.
    pub(crate) own_sections: Vec<String>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is invalid; with line, column and the nearest name for a misspelt one.
    pub fn load(path: &Path, env: &Env) -> Result<Self, Error> {
        let text = read_file(path)?
            .ok_or_else(|| Error::new(ErrorKind::Io, format!("there is no file `{}`", path.display())))?;
        Self::parse(path, &text, env)
    }

    /// Parses the text of a file. Its format is that of the extension.
    ///
    /// # Errors
    /// If it is invalid; with line, column and the nearest name for a misspelt one.
    pub fn parse(path: &Path, text: &str, env: &Env) -> Result<Self, Error> {
        let format = Format::of(path).unwrap_or(Format::Jsonc);
        let root = format.read(path, text)?;
        let layout = Layout::of(path, format, &root, env)?;
        let located =
            |problem: Problem| Error::config(path, problem.span.map(|span| position(text, span.start)), problem.what);
        let mut notes = Vec::new();
        let (servers, disabled) = read_servers(&layout, &root, &mut notes).map_err(located)?;
        let top = read_top(&layout, &root, &mut notes).map_err(located)?;
        let config = Self {
            path: path.to_owned(),
            servers,
            disabled,
            profiles: top.sections.profiles,
            policy: top.policy,
            listen: top.sections.listen,
            audit: top.sections.audit,
            names: top.sections.names,
            pins: top.sections.pins.unwrap_or(true),
            consent: top.sections.consent,
            consent_timeout: top.sections.consent_timeout.unwrap_or(CONSENT_TIMEOUT),
            notes,
            project_policy: Vec::new(),
            own_sections: top.own,
        };
        config.check(&root).map_err(located)?;
        Ok(config)
    }

    /// Returns the server with this key.
    #[must_use]
    pub fn server(&self, key: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.key == key)
    }

    /// Returns the path of the lock file: that of the configuration with the extension `lock`.
    #[must_use]
    pub fn lock_path(&self) -> PathBuf {
        self.path.with_extension("lock")
    }

    /// Returns the folder of the file, which relative paths in it start from.
    #[must_use]
    pub fn folder(&self) -> &Path {
        layout::folder(&self.path)
    }

    fn check(&self, root: &Node) -> Result<(), Problem> {
        self.check_profiles(root)?;
        match root.get("consentTimeout") {
            Some(node) if self.consent_timeout.0.is_zero() => {
                let what = "`consentTimeout` is not longer than 0s, so that every question would be denied: see \
                            `\"consent\": \"deny\"`";
                Err(Problem::new(&node.span, what))
            }
            _ => Ok(()),
        }
    }

    /// Checks the names, servers and patterns of profiles.
    fn check_profiles(&self, root: &Node) -> Result<(), Problem> {
        let known = |key: &str| self.server(key).is_some() || self.disabled.iter().any(|other| other == key);
        let profiles = root.get("profiles");
        for (name, profile) in &self.profiles {
            let node = profiles.and_then(|profiles| profiles.get(name));
            let span = node.map_or(0..0, |node| node.span.clone());
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if name.is_empty() || !name.chars().all(is_name) {
                return Err(Problem::new(
                    &span,
                    format!("the profile `{name}`: a name has letters, digits, `-` and `_`"),
                ));
            }
            let patterns = profile.tools.values().flat_map(|tools| tools.allow.iter().chain(&tools.deny));
            // A pattern that is left out could show what it should hide.
            for pattern in patterns {
                Glob::new(pattern).map_err(|error| Problem::new(&span, format!("the profile `{name}`: {error}")))?;
            }
            let named = profile.servers.iter().flatten().chain(profile.tools.keys());
            if let Some(wrong) = named.into_iter().find(|key| !known(key)) {
                let keys = self.servers.iter().map(|server| server.key.clone()).chain(self.disabled.iter().cloned());
                let close = couplet_hosts::suggest::sentence(wrong, keys);
                return Err(Problem::new(
                    &span,
                    format!("the profile `{name}` has a server `{wrong}` that is not there{close}"),
                ));
            }
        }
        Ok(())
    }
}

/// The members beside the servers.
#[derive(Default)]
struct Top {
    sections: sections::Sections,
    policy: Option<Vec<Rule>>,
    own: Vec<String>,
}

fn read_servers(layout: &Layout, root: &Node, notes: &mut Vec<String>) -> Result<(Vec<Server>, Vec<String>), Problem> {
    let (mut servers, mut disabled): (Vec<Server>, _) = (Vec::new(), Vec::new());
    let mut seen: Vec<&str> = Vec::new();
    let entries = layout.entries(root).map_err(|what| Problem::new(&root.span, what))?;
    for member in entries {
        if seen.contains(&member.key.as_str()) {
            return Err(Problem::new(&member.span, format!("there are two servers `{}`", member.key)));
        }
        seen.push(&member.key);
        let (server, ignored) = Server::read(layout, member)?;
        if !ignored.is_empty() {
            let names: Vec<_> = ignored.iter().map(|key| format!("`{key}`")).collect();
            notes.push(format!("server `{}`: {} of hosts, ignored here", member.key, names.join(", ")));
        }
        if server.settings.disabled {
            disabled.push(server.key);
            continue;
        }
        if let Some(other) = servers.iter().find(|other| other.id == server.id) {
            let what = format!("`{}` and `{}` have the same id `{}`", other.key, server.key, server.id.as_str());
            return Err(Problem::new(&member.span, what));
        }
        servers.push(server);
    }
    Ok((servers, disabled))
}

/// Reads the sections. A host's file has none: what it calls `profiles`, for example, is something else.
fn read_top(layout: &Layout, root: &Node, notes: &mut Vec<String>) -> Result<Top, Problem> {
    let (mut own, mut policy, mut ignored) = (Vec::new(), None, Vec::new());
    for member in root.members().unwrap_or_default() {
        match member.key.as_str() {
            key if key == layout.top() => {}
            key if layout.is_hosts || foreign::is_top_ignored(key) => ignored.push(format!("`{key}`")),
            "policy" => policy = Some(rules(&member.value)?),
            _ => own.push(member.clone()),
        }
    }
    if !ignored.is_empty() {
        notes.push(format!("{} of hosts, ignored here", ignored.join(", ")));
    }
    let known = [schema::SECTIONS, &["policy", layout::SERVERS]].concat();
    if let Some(member) = own.iter().find(|member| !known.contains(&member.key.as_str())) {
        return Err(Problem::new(&member.span, de::unknown(&member.key, &known)));
    }
    let names = own.iter().map(|member| member.key.clone()).filter(|key| key != "$schema").collect();
    let sections = Node { span: root.span.clone(), value: Value::Table(own) };
    Ok(Top { sections: de::read(&sections)?, policy, own: names })
}

fn rules(node: &Node) -> Result<Vec<Rule>, Problem> {
    de::read(node)
}
