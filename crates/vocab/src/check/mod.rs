//! Checks values against the definitions of a revision, and says what was expected where.
//!
//! A [`Checker`] knows the protocol, where a JSON Schema only knows alternatives: it finds the method before it looks at
//! the parameters, and the `type` before it looks at a block, so that it names the one thing that is wrong.

mod message;
mod rules;

use std::fmt;

use couplet_types::ProtocolVersion;
use serde_json::Value;

pub use message::{Asked, Sender};

use crate::table::{Kind, TABLE};

/// Something that is not as the revision has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where it is, as a JSON pointer into the checked value.
    pub pointer: String,
    /// What should be there.
    pub expected: String,
    /// What is there, if it is not just missing.
    pub found: Option<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)?;
        self.found.as_ref().map_or(Ok(()), |found| write!(f, ", found {found}"))
    }
}

/// Checks values in one revision.
///
/// ```
/// use couplet_types::ProtocolVersion;
/// use couplet_vocab::check::{Asked, Checker, Sender};
/// use serde_json::json;
///
/// let checker = Checker::new(ProtocolVersion::ALL[2]);
/// let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": 5 } });
/// let findings = checker.message(&call, Sender::Unknown, Asked::Unknown);
/// assert_eq!(findings[0].pointer, "/params/name");
/// assert_eq!(findings[0].to_string(), "expected a string, found the number 5");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Checker {
    version: ProtocolVersion,
}

impl Checker {
    /// Checks as in this revision.
    pub fn new(version: ProtocolVersion) -> Self {
        Self { version }
    }

    /// The revision.
    pub fn version(self) -> ProtocolVersion {
        self.version
    }

    /// Checks a value against a definition; `None` if the revision has none of that name.
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

    /// Checks a value below a place, with pointers from the top.
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

/// A value in a few words.
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
