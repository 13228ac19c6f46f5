//! Operations: everything about one method of one path, so that its requests can be built without the document.

mod body;
mod collect;
mod describe;
mod inputs;
mod names;
mod parameter;
mod responses;
mod servers;

use http::Method;
use serde_json::Value;

pub(crate) use body::{Body, BodyKind, Content, Member, is_concrete};
pub use collect::Skipped;
pub(crate) use collect::{collect, tags};
pub(crate) use parameter::{Parameter, Place, Style, Values};
pub(crate) use responses::{Expected, is_json};
pub(crate) use servers::{Base, ServerSettings};

/// The security schemes that a request needs together, each with its scopes.
pub(crate) type Requirement = Vec<(String, Vec<String>)>;

/// An operation of an API: one method of one path, with the tool that it becomes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Operation {
    /// The name of the tool: at most 56 letters, digits, `_` and `-`, unique in the API.
    pub name: String,
    /// The HTTP method.
    pub method: Method,
    /// The path template, as in the document.
    pub path: String,
    /// The tags.
    pub tags: Vec<String>,
    /// The summary: the title of the tool.
    pub title: Option<String>,
    /// The description of the tool.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
    /// The JSON Schema of the structured content, if the document describes the response.
    pub output_schema: Option<Value>,
    /// The `operationId` of the document.
    pub id: Option<String>,
    /// The JSON Schema that arguments are validated against, if it allows more than the listed one.
    pub(crate) accepted_schema: Option<Value>,
    pub(crate) base: Base,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Option<Body>,
    pub(crate) expected: Expected,
    /// Names of query parameters that only the configuration sets.
    pub(crate) reserved: Vec<String>,
    /// The alternatives of security schemes; `None` if the document says nothing.
    pub(crate) security: Option<Vec<Requirement>>,
}

impl Operation {
    /// Returns whether the method only reads.
    pub fn is_read_only(&self) -> bool {
        self.method.is_safe()
    }
}
