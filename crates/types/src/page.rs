//! Pagination, cache hints and result types.

use serde::{Deserialize, Serialize};

use crate::{Meta, field};

open_strings! {
    /// The kind of a result (2026-07-28).
    ResultType {
        /// The request is complete.
        Complete = "complete",
        /// The client has to provide input and retry the request.
        InputRequired = "input_required",
        /// The request continues as a task (an extension).
        Task = "task",
    }
}

open_strings! {
    /// The scope of a cached result (2026-07-28).
    CacheScope {
        /// The result is the same for every caller, and may be shared.
        Public = "public",
        /// The result is for the requesting caller only.
        Private = "private",
    }
}

/// The cache hints of a result (2026-07-28), parsed without the rest of it.
///
/// ```
/// use couplet_types::{CacheHints, CacheScope, from_json};
///
/// let hints: CacheHints = from_json(r#"{"tools":[],"ttlMs":5000,"cacheScope":"public"}"#)?;
/// assert_eq!((hints.ttl_ms, hints.cache_scope), (Some(5000), Some(CacheScope::Public)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CacheHints {
    /// The time in milliseconds for which the result stays fresh; a negative one counts as 0.
    #[serde(default, deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Whether the cached result may be shared between callers.
    #[serde(default)]
    pub cache_scope: Option<CacheScope>,
}

/// Parameters of a request for one page of a list.
#[doc(alias = "PaginatedRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PaginatedParams {
    /// The cursor of the page: the `next_cursor` of the previous one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PaginatedParams {
    /// Creates the parameters for the first page.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { PaginatedParams { into { cursor: String, meta: Meta } } }

/// A result without data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmptyResult {
    /// Creates the empty result.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { EmptyResult { into { meta: Meta } value { result_type: ResultType } } }

/// Parameters of a notification without data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NotificationParams {
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// Creates empty parameters.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { NotificationParams { into { meta: Meta } } }

has_meta!(PaginatedParams, EmptyResult, NotificationParams);
