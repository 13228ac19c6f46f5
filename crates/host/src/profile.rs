//! Profiles: what a view shows of the servers, and under which names.

use std::{collections::BTreeMap, sync::Arc};

use couplet_transform::ToolTransform;
use couplet_types::RawJson;

use crate::{
    names::{Kind, Naming, ServerId},
    policy::Glob,
};

/// A selection of servers, tools, prompts and resources, with names of its own. A [view](crate::Host::view) serves it.
///
/// The default shows everything, with names of the form `server__tool`.
///
/// ```
/// use couplet_host::{Profile, names::{Kind, ServerId}, policy::Glob};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let github = ServerId::parse("github")?;
/// let profile = Profile::new("triage")
///     .server(github.clone())
///     .allow(github.clone(), Kind::Tool, Glob::new("*issue*")?)
///     .rename(github.clone(), "create_issue", "new_issue")
///     .preset(github, "create_issue", "repository", serde_json::json!("couplet"));
/// # drop(profile);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: Arc<str>,
    servers: Option<Vec<ServerId>>,
    bare: bool,
    selections: BTreeMap<ServerId, Selection>,
}

/// The part of a profile that is about one server.
#[derive(Clone, Debug, Default, PartialEq)]
struct Selection {
    allowed: Vec<(Kind, Glob)>,
    denied: Vec<(Kind, Glob)>,
    renamed: BTreeMap<String, String>,
    tools: BTreeMap<String, ToolTransform>,
}

impl Default for Profile {
    fn default() -> Self {
        Self::new("default")
    }
}

impl Profile {
    /// Creates a profile that shows everything.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), servers: None, bare: false, selections: BTreeMap::new() }
    }

    /// Returns the name. Policies, audit records and sealed ids use it.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Shows a server. Without any, all servers are shown.
    #[must_use]
    pub fn server(mut self, server: ServerId) -> Self {
        self.servers.get_or_insert_default().push(server);
        self
    }

    /// Shows no server but those that are added with [`Profile::server`].
    #[must_use]
    pub fn only(mut self) -> Self {
        self.servers.get_or_insert_default();
        self
    }

    /// Uses the servers' own names, without server ids. A name that two servers have is hidden.
    #[must_use]
    pub fn bare(mut self) -> Self {
        self.bare = true;
        self
    }

    /// Shows, of this kind, only the items of a server whose name or URI matches one of the patterns.
    #[must_use]
    pub fn allow(mut self, server: ServerId, kind: Kind, pattern: Glob) -> Self {
        self.of(server).allowed.push((kind, pattern));
        self
    }

    /// Hides the items of a server whose name or URI matches.
    #[must_use]
    pub fn deny(mut self, server: ServerId, kind: Kind, pattern: Glob) -> Self {
        self.of(server).denied.push((kind, pattern));
        self
    }

    /// Replaces the name of a tool or prompt; the server's id still stands in front, unless names are bare.
    #[must_use]
    pub fn rename(mut self, server: ServerId, raw: impl Into<String>, to: impl Into<String>) -> Self {
        self.of(server).renamed.insert(raw.into(), to.into());
        self
    }

    /// Replaces the description of a tool.
    #[must_use]
    pub fn description(self, server: ServerId, tool: impl Into<String>, text: impl Into<String>) -> Self {
        self.change(server, tool, |change| change.description(text))
    }

    /// Sets an argument of a tool. Clients do not see it in the schema, and a call that sends it fails.
    #[must_use]
    pub fn preset(
        self,
        server: ServerId,
        tool: impl Into<String>,
        argument: impl Into<String>,
        value: impl Into<RawJson>,
    ) -> Self {
        self.change(server, tool, |change| change.preset(argument, value))
    }

    /// Changes a tool: its texts, annotations and arguments. It replaces earlier changes of the tool; a name in it has no
    /// effect, see [`Profile::rename`].
    #[must_use]
    pub fn tool(self, server: ServerId, tool: impl Into<String>, change: ToolTransform) -> Self {
        self.change(server, tool, |_| change)
    }

    fn change(
        mut self,
        server: ServerId,
        tool: impl Into<String>,
        change: impl FnOnce(ToolTransform) -> ToolTransform,
    ) -> Self {
        let slot = self.of(server).tools.entry(tool.into()).or_default();
        *slot = change(std::mem::take(slot));
        self
    }

    fn of(&mut self, server: ServerId) -> &mut Selection {
        self.selections.entry(server).or_default()
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.bare
    }

    pub(crate) fn has(&self, server: &ServerId) -> bool {
        self.servers.as_ref().is_none_or(|servers| servers.contains(server))
    }

    pub(crate) fn shows(&self, server: &ServerId, kind: Kind, raw: &str) -> bool {
        let Some(selection) = self.selections.get(server) else { return true };
        let matches = |patterns: &[(Kind, Glob)]| patterns.iter().any(|(of, glob)| *of == kind && glob.matches(raw));
        let is_limited = selection.allowed.iter().any(|(of, _)| *of == kind);
        (!is_limited || matches(&selection.allowed)) && !matches(&selection.denied)
    }

    pub(crate) fn naming(&self) -> Naming {
        let mut naming = if self.bare { Naming::bare() } else { Naming::qualified() };
        for (server, selection) in &self.selections {
            for (raw, to) in &selection.renamed {
                naming = naming.rename(server.clone(), raw.clone(), to.clone());
            }
        }
        naming
    }

    pub(crate) fn changes(&self, server: &ServerId, tool: &str) -> Option<&ToolTransform> {
        self.selections.get(server)?.tools.get(tool)
    }
}
