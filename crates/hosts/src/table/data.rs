//! The format of the table of hosts.

use serde::Deserialize;

use crate::{Format, Os, node::Node};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableData {
    pub(super) host: Vec<HostData>,
}

/// One host; the members are documented at the top of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostData {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) aliases: Vec<String>,
    pub(crate) format: Format,
    pub(crate) key: Vec<String>,
    pub(crate) alternate: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) alternate_without: Vec<String>,
    pub(crate) user: Option<Paths>,
    pub(crate) project: Option<Paths>,
    pub(crate) local: Option<Vec<String>>,
    pub(crate) detect: Option<Paths>,
    pub(crate) stdio: Node,
    pub(crate) http: Option<Node>,
    pub(crate) sse: Option<Node>,
    #[serde(default)]
    pub(crate) types: Vec<String>,
    pub(crate) own_key: Option<String>,
    #[serde(default)]
    pub(crate) user_only: Vec<String>,
    #[serde(default)]
    pub(crate) url_keys: Vec<String>,
    #[serde(default)]
    pub(crate) references: Vec<String>,
    #[serde(default)]
    pub(crate) path: Finder,
    pub(crate) next: Option<String>,
}

/// How a host finds programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Finder {
    #[default]
    Shell,
    Desktop,
}

/// Paths, per operating system where they differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    windows: Option<Vec<String>>,
    macos: Option<Vec<String>>,
    linux: Option<Vec<String>>,
    other: Vec<String>,
}

impl Paths {
    pub(crate) fn for_os(&self, os: Os) -> &[String] {
        let own = match os {
            Os::Windows => &self.windows,
            Os::MacOs => &self.macos,
            Os::Linux => &self.linux,
        };
        own.as_ref().unwrap_or(&self.other)
    }
}

impl<'de> Deserialize<'de> for Paths {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let node = Node::deserialize(deserializer)?;
        let list = |node: &Node| -> Result<Vec<String>, D::Error> {
            let texts = node.as_list().map(|items| items.iter().map(|i| i.as_text().map(str::to_owned)).collect());
            texts.flatten().ok_or_else(|| serde::de::Error::custom("expected a list of paths"))
        };
        let Some(members) = node.members() else { return Ok(Self { other: list(&node)?, ..Self::default() }) };
        let mut paths = Self::default();
        for member in members {
            match member.key.as_str() {
                "windows" => paths.windows = Some(list(&member.value)?),
                "macos" => paths.macos = Some(list(&member.value)?),
                "linux" => paths.linux = Some(list(&member.value)?),
                "other" => paths.other = list(&member.value)?,
                other => return Err(serde::de::Error::custom(format!("there is no operating system `{other}`"))),
            }
        }
        Ok(paths)
    }
}

impl HostData {
    /// Checks what the types alone do not guarantee.
    pub(super) fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("host `{}`: {what}", self.id));
        let has = |template: &Node, what: &str| {
            template.members().is_some_and(|all| all.iter().any(|m| m.value.as_text() == Some(what)))
        };
        match () {
            () if self.user.is_none() && self.project.is_none() => wrong("it has neither `user` nor `project`"),
            () if self.local.is_some() && self.user.is_none() => wrong("`local` needs `user`"),
            () if self.key.is_empty() => wrong("`key` is empty"),
            () if !has(&self.stdio, "{line}") && ["{command}", "{args}"].iter().any(|word| !has(&self.stdio, word)) => {
                wrong("`stdio` has neither `{line}` nor `{command}` and `{args}`")
            }
            () if [&self.http, &self.sse].into_iter().flatten().any(|template| !has(template, "{url}")) => {
                wrong("an entry for a URL has no `{url}`")
            }
            () => Ok(()),
        }
    }
}
