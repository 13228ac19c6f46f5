//! Roots: the directories that a client lets a server work in.

use serde::{Deserialize, Serialize};

use crate::{Meta, ResultType};

/// A root, usually a directory.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
/// resources or from the configuration instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Root {
    /// The URI; always a `file:` URI so far.
    pub uri: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Root {
    /// Creates a root with a URI.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// Returns whether a `file://` URI is this root or inside of it. A URI with `..` is not.
    ///
    /// ```
    /// use couplet_types::Root;
    ///
    /// let root = Root::new("file:///work");
    /// assert!(root.contains("file:///work/src/main.rs"));
    /// assert!(!root.contains("file:///workshop"));
    /// assert!(!root.contains("file:///work/%2e%2e/etc/passwd"));
    /// ```
    pub fn contains(&self, uri: &str) -> bool {
        let whole = self.uri.trim_end_matches('/');
        let inside = uri.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        inside && whole.starts_with("file://") && !goes_up(uri)
    }

    /// Returns whether the URI is a `file://` URI without `..`.
    pub fn is_valid(&self) -> bool {
        self.uri.starts_with("file://") && !goes_up(&self.uri)
    }
}

/// Returns whether a segment of the path is `..`, also if it is percent-encoded or separated by backslashes.
fn goes_up(uri: &str) -> bool {
    let lower = uri.to_ascii_lowercase();
    let plain = lower.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").replace('\\', "/");
    plain.split('/').any(|segment| segment == "..")
}

setters! { Root { into { name: String, meta: Meta } } }

/// Parameters of `roots/list`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
/// resources or from the configuration instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListRootsParams {
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsParams {
    /// Creates the parameters.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListRootsParams { into { meta: Meta } } }

/// Result of `roots/list`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
/// resources or from the configuration instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListRootsResult {
    /// The roots.
    pub roots: Vec<Root>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListRootsResult {
    /// Creates the result from roots.
    pub fn new(roots: Vec<Root>) -> Self {
        Self { roots, ..Self::default() }
    }
}

setters! { ListRootsResult { into { meta: Meta } value { result_type: ResultType } } }

has_meta!(ListRootsParams, ListRootsResult);
