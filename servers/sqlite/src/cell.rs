//! A value of a row.

use base64::{Engine, engine::general_purpose::STANDARD};
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

/// The maximum length of a column name in bytes. A column without a name has the text of its expression.
const NAME: usize = 100;

/// A value as text and as JSON.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) value: Value,
    /// Whether it was truncated.
    pub(crate) cut: bool,
}

impl Cell {
    /// Converts a SQLite value, truncated to a number of bytes.
    pub(crate) fn new(value: ValueRef<'_>, most: usize) -> Self {
        let whole = |text: String, value: Value| Self { text, value, cut: false };
        match value {
            ValueRef::Null => whole("NULL".to_owned(), Value::Null),
            ValueRef::Integer(number) => whole(number.to_string(), number.into()),
            // JSON has no infinity.
            ValueRef::Real(number) if !number.is_finite() => whole(number.to_string(), number.to_string().into()),
            ValueRef::Real(number) => whole(format!("{number:?}"), number.into()),
            ValueRef::Text(bytes) => {
                let (text, cut) = head(&String::from_utf8_lossy(bytes), most);
                Self { text: shown(&text), value: text.into(), cut }
            }
            ValueRef::Blob(bytes) => {
                // Each byte takes two hexadecimal digits.
                let part = &bytes[..bytes.len().min(most / 2)];
                let cut = part.len() < bytes.len();
                let digits: String = part.iter().map(|byte| format!("{byte:02X}")).collect();
                let value = json!({ "blob": STANDARD.encode(part), "bytes": bytes.len() });
                Self { text: format!("x'{digits}{}'", if cut { "…" } else { "" }), value, cut }
            }
        }
    }
}

/// Returns the name of a column as text and as JSON.
pub(crate) fn name(name: &str) -> (String, String) {
    let (name, _) = head(name, NAME);
    (shown(&name), name)
}

/// Truncates text, and returns whether it was longer.
fn head(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (format!("{}…", &text[..end]), true)
}

/// Escapes control characters.
fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(plain).collect()
}
