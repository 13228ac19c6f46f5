//! Roots: the places that a client lets a server work in.

use serde::{Deserialize, Serialize};

use crate::{Meta, ResultType};

/// A place, mostly a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Root {
    /// Its address; so far always a `file:` URI.
    pub uri: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Root {
    /// A place at an address.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }
}

setters! { Root { into { name: String, meta: Meta } } }

/// Parameters of `roots/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListRootsParams {
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsParams {
    /// Asks for the roots.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListRootsParams { into { meta: Meta } } }

/// The answer to `roots/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsResult {
    /// Some roots.
    pub fn new(roots: Vec<Root>) -> Self {
        Self { roots, ..Self::default() }
    }
}

setters! { ListRootsResult { into { meta: Meta } value { result_type: ResultType } } }

has_meta!(ListRootsParams, ListRootsResult);
