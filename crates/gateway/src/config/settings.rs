//! The settings of a server, beside how it is reached.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    revision::Revision,
    units::{Size, Time},
};

/// The settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Settings {
    /// The id in exposed names: a lower-case letter, then up to 15 lower-case letters, digits or `-`. The default is made
    /// from the key of the entry.
    pub id: Option<String>,
    /// Whether the server is left out.
    pub disabled: bool,
    /// When the server is started (default: `lazy`, at its first use).
    pub start: Start,
    /// The time after which an unused server is stopped (default: never).
    pub idle_stop: Option<Time>,
    /// How far the server is trusted (default: `unknown`). Its annotations count only from `known` on.
    pub trust: Trust,
    /// Limits on time and number.
    pub limits: Limits,
    /// Which callers share a connection to a server with sessions (default: `session`).
    pub isolation: Isolation,
    /// The only revision of the protocol that is used with the server (default: the latest that both have).
    pub revision: Option<Revision>,
    /// Whether the server, at an `http://` URL, speaks HTTP/2 without TLS: all requests share a connection (default:
    /// HTTP/1.1; over TLS the version is negotiated).
    pub http2: bool,
    /// The tools that are offered.
    pub tools: Tools,
    /// The effect of tools by name; `*` matches any text. It takes precedence over annotations.
    pub effects: BTreeMap<String, Effect>,
    /// The flow labels of tools by name; `*` matches any text.
    pub labels: BTreeMap<String, Vec<Label>>,
    /// Whether definitions and the launch must match the lock file (default: true).
    pub pin: Option<bool>,
    /// How the gateway authenticates at the server (URLs only; default: a stored login, if there is one).
    pub auth: Option<Auth>,
}

/// The time at which a server is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Start {
    /// At its first use.
    #[default]
    Lazy,
    /// With the gateway.
    Eager,
}

/// The trust in a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Trust {
    /// Its annotations are not believed: each tool counts as destructive.
    #[default]
    Unknown,
    /// A known publisher: annotations of pinned tools are believed.
    Known,
    /// The user's own.
    Owned,
}

/// The effect of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It adds or changes.
    Write,
    /// It may delete or overwrite.
    Destructive,
}

/// A label of data that flows through a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Label {
    /// Its results contain private data.
    Private,
    /// Its results contain text of strangers.
    Untrusted,
    /// It sends data out.
    Sends,
}

/// The callers that share a connection to a server with sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Isolation {
    /// Each session has its own.
    #[default]
    Session,
    /// The sessions of a principal share one.
    Principal,
    /// All callers share one: for a server without state, or one that is expensive to start.
    Shared,
}

/// The tools of a server that are offered, by name; `*` matches any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Tools {
    /// The tools to offer; none listed means all.
    pub allow: Vec<String>,
    /// The tools to hide.
    pub deny: Vec<String>,
}

/// The limits of a server. What is not set has the default of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// Calls at the same time (default: 64).
    pub calls: Option<usize>,
    /// Calls that wait (default: 128).
    pub queue: Option<usize>,
    /// The timeout of a call in the queue (default: 10s).
    pub queue_timeout: Option<Time>,
    /// The timeout of a call without progress (default: 60s); 0s is none.
    pub timeout: Option<Time>,
    /// The timeout of a call in all (default: 1h); 0s is none.
    pub max_timeout: Option<Time>,
    /// The timeout of starting and connecting (default: 30s).
    pub connect_timeout: Option<Time>,
    /// The timeout of a page of a list (default: 15s).
    pub list_timeout: Option<Time>,
    /// Restarts within ten minutes (default: 5).
    pub restarts: Option<u32>,
    /// Connections at the same time (default: 16).
    pub connections: Option<usize>,
    /// The size of a message (default: 16M).
    pub message: Option<Size>,
}

/// The authentication of the gateway at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Auth {
    /// None, except what `headers` has.
    None,
    /// The login that `couplet login URL` stored.
    Oauth(Oauth),
}

/// The settings of OAuth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Oauth {}
