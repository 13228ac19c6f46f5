//! JSON that the protocol does not look into, kept exactly as it was written.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::from_json;

/// A JSON value kept as text: numbers, key order and spacing stay as the peer wrote them.
///
/// ```
/// use couplet_types::RawJson;
///
/// let raw: RawJson = serde_json::from_str(r#"{ "n": 1.50 }"#)?;
/// assert_eq!(raw.get(), r#"{ "n": 1.50 }"#);
/// assert_eq!(raw.parse::<serde_json::Value>()?["n"], 1.5);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Writes a value as JSON.
    ///
    /// # Errors
    /// When the value's `Serialize` fails, or a map has keys that are not strings.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Checks that the text is one JSON value and keeps it.
    ///
    /// # Errors
    /// When the text is not JSON.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The empty object, `{}`.
    pub fn empty_object() -> Self {
        Self::from_text("{}").expect("`{}` is JSON")
    }

    /// The text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the text into a type; see [`from_json`].
    ///
    /// # Errors
    /// When the value does not have the type's shape.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        from_json(self.get())
    }

    /// Whether the value is a JSON object.
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }
}

impl Default for RawJson {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl From<serde_json::Value> for RawJson {
    fn from(value: serde_json::Value) -> Self {
        Self::new(&value).expect("a `Value` is always printable")
    }
}
