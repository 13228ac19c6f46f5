//! Replies: the results of handlers.
//!
//! | result | of a tool | of a resource | of a prompt |
//! |---|---|---|---|
//! | `String`, `&str`, numbers, `bool` | one text block | text | one user message |
//! | [`Json<T>`] | structured content with a schema, and the same JSON as text | JSON text | |
//! | `ContentBlock`, or a `Vec` of types that convert into it | the blocks | | |
//! | [`Image`](crate::media::Image), [`Audio`](crate::media::Audio), [`File`](crate::media::File) | one block | bytes, or text | one user message |
//! | `PromptMessage`, or a `Vec` of them | | | the messages |
//! | [`Blob`] | | bytes | |
//! | `CallToolResult`, `ReadResourceResult`, `GetPromptResult` | itself | itself | itself |
//! | `()` | no content | | |
//! | `Result<_, E>` with any error | a result with `isError`, which the model sees | a protocol error | a protocol error |
//!
//! Implement [`IntoReply`] for results of your own.
#![doc = include_str!("../docs/reply.md")]

mod complete;
mod media;
mod prompt;
mod resource;
mod tool;

pub use resource::Blob;

use std::error::Error;

use couplet_types::{CallToolResult, CompleteResult, GetPromptResult, ReadResourceResult, RpcError};

use crate::{
    error::{NotFound, with_causes},
    extract::{Invocation, Rejection},
    signature::Signature,
};

/// A kind of handler: [`ToolKind`], [`ResourceKind`], [`PromptKind`] or [`CompleteKind`]. This trait is sealed.
pub trait Kind: Failing + 'static {
    /// The result of the request, in the protocol.
    type Result: Send + 'static;
}

use sealed::Failing;

mod sealed {
    use std::error::Error;

    use couplet_types::RpcError;

    use super::{Kind, Rejection};

    /// The failures of a kind of handler.
    pub trait Failing {
        /// The outcome for an error of a handler, with its causes.
        fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<Self::Result, Rejection>
        where
            Self: Kind;

        /// The outcome for the error that a handler got because the client lacks a capability: a protocol error, but for
        /// tools, where the model sees it.
        fn refused(error: &RpcError) -> Result<Self::Result, Rejection>
        where
            Self: Kind,
        {
            Err(Rejection::Rpc(error.clone()))
        }
    }
}

/// The kind of tools.
#[derive(Debug)]
pub enum ToolKind {}

/// The kind of resources and resource templates.
#[derive(Debug)]
pub enum ResourceKind {}

/// The kind of prompts.
#[derive(Debug)]
pub enum PromptKind {}

/// The kind of completions, of an argument or a template variable.
#[derive(Debug)]
pub enum CompleteKind {}

impl Kind for ToolKind {
    type Result = CallToolResult;
}

impl Failing for ToolKind {
    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::error(with_causes(error)))
    }

    fn refused(error: &RpcError) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::error(&*error.message))
    }
}

impl Kind for ResourceKind {
    type Result = ReadResourceResult;
}

impl Failing for ResourceKind {
    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<ReadResourceResult, Rejection> {
        Err(RpcError::internal(with_causes(error)).into())
    }
}

impl Kind for PromptKind {
    type Result = GetPromptResult;
}

impl Failing for PromptKind {
    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<GetPromptResult, Rejection> {
        Err(RpcError::internal(with_causes(error)).into())
    }
}

impl Kind for CompleteKind {
    type Result = CompleteResult;
}

impl Failing for CompleteKind {
    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<CompleteResult, Rejection> {
        Err(RpcError::internal(with_causes(error)).into())
    }
}

/// A type that a handler of the kind `K` can return.
///
/// ```
/// use couplet_server::{extract::{Invocation, Rejection}, reply::{IntoReply, ToolKind}};
/// use couplet_types::CallToolResult;
///
/// struct Celsius(f64);
///
/// impl IntoReply<ToolKind> for Celsius {
///     fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
///         Ok(CallToolResult::text(format!("{} °C", self.0)))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of such a handler",
    label = "not a result of a handler of this kind",
    note = "a tool returns text, a number, `Json<T>`, content blocks, `()`, or a `Result` of one of these",
    note = "a resource returns text, bytes, `Json<T>`, `ResourceContents`, or a `Result` of one of these",
    note = "a prompt returns text, `PromptMessage`s, or a `Result` of one of these"
)]
pub trait IntoReply<K: Kind> {
    /// Records the properties of this result (such as an output schema) in the handler's signature.
    fn describe(signature: &mut Signature) {
        let _ = signature;
    }

    /// Converts into the result of the request.
    ///
    /// # Errors
    /// If the value cannot be converted, or is an error itself.
    fn into_reply(self, invocation: &Invocation) -> Result<K::Result, Rejection>;
}

/// A value that is serialized as JSON: structured content of a tool, or the JSON text of a resource.
///
/// ```
/// use couplet_server::{Json, Server, schemars::JsonSchema, tool};
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Sum {
///     total: i64,
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").tool(tool("answer", || Json(Sum { total: 42 })));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<K: Kind, T: IntoReply<K>, E: Into<Box<dyn Error + Send + Sync>>> IntoReply<K> for Result<T, E> {
    fn describe(signature: &mut Signature) {
        T::describe(signature);
    }

    fn into_reply(self, invocation: &Invocation) -> Result<K::Result, Rejection> {
        let error = match self {
            Ok(value) => return value.into_reply(invocation),
            Err(error) => error.into(),
        };
        if let Some(rpc) = error.downcast_ref::<RpcError>() {
            if invocation.call.inputs.is_refusal(rpc) {
                return K::refused(rpc);
            }
            return Err(Rejection::Rpc(rpc.clone()));
        }
        if error.is::<NotFound>() {
            return Err(Rejection::NotFound);
        }
        K::failed(&*error)
    }
}
