//! The canonical form of a definition, and its fingerprint.

use std::fmt;

use couplet_core::JsonText;

use super::{Digest, Hints, node::Node};

/// The digest of a definition, and the hints that are compared by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// The digest of the canonical form without hints and volatile `_meta` keys.
    pub digest: Digest,
    /// The hints of a tool.
    pub hints: Hints,
}

/// Computes the fingerprint of a definition.
///
/// The order of keys, the spelling of numbers and whitespace do not matter; every member does, known or not. The exceptions
/// are the hints of annotations, and trace context in `_meta`.
///
/// ```
/// use couplet_core::JsonText;
/// use couplet_host::pins::fingerprint;
///
/// let of = |text: &'static str| fingerprint(&JsonText::new(text).unwrap()).unwrap();
/// assert_eq!(of(r#"{"name": "a", "max": 1.0}"#), of(r#"{"max":1,"name":"a"}"#));
/// assert_ne!(of(r#"{"name": "a"}"#), of(r#"{"name": "a", "title": "b"}"#));
/// ```
///
/// # Errors
/// If a key appears twice in an object, or if a number is out of range: readers differ in their understanding of these.
pub fn fingerprint(definition: &JsonText) -> Result<Fingerprint, Uncanonical> {
    let mut tree = Node::parse(definition.as_str())?;
    let hints = tree.take_hints();
    tree.drop_volatile();
    let mut text = String::with_capacity(definition.as_str().len());
    tree.write(&mut text);
    Ok(Fingerprint { digest: Digest::of(text), hints })
}

/// Returns the canonical form of a JSON text, if it has one.
pub(crate) fn canonical_text(text: &str) -> Option<String> {
    Node::parse(text).ok().map(|node| node.text())
}

/// A definition without a canonical form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncanonical(pub(super) String);

impl fmt::Display for Uncanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the definition has no canonical form: {}", couplet_core::visible(&self.0))
    }
}

impl std::error::Error for Uncanonical {}
