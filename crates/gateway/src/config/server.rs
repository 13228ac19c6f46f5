//! A server of a configuration.

use std::path::PathBuf;

use couplet_host::names::ServerId;
use couplet_hosts::{
    Entry, Text,
    tree::{Member, Node, Value},
};

use super::{
    Launch,
    de::{self, Problem},
    foreign::{self, Foreign},
    layout::Layout,
    schema,
    settings::Settings,
};

/// The error for a setting that would not be followed.
const NO_SANDBOX: &str = "`sandbox` is not supported, and the server would run without it: remove it, and start the server in a \
                          sandbox by its `command`, for example with `bwrap` or `docker`";

/// A server: how it is reached, and its settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Server {
    /// The key of the entry.
    pub key: String,
    /// The id in exposed names, policies, pins and audit records.
    pub id: ServerId,
    /// How it is reached.
    pub entry: Entry,
    /// Variables that are not passed on although they usually are: `"env": {"HOME": null}`.
    pub removed: Vec<String>,
    /// The file with more variables, which `env` takes precedence over.
    pub env_file: Option<Text>,
    /// The folder that relative paths start from: that of the file.
    pub folder: PathBuf,
    /// The project's file that it comes from; `None` for a server of the user's own file.
    pub project: Option<PathBuf>,
    /// The settings.
    pub settings: Settings,
    /// The launch, as written.
    pub launch: Launch,
}

impl Server {
    /// Reads an entry, and returns it with the members that are ignored.
    pub(super) fn read(layout: &Layout, member: &Member) -> Result<(Self, Vec<String>), Problem> {
        let key = &member.key;
        let node = &member.value;
        let fail = |span: &std::ops::Range<usize>, what: String| Problem::new(span, format!("server `{key}`: {what}"));
        let members = node.members().ok_or_else(|| fail(&node.span, format!("it is {}, not a table", node.kind())))?;
        let mut mapped = Settings::default();
        let (mut launch, mut own, mut ignored, mut env_file) = (Vec::new(), Vec::new(), Vec::new(), None);
        for (at, member) in members.iter().enumerate() {
            if members[..at].iter().any(|earlier| earlier.key == member.key) {
                return Err(fail(&member.span, format!("`{}` occurs twice", member.key)));
            }
            match foreign::take(member, layout.owner.as_deref(), &mut mapped) {
                Foreign::Mapped => {}
                Foreign::Ignored => ignored.push(member.key.clone()),
                Foreign::Partly(members) => ignored.extend(members),
                Foreign::Wrong(problem) => {
                    return Err(Problem { what: format!("server `{key}`: {}", problem.what), ..problem });
                }
                Foreign::Own if member.key == "oauth" => ignored.push(member.key.clone()),
                Foreign::Own if member.key == "sandbox" && layout.owner.is_some() => ignored.push(member.key.clone()),
                Foreign::Own if member.key == "sandbox" => return Err(fail(&member.span, NO_SANDBOX.to_owned())),
                Foreign::Own if member.key == "envFile" => {
                    let path = member
                        .value
                        .as_text()
                        .ok_or_else(|| fail(&member.span, "`envFile`: expected a path".to_owned()))?;
                    env_file = Some(layout.host.read_text(path));
                }
                Foreign::Own if Entry::is_key(&member.key) => launch.push(member.clone()),
                Foreign::Own => own.push(member.clone()),
            }
        }
        let known = [schema::LAUNCH, schema::SETTINGS].concat();
        if let Some(wrong) = own.iter().find(|member| !known.contains(&member.key.as_str())) {
            return Err(fail(&wrong.span, de::unknown(&wrong.key, &known)));
        }
        let removed = take_removed(&mut launch);
        let table = |members| Node { span: node.span.clone(), value: Value::Table(members) };
        let entry = layout.host.read_entry(&table(launch)).map_err(|what| fail(&member.span, what))?;
        let settings: Settings = de::read(&table(own)).map_err(|problem| {
            let span = problem.span.clone().unwrap_or_else(|| member.span.clone());
            fail(&span, problem.what)
        })?;
        let settings = settings.with(mapped);
        settings.check_patterns().map_err(|error| fail(&member.span, error.to_string()))?;
        let id = match &settings.id {
            Some(id) => ServerId::parse(id).map_err(|error| fail(&member.span, format!("`id`: {error}")))?,
            None => ServerId::from_key(key),
        };
        let launch = Launch::new(&entry, &removed, env_file.as_ref(), settings.auth);
        let folder = layout.folder.clone();
        Ok((Self { key: key.clone(), id, entry, removed, env_file, folder, project: None, settings, launch }, ignored))
    }

    /// Returns whether its definitions and its launch must match the lock file.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.settings.pin.unwrap_or(true)
    }
}

impl Settings {
    /// Adds the settings that were mapped from those of hosts. The gateway's own take precedence.
    fn with(mut self, mapped: Self) -> Self {
        self.disabled |= mapped.disabled;
        self.tools.allow.extend(mapped.tools.allow);
        self.tools.deny.extend(mapped.tools.deny);
        self.auth = self.auth.or(mapped.auth);
        let (limits, mapped) = (&mut self.limits, mapped.limits);
        limits.connect_timeout = limits.connect_timeout.or(mapped.connect_timeout);
        limits.list_timeout = limits.list_timeout.or(mapped.list_timeout);
        limits.timeout = limits.timeout.or(mapped.timeout);
        self
    }
}

/// Takes the variables that are `null` out of an entry.
fn take_removed(launch: &mut [Member]) -> Vec<String> {
    let mut removed = Vec::new();
    for member in launch.iter_mut().filter(|member| matches!(member.key.as_str(), "env" | "envs" | "environment")) {
        if let Value::Table(vars) = &mut member.value.value {
            let is_null = |var: &Member| matches!(var.value.value, Value::Null);
            removed.extend(vars.iter().filter(|var| is_null(var)).map(|var| var.key.clone()));
            vars.retain(|var| !is_null(var));
        }
    }
    removed.sort_unstable();
    removed
}
