//! The complete validator, for servers that were told to use it.

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
    /// Compiles the schemas: the one of the arguments that was given, or that of a type, and the one of the output.
    ///
    /// # Errors
    /// When a schema cannot be used.
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

    /// What is wrong with arguments, or what the basic checks have to say.
    pub(crate) fn arguments(&self, text: &str, basic: impl FnOnce() -> Option<String>) -> Option<String> {
        if let Some(schema) = &self.given {
            let mismatch = schema.check(text).err()?;
            // They have the better words, and less of them.
            return Some(basic().unwrap_or_else(|| fault(&mismatch).to_string()));
        }
        basic().or_else(|| {
            let mismatch = self.typed.as_ref()?.check(text).err()?;
            // Of these the type knows more, such as what stands for what.
            let of_type = ["type", "required", "enum", "const", "additionalProperties"].contains(&mismatch.keyword());
            (!of_type).then(|| fault(&mismatch).to_string())
        })
    }

    /// What is wrong with structured content, or what the basic checks have to say.
    pub(crate) fn output(&self, text: &str, basic: impl FnOnce() -> Option<String>) -> Option<String> {
        let Some(schema) = &self.output else { return basic() };
        let mismatch = schema.check(text).err()?;
        Some(basic().unwrap_or_else(|| fault(&mismatch).of_value()))
    }
}

/// The same, with its place as a path.
fn fault(mismatch: &Mismatch) -> Fault {
    let step = |part: &str| match part.parse() {
        Ok(index) => Step::Index(index),
        Err(_) => Step::key(&part.replace("~1", "/").replace("~0", "~")),
    };
    let parts = mismatch.pointer().strip_prefix('/').into_iter().flat_map(|pointer| pointer.rsplit('/'));
    parts.map(step).fold(Fault::here(mismatch.reason()), Fault::inside)
}
