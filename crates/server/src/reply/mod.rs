//! What handlers return.
//!
//! | result | of a tool | of a resource | of a prompt |
//! |---|---|---|---|
//! | text (`String`, `&str`), numbers, `bool` | one text block | the text | one message of the user |
//! | [`Json<T>`] | structured content, with a schema, and the same as text | JSON text | |
//! | content (`ContentBlock`, a `Vec` of what becomes one) | the blocks | | |
//! | [`Image`](crate::media::Image), [`Audio`](crate::media::Audio), [`File`](crate::media::File) | one block | the bytes, or text | one message of the user |
//! | `PromptMessage`, a `Vec` of them | | | the messages |
//! | [`Blob`] | | bytes | |
//! | `CallToolResult`, `ReadResourceResult`, `GetPromptResult` | itself | itself | itself |
//! | `()` | nothing | | |
//! | `Result<_, E>` with any error | `isError` for the model | an error | an error |

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

/// A kind of handler.
pub trait Kind: 'static {
    /// What its handlers answer in the end.
    type Result: Send + 'static;

    /// What an error of a handler becomes, with its causes. An [`RpcError`] and a [`NotFound`] stay what they are.
    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<Self::Result, Rejection>;

    /// What the error becomes that a handler got because the client cannot be asked: an error of the protocol, but for
    /// tools, where the model sees it.
    fn refused(error: &RpcError) -> Result<Self::Result, Rejection> {
        Err(Rejection::Rpc(error.clone()))
    }
}

/// Tools.
#[derive(Debug)]
pub enum ToolKind {}

/// Resources and resource templates.
#[derive(Debug)]
pub enum ResourceKind {}

/// Prompts.
#[derive(Debug)]
pub enum PromptKind {}

/// Completions of an argument or a template variable.
#[derive(Debug)]
pub enum CompleteKind {}

impl Kind for ToolKind {
    type Result = CallToolResult;

    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::error(with_causes(error)))
    }

    fn refused(error: &RpcError) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::error(&*error.message))
    }
}

impl Kind for ResourceKind {
    type Result = ReadResourceResult;

    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<ReadResourceResult, Rejection> {
        Err(RpcError::internal(with_causes(error)).into())
    }
}

impl Kind for PromptKind {
    type Result = GetPromptResult;

    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<GetPromptResult, Rejection> {
        Err(RpcError::internal(with_causes(error)).into())
    }
}

impl Kind for CompleteKind {
    type Result = CompleteResult;

    fn failed(error: &(dyn Error + Send + Sync + 'static)) -> Result<CompleteResult, Rejection> {
        Err(RpcError::internal(with_causes(error)).into())
    }
}

/// A type that a handler of a kind can return.
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
    /// Adds what the result says about the handler.
    fn describe(signature: &mut Signature) {
        let _ = signature;
    }

    /// Makes the reply.
    ///
    /// # Errors
    /// When the value cannot be one.
    fn into_reply(self, invocation: &Invocation) -> Result<K::Result, Rejection>;
}

/// A value that is told as JSON: structured content of a tool, or the JSON text of a resource.
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
