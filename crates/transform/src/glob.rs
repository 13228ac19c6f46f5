//! Patterns with `*`.

use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A pattern in which `*` stands for any number of characters. Everything else stands for itself.
///
/// Matching takes linear time.
///
/// ```
/// use couplet_transform::Glob;
///
/// let glob = Glob::new("delete_*")?;
/// assert!(glob.matches("delete_repo") && !glob.matches("undelete_repo"));
/// # Ok::<(), couplet_transform::GlobError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob {
    pattern: Box<str>,
    /// The texts around each `*`; `None` without a `*`.
    parts: Option<Literals>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Literals {
    first: Box<str>,
    middle: Box<[Box<str>]>,
    last: Box<str>,
}

impl Glob {
    /// The maximum length of a pattern in bytes.
    pub const LONGEST: usize = 1024;

    /// Creates a pattern.
    ///
    /// # Errors
    /// If it is empty or longer than [`Glob::LONGEST`].
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        match pattern.len() {
            0 => Err(GlobError("a pattern is empty; `*` matches everything".to_owned())),
            length if length > Self::LONGEST => {
                Err(GlobError(format!("a pattern has {length} bytes, and at most {} are allowed", Self::LONGEST)))
            }
            _ => Ok(Self { pattern: pattern.into(), parts: split(pattern) }),
        }
    }

    /// Returns whether a text matches.
    pub fn matches(&self, text: &str) -> bool {
        let Some(Literals { first, middle, last }) = &self.parts else { return *self.pattern == *text };
        let Some(text) = text.strip_prefix(&**first) else { return false };
        let Some(mut text) = text.strip_suffix(&**last) else { return false };
        for part in middle {
            let Some(at) = text.find(&**part) else { return false };
            text = &text[at + part.len()..];
        }
        true
    }

    /// Returns the pattern.
    pub fn as_str(&self) -> &str {
        &self.pattern
    }
}

fn split(pattern: &str) -> Option<Literals> {
    let (first, rest) = pattern.split_once('*')?;
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let middle = middle.split('*').filter(|part| !part.is_empty()).map(Into::into).collect();
    Some(Literals { first: first.into(), middle, last: last.into() })
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobError(String);

impl GlobError {
    /// Creates an error from its message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for GlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GlobError {}
