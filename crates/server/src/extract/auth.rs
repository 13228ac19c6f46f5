//! The authenticated caller.

use std::{any::type_name, ops::Deref, sync::Arc};

use couplet_types::RpcError;

use super::{FromCall, Invocation, Rejection};

/// The claims of the authenticated caller, as the type that was made where requests are let in: over HTTP, by what
/// `Endpoint::authorize` was given. Without an authenticated caller the handler does not run; take an `Option<Auth<T>>`
/// for a handler that needs none. A caller whose claims are of another type is an error in both.
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
    async fn from_call(invocation: &Invocation, state: &S) -> Result<Self, Rejection> {
        let claims = Self::optional(invocation, state).await?;
        claims.ok_or_else(|| RpcError::invalid_request("this needs an authenticated caller").into())
    }

    async fn optional(invocation: &Invocation, _: &S) -> Result<Option<Self>, Rejection> {
        let Some(caller) = &invocation.call.caller else { return Ok(None) };
        match caller.claims() {
            Some(claims) => Ok(Some(Self(claims))),
            None => {
                // Only the developer can mend it.
                let (wanted, some) = (type_name::<T>(), if caller.has_claims() { "another type" } else { "nothing" });
                tracing::error!("a handler takes `Auth<{wanted}>`, but what lets requests in gives {some}");
                Err(RpcError::internal("the server does not know enough about the caller").into())
            }
        }
    }
}
