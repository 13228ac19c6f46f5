//! What lists and answers have in common: pages, cache hints, the kind of the answer.

use serde::{Deserialize, Serialize};

use crate::{Meta, field};

open_strings! {
    /// What kind of answer a result is (2026-07-28).
    ResultType {
        /// The request is done.
        Complete = "complete",
        /// The client has to supply something and ask again.
        InputRequired = "input_required",
        /// The request goes on as a task (an extension).
        Task = "task",
    }
}

open_strings! {
    /// Who may reuse a stored answer (2026-07-28).
    CacheScope {
        /// Anybody: it is the same for everyone.
        Public = "public",
        /// Only the caller that asked.
        Private = "private",
    }
}

/// What a result says about being kept (2026-07-28), read without the rest of it.
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
    /// For how many milliseconds it stays fresh; a negative time is none.
    #[serde(default, deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Who may be given it.
    #[serde(default)]
    pub cache_scope: Option<CacheScope>,
}

/// Parameters of a request for one page of a list.
#[doc(alias = "PaginatedRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PaginatedParams {
    /// Where the page begins: the `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl PaginatedParams {
    /// Asks for the first page.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { PaginatedParams { into { cursor: String, meta: Meta } } }

/// A result that says nothing but "done".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EmptyResult {
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl EmptyResult {
    /// The empty result.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { EmptyResult { into { meta: Meta } value { result_type: ResultType } } }

/// Parameters of a notification that says nothing beyond its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NotificationParams {
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl NotificationParams {
    /// Empty parameters.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { NotificationParams { into { meta: Meta } } }

has_meta!(PaginatedParams, EmptyResult, NotificationParams);
