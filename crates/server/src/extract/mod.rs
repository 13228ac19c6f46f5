//! Extractors: the parameters of handlers.
//!
//! | parameter | extracts |
//! |---|---|
//! | [`Args<T>`] | the arguments of a tool or a prompt, parsed into `T` |
//! | [`RawArgs`] | the arguments as JSON |
//! | [`Path<T>`] | the variables of a resource template, parsed into `T` |
//! | [`Uri`] | the URI of the resource |
//! | [`Auth<T>`] | the authenticated caller |
//! | [`Request<T>`] | the request of the transport: over HTTP, its headers and address |
//! | [`State<T>`] | the server's state, or a part of it |
//! | [`Ctx`](crate::Ctx) | the context of the call: progress, logging, elicitation, sampling |
//! | [`Meta`](couplet_types::Meta) | the `_meta` of the request |
//! | [`Completing`] | the argument that is completed |
//! | `Option<E>` | an extractor whose value the call may lack; a malformed value is still an error |
//!
//! Implement [`FromCall`] for extractors of your own.
#![doc = include_str!("../docs/extract.md")]

mod args;
mod auth;
mod meta;
mod path;
mod request;
mod state;
mod sub_path;

pub use args::{Args, RawArgs};
pub use auth::Auth;
pub use meta::{Completing, Uri};
pub use path::Path;
pub use request::Request;
pub use state::{FromRef, State};
pub use sub_path::SubPath;

use std::future::Future;

use couplet_core::{Call, JsonText};
use couplet_types::{Captures, CompletionContext, RpcError};

use crate::{handle::ServerHandle, signature::Signature};

/// A type that can be a parameter of a handler: an extractor.
///
/// ```
/// use couplet_server::{Server, ToolError, extract::{FromCall, Invocation, Rejection}, tool};
///
/// /// The name of the client.
/// struct ClientName(String);
///
/// impl<S: Sync> FromCall<S> for ClientName {
///     async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
///         let info = invocation.call.peer.info.as_ref();
///         Ok(Self(info.map_or_else(|| "client".to_owned(), |i| i.name.clone())))
///     }
/// }
///
/// async fn greet(ClientName(name): ClientName) -> String {
///     format!("Hello, {name}!")
/// }
///
/// let server: Server = Server::new("greeter", "1.0.0").tool(tool("greet", greet));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a handler",
    label = "not an extractor",
    note = "take arguments with `Args<T>`, the server's state with `State<T>`, the context with `Ctx`"
)]
pub trait FromCall<S>: Sized {
    /// Records the needs of this parameter (such as an argument schema) in the handler's signature.
    fn describe(signature: &mut Signature) {
        let _ = signature;
    }

    /// Extracts the parameter from the call. A rejection answers the call, and the handler does not run.
    fn from_call(invocation: &Invocation, state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send;

    /// Extracts the parameter from a call that may lack it, for `Option<Self>`. It returns `None` only for a call that lacks
    /// the value; a malformed value is a rejection. By default no call lacks it, so every rejection stays one.
    fn optional(invocation: &Invocation, state: &S) -> impl Future<Output = Result<Option<Self>, Rejection>> + Send
    where
        Self: Send,
        S: Sync,
    {
        async move { Self::from_call(invocation, state).await.map(Some) }
    }
}

/// A call of a handler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// The call.
    pub call: Call,
    /// The server that is called.
    pub server: ServerHandle,
    /// The target of the call.
    pub target: Target,
}

/// The target of a call, with its input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Target {
    /// A tool or a prompt, with arguments.
    Arguments(JsonText),
    /// A resource, with the variables of its template.
    Resource {
        /// The URI as the client gave it.
        uri: String,
        /// The variables; none for a fixed URI.
        variables: Captures,
    },
    /// A completion.
    Completion {
        /// The text so far.
        value: String,
        /// The arguments that are known already.
        context: CompletionContext,
    },
}

/// The reason why a handler did not run, or did not succeed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// Invalid arguments. The model sees the message, where the revision allows it.
    Arguments(String),
    /// The resource does not exist.
    NotFound,
    /// A protocol error.
    Rpc(RpcError),
}

impl From<RpcError> for Rejection {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

impl<S: Sync, E: FromCall<S> + Send> FromCall<S> for Option<E> {
    fn describe(signature: &mut Signature) {
        E::describe(signature);
    }

    async fn from_call(invocation: &Invocation, state: &S) -> Result<Self, Rejection> {
        E::optional(invocation, state).await
    }
}
