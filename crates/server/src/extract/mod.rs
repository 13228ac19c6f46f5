//! What handlers take as parameters.
//!
//! | parameter | what it is |
//! |---|---|
//! | [`Args<T>`] | the arguments of a tool or a prompt, read into `T` |
//! | [`RawArgs`] | the arguments as JSON |
//! | [`Path<T>`] | the variables of a resource template |
//! | [`Uri`] | the URI that is read |
//! | [`Auth<T>`] | the authenticated caller |
//! | [`Request<T>`] | the request of the transport: over HTTP, its headers and address |
//! | [`State<T>`] | what the server was given with `with_state`, or a part of it |
//! | [`Ctx`](crate::Ctx) | progress, logging, questions to the client |
//! | [`Meta`](couplet_types::Meta) | the open `_meta` of the request |
//! | [`Completing`] | what is being completed |
//! | `Option<E>` | an extractor that the call may lack; one that is malformed is still an error |

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

/// A type that can be a handler's parameter.
///
/// ```
/// use couplet_server::{Server, ToolError, extract::{FromCall, Invocation, Rejection}, tool};
///
/// /// The name that the client gives itself.
/// struct ClientName(String);
///
/// impl<S: Sync> FromCall<S> for ClientName {
///     async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
///         let info = invocation.call.peer.info.as_ref();
///         Ok(Self(info.map_or_else(|| "somebody".to_owned(), |i| i.name.clone())))
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
    /// Adds what the parameter says about the handler.
    fn describe(signature: &mut Signature) {
        let _ = signature;
    }

    /// Takes the parameter from the call.
    fn from_call(invocation: &Invocation, state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send;

    /// Takes the parameter from a call that may lack it: as an `Option`. A call that has it, but not as it should be, is
    /// rejected. By default no call lacks it, so every rejection stays one.
    fn optional(invocation: &Invocation, state: &S) -> impl Future<Output = Result<Option<Self>, Rejection>> + Send
    where
        Self: Send,
        S: Sync,
    {
        async move { Self::from_call(invocation, state).await.map(Some) }
    }
}

/// One call of one handler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Invocation {
    /// The call.
    pub call: Call,
    /// The server that is called.
    pub server: ServerHandle,
    /// What the call is about.
    pub target: Target,
}

/// What a call is about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Target {
    /// A tool or a prompt, with arguments.
    Arguments(JsonText),
    /// A resource, with the variables of its template.
    Resource {
        /// The URI as the client gave it.
        uri: String,
        /// The variables, none for a fixed URI.
        variables: Captures,
    },
    /// A completion.
    Completion {
        /// What was typed so far.
        value: String,
        /// What is already settled.
        context: CompletionContext,
    },
}

/// Why a handler did not run, or did not succeed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Rejection {
    /// The arguments are wrong.
    Arguments(String),
    /// The resource does not exist.
    NotFound,
    /// An error of the protocol.
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
