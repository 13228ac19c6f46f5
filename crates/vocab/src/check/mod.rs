//! Checks values against the definitions of a revision, with expected and found values.
//!
//! A [`Checker`] knows the protocol, where a JSON Schema only has alternatives: it reads the method before the
//! parameters, and the `type` before the members of a block, so that it reports the one error that matters.

mod message;
mod rules;

use std::fmt;

use couplet_types::ProtocolVersion;
use serde_json::Value;

pub use message::{ResponseTo, Sender};

use crate::table::{Kind, TABLE};

/// A difference between a value and a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The place, as a JSON Pointer into the checked value.
    pub pointer: String,
    /// What was expected there.
    pub expected: String,
    /// What was found; `None` if it is missing.
    pub found: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)?;
        self.found.as_ref().map_or(Ok(()), |found| write!(f, ", found {found}"))
    }
}

/// A checker for one revision.
///
/// ```
/// use couplet_types::ProtocolVersion;
/// use couplet_vocab::check::{ResponseTo, Checker, Sender};
/// use serde_json::json;
///
/// let checker = Checker::new(ProtocolVersion::ALL[2]);
/// let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": 5 } });
/// let findings = checker.message(&call, Sender::Unknown, ResponseTo::Unknown);
/// assert_eq!(findings[0].pointer, "/params/name");
/// assert_eq!(findings[0].to_string(), "expected a string, found the number 5");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Checker {
    version: ProtocolVersion,
}

impl Checker {
    /// Creates a checker for a revision.
    pub fn new(version: ProtocolVersion) -> Self {
        Self { version }
    }

    /// Returns the revision.
    pub fn version(self) -> ProtocolVersion {
        self.version
    }

    /// Checks a value against a definition. Returns `None` if the revision has no definition of that name.
    ///
    /// ```
    /// use couplet_types::ProtocolVersion;
    /// use couplet_vocab::check::Checker;
    /// use serde_json::json;
    ///
    /// let checker = Checker::new(ProtocolVersion::ALL[2]);
    /// assert_eq!(checker.value("Role", &json!("user")), Some(vec![]));
    /// assert_eq!(checker.value("Task", &json!({})), None);
    /// ```
    pub fn value(self, definition: &str, value: &Value) -> Option<Vec<Finding>> {
        let (name, _) = TABLE.definitions.get_key_value(definition)?;
        TABLE.body(name, self.version)?;
        Some(self.kind(&Kind::Named(name), value, ""))
    }

    /// Checks a nested value; pointers start at the root.
    fn kind(self, kind: &Kind, value: &Value, at: &str) -> Vec<Finding> {
        let mut rules = rules::Rules::new(self.version, at);
        rules.check(kind, value);
        rules.findings
    }
}

impl Finding {
    pub(crate) fn new(pointer: impl Into<String>, expected: impl Into<String>, found: Option<&Value>) -> Self {
        Self { pointer: pointer.into(), expected: expected.into(), found: found.map(describe) }
    }
}

/// Describes a value in a few words.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() > 40 => {
            format!("the string {:?}…", text.chars().take(40).collect::<String>())
        }
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}
