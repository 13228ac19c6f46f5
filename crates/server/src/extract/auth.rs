//! The authenticated caller.

use std::{any::type_name, ops::Deref, sync::Arc};

use couplet_types::RpcError;

use super::{FromCall, Invocation, Rejection};

/// The claims of the authenticated caller, in the type that the authorizer produced: over HTTP, the one given to
/// `Endpoint::authorize`.
///
/// A call without an authenticated caller is rejected; take an `Option<Auth<T>>` to allow it. Claims of another type than
/// `T` are a mistake of the developer's: the call fails in both cases, and the log names the type.
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
/// // The authorizer returns `Caller::new("7").with_claims(Person { name: "Ada".into() })`.
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
                // Only the developer can fix it.
                let (wanted, some) = (type_name::<T>(), if caller.has_claims() { "another type" } else { "no type" });
                tracing::error!("a handler takes `Auth<{wanted}>`, but the authorizer gave claims of {some}");
                Err(RpcError::internal("the server does not know enough about the caller").into())
            }
        }
    }
}
