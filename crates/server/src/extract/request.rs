//! The request of the transport.

use std::{any::type_name, ops::Deref, sync::Arc};

use couplet_core::RequestContext;
use couplet_types::RpcError;

use super::{FromCall, Invocation, Rejection};

/// The transport's request behind a call, in the transport's own type: over HTTP, `couplet_http::server::HttpRequest` with
/// headers and address. On other transports the call is rejected; take an `Option<Request<T>>`, or use
/// [`Ctx::request`](crate::Ctx::request), for a server with several transports.
#[derive(Debug)]
pub struct Request<T>(pub Arc<T>);

impl<T> Deref for Request<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Request<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Sync, T: RequestContext> FromCall<S> for Request<T> {
    async fn from_call(invocation: &Invocation, state: &S) -> Result<Self, Rejection> {
        Self::optional(invocation, state).await?.ok_or_else(|| {
            let name = type_name::<T>().rsplit("::").next().unwrap_or_default();
            Rejection::Rpc(RpcError::invalid_request(format!("this needs a transport whose requests have `{name}`")))
        })
    }

    async fn optional(invocation: &Invocation, _: &S) -> Result<Option<Self>, Rejection> {
        Ok(invocation.call.request().map(Self))
    }
}
