//! The complete validator, for servers with `Validation::Full`.

use couplet_schema::{Mismatch, Schema};
use serde_json::Value;

use crate::{
    checks::Validation,
    fault::{Fault, Step},
};

/// The schemas of a tool, compiled by the complete validator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Full {
    given: Option<Schema>,
    typed: Option<Schema>,
    output: Option<Schema>,
}

impl Full {
    /// Compiles the schemas: the given or derived one of the arguments, and the one of the output.
    ///
    /// # Errors
    /// If a schema cannot be compiled.
    pub(crate) fn new(
        validation: Validation,
        given: Option<&Value>,
        typed: Option<&Value>,
        output: Option<&Value>,
    ) -> Result<Self, String> {
        if validation != Validation::Full {
            return Ok(Self::default());
        }
        let compile = |what: &str, schema: Option<&Value>| {
            let compiled = schema.map(|schema| Schema::new(&schema.to_string()));
            compiled.transpose().map_err(|e| format!("the {what} schema: {e}"))
        };
        let (given, typed) = (compile("input", given)?, compile("input", typed)?);
        Ok(Self { given, typed, output: compile("output", output)? })
    }

    /// Validates arguments. Where the basic checks have an error too, it is theirs.
    pub(crate) fn arguments(&self, text: &str, basic: impl FnOnce() -> Option<String>) -> Option<String> {
        if let Some(schema) = &self.given {
            let mismatch = schema.check(text).err()?;
            // Their messages are better, and shorter.
            return Some(basic().unwrap_or_else(|| fault(&mismatch).to_string()));
        }
        basic().or_else(|| {
            let mismatch = self.typed.as_ref()?.check(text).err()?;
            // Deserialization knows more about these, such as aliases.
            let of_type = ["type", "required", "enum", "const", "additionalProperties"].contains(&mismatch.keyword());
            (!of_type).then(|| fault(&mismatch).to_string())
        })
    }

    /// Validates structured content. Where the basic checks have an error too, it is theirs.
    pub(crate) fn output(&self, text: &str, basic: impl FnOnce() -> Option<String>) -> Option<String> {
        let Some(schema) = &self.output else { return basic() };
        let mismatch = schema.check(text).err()?;
        Some(basic().unwrap_or_else(|| fault(&mismatch).of_value()))
    }
}

/// Converts an error of the validator.
fn fault(mismatch: &Mismatch) -> Fault {
    let step = |part: &str| match part.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::key(&part.replace("~1", "/").replace("~0", "~")),
    };
    let parts = mismatch.pointer().strip_prefix('/').into_iter().flat_map(|pointer| pointer.rsplit('/'));
    parts.map(step).fold(Fault::here(mismatch.reason()), Fault::inside)
}
