//! The compiled schemas of a tool.
//!
//! Values are validated against all of a given schema, but against a derived one only where it says more than its type,
//! such as a range: deserialization does the rest. A tool whose types say everything has no checks.

use std::{borrow::Cow, sync::Arc};

use couplet_core::JsonText;
use couplet_types::CallToolResult;
use serde_json::Value;

use crate::{
    check::{self, Checker, Origin},
    full::Full,
    schema::SchemaDialect,
    signature::Signature,
};

/// The extent to which arguments and structured output of tools are validated against their schemas.
///
/// ```
/// use couplet_server::{Server, Validation, extract::RawArgs, tool};
/// use serde_json::json;
///
/// let count = json!({ "type": "object", "properties": { "count": { "type": "integer", "maximum": 10 } } });
/// let server: Server = Server::new("app", "1.0.0")
///     .validation(Validation::Basic)
///     .tool(tool("count", |RawArgs(args): RawArgs| args.as_str().to_owned()).input_schema(count));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validation {
    /// Only by deserialization into the handler's types. A broken schema still panics at registration.
    Off,
    /// By deserialization, and by the keywords of schemas that need no large dependency: `type`, `enum`, `const`, `minimum`,
    /// `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf`, `minLength`, `maxLength`, `minItems`,
    /// `maxItems`, `uniqueItems`, `minProperties`, `maxProperties`, `properties`, `required`, `additionalProperties`,
    /// `items`, `prefixItems`, `allOf`, `anyOf`, `oneOf`, `not`, `if`, and `$ref` within the schema. The default.
    #[default]
    Basic,
    /// By the complete validator, which also supports `pattern`, `patternProperties`, `contains`, `propertyNames`, and the
    /// `dependent…` and `unevaluated…` keywords, in every dialect of JSON Schema.
    #[cfg(feature = "validate")]
    Full,
}

/// The checks of one tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {
    input: Option<Checker>,
    output: Option<Checker>,
    /// For outputs with floats: those that are not finite are serialized as `null`.
    finite: Option<Checker>,
    full: Full,
    /// The declared arguments, where others are rejected.
    pub(crate) known: Option<Arc<[String]>>,
    /// A keyword of the input schema that is not supported.
    pub(crate) unchecked: Option<&'static str>,
}

impl Checks {
    /// Compiles the given schemas, or else those of the handler's types.
    ///
    /// # Errors
    /// If a schema is broken.
    pub(crate) fn new(
        input: Option<&Value>,
        output: Option<&Value>,
        signature: &Signature,
        validation: Validation,
    ) -> Result<Self, String> {
        // Portable schemas have no `null`, but an `Option` is deserialized from it.
        let typed_input = signature.arguments.filter(|_| input.is_none()).map(|schema| schema(SchemaDialect::Plain));
        let typed_input = typed_input.transpose()?;
        let typed_output = signature.output.filter(|_| output.is_none()).map(|schema| schema(SchemaDialect::Plain));
        let checks = Self {
            input: compile("input", input, typed_input.as_ref())?,
            output: compile("output", output, typed_output.as_ref())?,
            finite: match &typed_output {
                Some(schema) if has_floats(schema) => Some(Checker::new(schema, Origin::Type)?),
                _ => None,
            },
            full: Full::new(validation, input, typed_input.as_ref(), output.or(typed_output.as_ref()))?,
            known: None,
            unchecked: input.or(typed_input.as_ref()).and_then(unchecked),
        };
        Ok(match validation {
            Validation::Off => Self::default(),
            Validation::Basic => checks,
            #[cfg(feature = "validate")]
            Validation::Full => Self { unchecked: None, ..checks },
        })
    }

    /// Validates arguments; the error, if there is one.
    pub(crate) fn arguments(&self, arguments: &JsonText) -> Option<String> {
        let text = arguments.as_str();
        if let Some(known) = &self.known
            && let Some(unknown) = check::unknown_member(text, known)
        {
            return Some(unknown.to_string());
        }
        let basic = || self.input.as_ref()?.check(text).err().map(|fault| fault.to_string());
        self.full.arguments(text, basic)
    }

    /// Validates a result; the error, if there is one.
    pub(crate) fn output(&self, result: &CallToolResult) -> Option<Cow<'static, str>> {
        if result.failed() {
            return None;
        }
        let text = result.structured_content.as_ref()?.get();
        let basic = || self.output.as_ref()?.check(text).err().map(|fault| fault.of_value());
        let what = self.full.output(text, basic).or_else(|| self.not_finite(text))?;
        Some(format!("the structured content does not fit the output schema: {what}").into())
    }

    fn not_finite(&self, text: &str) -> Option<String> {
        let checker = self.finite.as_ref().filter(|_| text.contains("null"))?;
        let what = checker.check_all(text).err()?.of_value();
        let hint = "JSON has no numbers that are not finite, such as NaN";
        what.ends_with("expected a number, got null").then(|| format!("{what} ({hint})"))
    }
}

fn compile(which: &str, given: Option<&Value>, typed: Option<&Value>) -> Result<Option<Checker>, String> {
    let compiled = match (given, typed) {
        (Some(schema), _) => Checker::new(schema, Origin::Given).map(Some),
        (None, Some(schema)) => Checker::of_type(schema),
        (None, None) => Ok(None),
    };
    compiled.map_err(|what| format!("the {which} schema is broken: {what}"))
}

/// A common keyword that only the complete validator supports.
fn unchecked(schema: &Value) -> Option<&'static str> {
    const KEYWORDS: [&str; 4] = ["pattern", "patternProperties", "propertyNames", "contains"];
    match schema {
        Value::Array(items) => items.iter().find_map(unchecked),
        Value::Object(members) => {
            let own = KEYWORDS
                .into_iter()
                .find(|keyword| members.get(*keyword).is_some_and(|v| v.is_string() || v.is_object()));
            // The names of properties are no keywords.
            own.or_else(|| {
                let inner =
                    members.iter().filter(|(key, _)| !["enum", "const", "default", "examples"].contains(&key.as_str()));
                inner.into_iter().find_map(|(key, value)| match (key.as_str(), value) {
                    ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                        named.values().find_map(unchecked)
                    }
                    _ => unchecked(value),
                })
            })
        }
        _ => None,
    }
}

fn has_floats(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_floats),
        Value::Object(members) => {
            members.get("format").is_some_and(|format| format == "double" || format == "float")
                || members.values().any(has_floats)
        }
        _ => false,
    }
}
