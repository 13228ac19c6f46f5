//! The hooks of a program that serves several servers as one.

use couplet_core::{BoxFuture, Call, JsonText};
use couplet_types::{InputRequest, RpcError};

/// Hooks into the messages of the server on their way to its callers, for a host that serves several servers as one; see
/// [`Proxy::forward`](crate::Proxy::forward).
///
/// With hooks, requests of the server outside of a call are refused, because the caller could not know which server
/// sends them; a request for roots gets an empty list.
pub trait Hooks: Send + Sync + 'static {
    /// Inspects a request of the server before it reaches the client of `call`, and returns the request to send.
    ///
    /// Called for each elicitation, sampling or roots request, and again with the same request in each round of a
    /// stateless caller: the outcome should be the same then.
    ///
    /// # Errors
    /// Refuses the request. The server gets the error as the answer; if the server is stateless, the call fails with it.
    fn input_request<'a>(
        &'a self,
        call: &'a Call,
        request: InputRequest,
    ) -> BoxFuture<'a, Result<InputRequest, RpcError>>;

    /// Translates a notification of the server that is forwarded as it is; `None` drops it. Progress, log messages and
    /// changes do not come here.
    fn notification(&self, principal: Option<&str>, method: &str, params: JsonText) -> Option<JsonText>;
}
