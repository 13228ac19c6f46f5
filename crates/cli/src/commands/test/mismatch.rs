//! Failed expectations.

use serde_json::{Value, json};

use super::diff::{diff, readable};

/// A failed expectation: the place, what is wrong, and the values to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    /// A JSON pointer, `text`, `error`, `snapshot` and the like.
    pub(super) at: String,
    pub(super) what: String,
    /// The expected value as readable text.
    pub(super) expected: Option<String>,
    /// The actual value as readable text.
    pub(super) actual: Option<String>,
    /// More lines, such as the server's standard error.
    pub(super) details: Vec<String>,
}

impl Mismatch {
    pub(super) fn new(at: &str, what: impl Into<String>) -> Self {
        Self { at: at.to_owned(), what: what.into(), expected: None, actual: None, details: Vec::new() }
    }

    pub(super) fn expected(self, value: &Value) -> Self {
        Self { expected: Some(readable(value)), ..self }
    }

    pub(super) fn actual(self, value: &Value) -> Self {
        Self { actual: Some(readable(value)), ..self }
    }

    /// Returns the heading: `/a/b: differs`.
    pub(super) fn heading(&self) -> String {
        match self.at.is_empty() {
            true => self.what.clone(),
            false => format!("{}: {}", self.at, self.what),
        }
    }

    /// Returns the lines below the heading, each of at most `width` columns, that start with `-` (expected), `+` (actual)
    /// or a space.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let values = match (&self.expected, &self.actual) {
            (None, None) => Vec::new(),
            (expected, actual) => diff(expected.as_deref(), actual.as_deref(), width),
        };
        values.into_iter().chain(self.details.iter().map(|line| format!("  {line}"))).collect()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({ "at": self.at, "message": self.what });
        for (key, text) in [("expected", &self.expected), ("actual", &self.actual)] {
            if let Some(text) = text {
                value[key] = json!(text);
            }
        }
        if !self.details.is_empty() {
            value["details"] = json!(self.details);
        }
        value
    }
}
