//! Who asks.

use std::{any::type_name, ops::Deref, sync::Arc};

use couplet_types::RpcError;

use super::{FromCall, Invocation, Rejection};

/// What is known of whoever asks, as the type that was made where requests are let in: over HTTP, by what
/// `Endpoint::authorize` was given. Where nobody was authenticated, the handler does not run; take an
/// `Option<Auth<T>>` if it may be called by anybody.
///
/// ```
/// use couplet_core::Caller;
/// use couplet_server::{Server, extract::Auth, tool};
///
/// struct Person {
///     name: String,
/// }
///
/// fn whoami(person: Auth<Person>) -> String {
///     person.name.clone()
/// }
///
/// // What lets requests in says `Caller::new("7").with_claims(Person { name: "Ada".into() })`.
/// let server: Server = Server::new("people", "1.0.0").tool(tool("whoami", whoami));
/// ```
#[derive(Debug)]
pub struct Auth<T>(pub Arc<T>);

impl<T> Deref for Auth<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Auth<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Sync, T: Send + Sync + 'static> FromCall<S> for Auth<T> {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        let caller = invocation.call.caller.as_ref();
        if let Some(claims) = caller.and_then(|caller| caller.claims()) {
            return Ok(Self(claims));
        }
        Err(Rejection::Rpc(match caller {
            None => RpcError::invalid_request("this needs somebody who was authenticated"),
            Some(caller) => {
                // Only the developer can mend it.
                let (wanted, some) = (type_name::<T>(), if caller.has_claims() { "another type" } else { "nothing" });
                tracing::error!("a handler takes `Auth<{wanted}>`, but what lets requests in gives {some}");
                RpcError::internal("the server does not know enough about whoever asks")
            }
        }))
    }
}
