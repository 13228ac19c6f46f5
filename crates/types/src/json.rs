//! Raw JSON, preserved exactly as it was received.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::from_json;

/// A JSON value as text: numbers, key order and whitespace are preserved.
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
    /// Serializes a value.
    ///
    /// # Errors
    /// If the value's `Serialize` fails, or if a map has keys that are not strings.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Creates a value from text, after checking that it is valid JSON.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn from_text(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// Returns the empty object, `{}`.
    pub fn empty_object() -> Self {
        Self::from_text("{}").expect("`{}` is JSON")
    }

    /// Returns the text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Parses the value into a type; see [`from_json`].
    ///
    /// # Errors
    /// If the value does not match the type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        from_json(self.get())
    }

    /// Returns whether the value is an object.
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

/// Returns whether a value has a type of JSON Schema, by its name: `null`, `boolean`, `string`, `array`, `object`, `number` or
/// `integer`. A number without a fraction is an integer, as in `1.0`.
///
/// ```
/// use couplet_types::is_json_type;
/// use serde_json::json;
///
/// assert!(is_json_type(&json!(1.0), "integer") && is_json_type(&json!(1.5), "number"));
/// assert!(!is_json_type(&json!(1.5), "integer") && !is_json_type(&json!("1"), "number"));
/// ```
pub fn is_json_type(value: &serde_json::Value, name: &str) -> bool {
    use serde_json::Value;
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => {
            name == "number" || name == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
    }
}
