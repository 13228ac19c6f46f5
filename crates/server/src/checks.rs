//! A tool's schemas, compiled: what clients are promised, and what the handler's own types do not check.
//!
//! A schema that was given is checked in full. One that was written from a type is checked only where it says more than
//! the type, such as a range or a pattern: reading the arguments does the rest, with better words.

use std::borrow::Cow;

use couplet_core::JsonText;
use couplet_schema::Schema;
use couplet_types::{CallToolResult, Tool};
use serde_json::{Map, Value};

use crate::{schema::Dialect, signature::Signature};

#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    given: Option<Schema>,
    typed: Option<Schema>,
    output: Option<Schema>,
}

impl Checks {
    /// Compiles what has to be checked; `given` tells whether the schema of the arguments was.
    pub(crate) fn new(tool: &Tool, given: bool, signature: &Signature) -> Result<Self, String> {
        let compile = |what: &str, text: &str| Schema::new(text).map_err(|e| format!("the {what} schema: {e}"));
        let mut checks = Self::default();
        if given {
            checks.given = Some(compile("input", tool.input_schema.get())?);
        } else if let Some(arguments) = signature.arguments {
            // Portable schemas have no `null`, but an `Option` is read from it.
            let schema = arguments(Dialect::Plain)?;
            checks.typed = says_more(&schema).then(|| compile("input", &schema.to_string())).transpose()?;
        }
        checks.output = match (&tool.output_schema, signature.output) {
            (Some(_), Some(output)) if !says_more(&output(Dialect::Plain)) => None,
            (Some(schema), _) => Some(compile("output", schema.get())?),
            (None, _) => None,
        };
        Ok(checks)
    }

    /// What is wrong with arguments.
    pub(crate) fn arguments(&self, arguments: &JsonText) -> Option<String> {
        if let Some(schema) = &self.given {
            return schema.check(arguments.as_str()).err().map(|e| format!("arguments: {e}"));
        }
        let mismatch = self.typed.as_ref()?.check(arguments.as_str()).err()?;
        // Of these the type knows more, such as what stands for what.
        let of_type = ["type", "required", "enum", "const", "additionalProperties"].contains(&mismatch.keyword());
        (!of_type).then(|| format!("arguments: {mismatch}"))
    }

    /// What is wrong with a result.
    pub(crate) fn output(&self, result: &CallToolResult) -> Option<Cow<'static, str>> {
        let schema = self.output.as_ref().filter(|_| !result.failed())?;
        let mismatch = schema.check(result.structured_content.as_ref()?.get()).err()?;
        Some(format!("the structured content does not fit the output schema: {mismatch}").into())
    }
}

/// Whether a schema that was written from a type has keywords that reading and printing the type does not keep to.
fn says_more(schema: &Value) -> bool {
    const MORE: [&str; 10] = [
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "multipleOf",
        "minProperties",
        "exclusiveMinimum",
        "exclusiveMaximum",
    ];
    match schema {
        Value::Array(items) => items.iter().any(says_more),
        Value::Object(members) => {
            narrowed(members) || MORE.iter().any(|key| members.contains_key(*key)) || members.values().any(says_more)
        }
        _ => false,
    }
}

/// Whether a number has another range than that of its type, which stands there, too.
fn narrowed(members: &Map<String, Value>) -> bool {
    let own = match members.get("format").and_then(Value::as_str).unwrap_or_default() {
        "int8" => (Some(-128), Some(127)),
        "int16" => (Some(-32_768), Some(32_767)),
        "uint8" => (Some(0), Some(255)),
        "uint16" => (Some(0), Some(65_535)),
        format if format.starts_with("uint") => (Some(0), None),
        _ => (None, None),
    };
    let differs = |key: &str, own: Option<i64>| {
        members.get(key).is_some_and(|limit| limit.as_i64().is_none() || limit.as_i64() != own)
    };
    differs("minimum", own.0) || differs("maximum", own.1)
}
