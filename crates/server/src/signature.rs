//! What a handler's parameters and result say about it.

use schemars::JsonSchema;
use serde_json::Value;

use crate::schema::{self, SchemaDialect, declared::Declared};

/// What is known of a handler before it is called. Extractors and results add to it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Signature {
    /// What the type of the arguments declares.
    pub(crate) declared: Option<fn() -> Declared>,
    /// How to make the schema of the arguments.
    pub arguments: Option<fn(SchemaDialect) -> Result<Value, String>>,
    /// How to make the schema of the structured result.
    pub output: Option<fn(SchemaDialect) -> Value>,
    /// Whether the handler can talk to the client while it runs.
    pub talks: bool,
}

impl Signature {
    /// The handler takes arguments of a type.
    pub fn takes<T: JsonSchema>(&mut self) {
        self.arguments = Some(schema::of::<T>);
    }

    /// The handler returns structured content of a type.
    pub fn returns<T: JsonSchema>(&mut self) {
        self.output = Some(schema::of_output::<T>);
    }
}
