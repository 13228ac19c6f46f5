//! Secret strings.

use std::fmt;

use zeroize::Zeroizing;

/// A secret string: a token, a password, a key. `Debug` does not show it, and it is wiped from memory when it is
/// dropped.
///
/// ```
/// use couplet_auth::Secret;
///
/// let token = Secret::new("abc");
/// assert_eq!(format!("{token:?}"), "Secret");
/// assert_eq!(token.reveal(), "abc");
/// ```
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a secret string.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Returns the secret in plain text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
