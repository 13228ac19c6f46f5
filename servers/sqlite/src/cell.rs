//! One value of a row.

use base64::{Engine, engine::general_purpose::STANDARD};
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

/// How many bytes the name of a column has at most. A column without a name has the text of its expression.
const NAME: usize = 100;

/// A value twice: for people, and for programs.
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) value: Value,
    /// Whether it is longer than it may be, and cut.
    pub(crate) cut: bool,
}

impl Cell {
    /// A value of SQLite's, of which at most so many bytes are shown.
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
                // Bytes are shown as two digits each.
                let part = &bytes[..bytes.len().min(most / 2)];
                let cut = part.len() < bytes.len();
                let digits: String = part.iter().map(|byte| format!("{byte:02X}")).collect();
                let value = json!({ "blob": STANDARD.encode(part), "bytes": bytes.len() });
                Self { text: format!("x'{digits}{}'", if cut { "…" } else { "" }), value, cut }
            }
        }
    }
}

/// The name of a column: for people, and for programs.
pub(crate) fn name(name: &str) -> (String, String) {
    let (name, _) = head(name, NAME);
    (shown(&name), name)
}

/// The beginning of a text, and whether that is not all.
fn head(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    (format!("{}…", &text[..end]), true)
}

/// A text in one line, without characters that could pretend to be something else.
fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(plain).collect()
}
