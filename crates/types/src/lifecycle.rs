//! Getting to know each other: `initialize`, `server/discover`, `ping`.

use serde::{Deserialize, Serialize};

use crate::{CacheScope, ClientCapabilities, Implementation, Meta, ResultType, ServerCapabilities, field};

/// Parameters of `initialize` (up to 2025-11-25).
#[doc(alias = "InitializeRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeParams {
    /// The revision that the client would like: any string, since it may be one that is not known here.
    pub protocol_version: String,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
    /// Who the client is.
    pub client_info: Implementation,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InitializeParams {
    /// Opens a session.
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self { protocol_version: protocol_version.into(), capabilities, client_info, meta: None }
    }
}

setters! { InitializeParams { into { meta: Meta } } }

/// The answer to `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InitializeResult {
    /// The revision that will be spoken.
    pub protocol_version: String,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// Who the server is.
    pub server_info: Implementation,
    /// How to use the server, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl InitializeResult {
    /// Accepts a session.
    pub fn new(
        protocol_version: impl Into<String>,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self { protocol_version: protocol_version.into(), capabilities, server_info, ..Self::default() }
    }
}

setters! { InitializeResult {
    into { instructions: String, meta: Meta }
    value { result_type: ResultType }
} }

/// Parameters of `server/discover` (2026-07-28).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverParams {
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DiscoverParams {
    /// Asks what the server can do.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { DiscoverParams { into { meta: Meta } } }

/// The answer to `server/discover` (2026-07-28). Who the server is stands in `_meta`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiscoverResult {
    /// The revisions that the server speaks.
    pub supported_versions: Vec<String>,
    /// What the server can do.
    pub capabilities: ServerCapabilities,
    /// How to use the server, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// For how many milliseconds the answer may be reused.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Who may share a stored copy of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl DiscoverResult {
    /// What the server speaks and can do.
    pub fn new(
        supported_versions: impl IntoIterator<Item = impl Into<String>>,
        capabilities: ServerCapabilities,
    ) -> Self {
        let supported_versions = supported_versions.into_iter().map(Into::into).collect();
        Self { supported_versions, capabilities, ..Self::default() }
    }
}

setters! { DiscoverResult {
    into { instructions: String, meta: Meta }
    value { ttl_ms: u64, cache_scope: CacheScope, result_type: ResultType }
} }

/// Parameters of `ping` (up to 2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PingParams {
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PingParams {
    /// Asks whether the other side is there.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { PingParams { into { meta: Meta } } }

has_meta!(InitializeParams, InitializeResult, DiscoverParams, DiscoverResult, PingParams);
