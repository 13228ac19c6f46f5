//! The sections of a configuration beside the servers.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::units::{Size, Time};

/// The sections beside the servers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Sections {
    /// The JSON Schema of this file, for editors.
    #[serde(rename = "$schema")]
    pub(crate) schema: Option<String>,
    /// Views of the servers, by name. Over HTTP, a profile is at `/mcp/NAME`.
    pub(crate) profiles: BTreeMap<String, Profile>,
    /// Where the gateway listens, and for whom.
    pub(crate) listen: Listen,
    /// The file of audit records.
    pub(crate) audit: Option<Audit>,
    /// The names of tools and prompts (default: `prefixed`).
    pub(crate) names: Names,
    /// Whether definitions and launches must match the lock file beside this file (default: true).
    pub(crate) pins: Option<bool>,
    /// What happens when the policy says `ask` (default: `elicit`).
    pub(crate) consent: Consent,
    /// The time that a person on this machine has to answer, after which the call is denied (default: 5m).
    pub(crate) consent_timeout: Option<Time>,
}

/// A view of the servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Profile {
    /// The keys of its servers; without it, all of them.
    pub servers: Option<Vec<String>>,
    /// Settings for the tools of a server, by the key of the server.
    pub tools: BTreeMap<String, ProfileTools>,
    /// The names of tools and prompts (default: those of the file).
    pub names: Option<Names>,
    /// How clients find tools (default: `list`).
    pub discovery: Discovery,
}

/// How clients find the tools of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Discovery {
    /// All tools are listed.
    #[default]
    List,
    /// Only `search_tools` and `call_tool` are listed: for more tools than a model should read.
    Search,
}

/// The tools of a server in a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ProfileTools {
    /// The tools to offer, by name; `*` matches any text. None listed means all.
    pub allow: Vec<String>,
    /// The tools to hide.
    pub deny: Vec<String>,
    /// New names of tools, by their names at the server.
    pub rename: BTreeMap<String, String>,
    /// New descriptions of tools, by their names at the server.
    pub describe: BTreeMap<String, String>,
    /// Arguments that are always sent, by the names of tools at the server. They are removed from the schemas.
    pub preset: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
}

/// The names that tools and prompts are offered under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Names {
    /// With the id of the server: `files__read`.
    #[default]
    Prefixed,
    /// As the servers call them. A name that two servers have is hidden.
    Bare,
}

/// What happens when the policy says `ask`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// The caller is asked by elicitation; one that does not support it is denied.
    #[default]
    Elicit,
    /// A person on this machine is asked, who answers with `couplet gateway consent`.
    Local,
    /// The caller is asked by elicitation if it supports that, otherwise a person on this machine.
    ElicitOrLocal,
    /// The call is denied.
    Deny,
}

impl Consent {
    /// Whether questions can wait for a person on this machine.
    #[must_use]
    pub fn is_local(self) -> bool {
        matches!(self, Self::Local | Self::ElicitOrLocal)
    }
}

/// Where the gateway listens, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Listen {
    /// The address for HTTP, such as `127.0.0.1:7777`; without it, stdio. `--http` takes precedence.
    pub http: Option<String>,
    /// Who may connect over HTTP (default: `token`).
    pub auth: ListenAuth,
    /// The token, as a reference such as `${env:TOKEN}`. Without it and `tokens`, one is generated at each start.
    pub token: Option<String>,
    /// Tokens by the name of the principal, as references.
    pub tokens: BTreeMap<String, String>,
    /// Host names to accept, in addition to loopback names.
    pub allow_hosts: Vec<String>,
    /// Origins of browser requests to accept.
    pub allow_origins: Vec<String>,
}

/// Who may connect over HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ListenAuth {
    /// Callers with a token: `Authorization: Bearer …`.
    #[default]
    Token,
    /// All programs on this machine.
    None,
}

/// The file of audit records.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct Audit {
    /// The file, relative to the folder of the configuration.
    pub file: PathBuf,
    /// What of arguments is recorded (default: `shape`).
    #[serde(default)]
    pub args: AuditArgs,
    /// What happens when records cannot be written fast enough (default: `block`).
    #[serde(default)]
    pub on_full: OnFull,
    /// The size at which a new file is begun (default: 64M).
    pub rotate: Option<Size>,
    /// The key that the head is signed with and digests of arguments are made with, as a reference such as `${file:PATH}`
    /// to at least 32 characters (default: the user's own, which is created).
    pub key: Option<String>,
    /// The name of this gateway in records, where several write audit files.
    pub replica: Option<String>,
}

/// What of arguments is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AuditArgs {
    /// The names and types, and a keyed digest.
    #[default]
    Shape,
    /// The values too, without those whose names or forms look like secrets.
    Redacted,
}

/// What happens when records cannot be written fast enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OnFull {
    /// Calls wait.
    #[default]
    Block,
    /// Records are dropped and counted.
    Drop,
}
