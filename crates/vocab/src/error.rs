//! The error of conversions.

use std::fmt;

/// The reason why a message cannot be converted to JSON-LD or RDF, or from it.
///
/// ```
/// let document = r#"{ "@context": "https://example.com/other.jsonld", "jsonrpc": "2.0" }"#;
/// let error = couplet_vocab::jsonld::from_jsonld(document).unwrap_err();
/// assert!(error.is_unknown_context());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    what: String,
    is_unknown_context: bool,
}

impl Error {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_unknown_context: false }
    }

    pub(crate) fn unknown_context(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_unknown_context: true }
    }

    /// Returns `true` if a document refers to a context that is not embedded in this crate. Contexts are never fetched.
    pub fn is_unknown_context(&self) -> bool {
        self.is_unknown_context
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Error {}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::new(format!("not JSON: {error}"))
    }
}
