//! The signature of a handler: what its parameters and its result need.

use schemars::JsonSchema;
use serde_json::Value;

use crate::schema::{self, SchemaDialect, declared::Declared};

/// The signature of a handler. Extractors ([`FromCall::describe`](crate::extract::FromCall::describe)) and results
/// ([`IntoReply::describe`](crate::reply::IntoReply::describe)) add to it at registration.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Signature {
    /// The declaration of the argument type.
    pub(crate) declared: Option<fn() -> Declared>,
    /// The function that writes the schema of the arguments.
    pub arguments: Option<fn(SchemaDialect) -> Result<Value, String>>,
    /// The function that writes the schema of the structured content.
    pub output: Option<fn(SchemaDialect) -> Value>,
    /// Whether the handler can send messages to the client while it runs: the server then advertises logging.
    pub talks: bool,
}

impl Signature {
    /// Records that the handler takes arguments of the type `T`.
    pub fn takes<T: JsonSchema>(&mut self) {
        self.arguments = Some(schema::of::<T>);
    }

    /// Records that the handler returns structured content of the type `T`.
    pub fn returns<T: JsonSchema>(&mut self) {
        self.output = Some(schema::of_output::<T>);
    }
}
