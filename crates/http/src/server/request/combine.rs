//! Authorizers from other authorizers, or from a function.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{BoxFuture, Caller};
use http::{StatusCode, request::Parts};

use crate::server::request::{
    authorize::{Authorize, Challenge},
    claim_types::ClaimTypes,
};

/// Two authorizers of which one must accept; see [`Authorize::or`].
///
/// The second one is asked only if the first did not name a caller. The documents of both are served; at a path that both
/// have, that of the first.
///
/// ```
/// use couplet_core::Caller;
/// use couplet_http::server::{Authorize, Challenge, Endpoint, Or};
/// use couplet_server::Server;
/// use http::{StatusCode, request::Parts};
///
/// type Check = fn(&Parts) -> Result<Option<Caller>, Challenge>;
///
/// /// The name in the client's certificate, which the layer that terminates TLS has checked.
/// fn by_certificate(request: &Parts) -> Result<Option<Caller>, Challenge> {
///     match request.extensions.get::<String>() {
///         Some(name) => Ok(Some(Caller::new(name.as_str()))),
///         None => Err(Challenge::new(StatusCode::FORBIDDEN, "a certificate is required")),
///     }
/// }
///
/// fn by_token(request: &Parts) -> Result<Option<Caller>, Challenge> {
///     match request.headers.get("authorization").and_then(|sent| sent.to_str().ok()) {
///         Some("Bearer s3cret") => Ok(Some(Caller::new("ci"))),
///         _ => Err(Challenge::new(StatusCode::UNAUTHORIZED, "a token is required")),
///     }
/// }
///
/// let either: Or<Check, Check> = (by_certificate as Check).or(by_token as Check);
/// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build()).authorize(either);
/// # drop(endpoint);
/// ```
#[derive(Clone, Debug)]
#[must_use = "an endpoint uses it"]
pub struct Or<A, B> {
    pub(crate) first: A,
    pub(crate) second: B,
}

impl<A: Authorize, B: Authorize> Authorize for Or<A, B> {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        Box::pin(async move {
            let first = self.first.authorize(request).await;
            if let Ok(Some(caller)) = first {
                return Ok(Some(caller));
            }
            match (first, self.second.authorize(request).await) {
                (_, Ok(Some(caller))) => Ok(Some(caller)),
                // Whom one of them lets in without a name is let in.
                (Ok(None), _) | (_, Ok(None)) => Ok(None),
                (Err(first), Err(second)) => Err(first.and(second)),
                (Ok(Some(caller)), _) => Ok(Some(caller)),
            }
        })
    }

    fn insufficient(&self, request: &Parts, caller: Option<&Caller>, needed: &[String]) -> Challenge {
        let first = self.first.insufficient(request, caller, needed);
        first.and(self.second.insufficient(request, caller, needed))
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        self.first.document(path).or_else(|| self.second.document(path))
    }

    fn claim_types(&self) -> ClaimTypes {
        self.first.claim_types().and(self.second.claim_types())
    }
}

impl Challenge {
    /// Merges two challenges.
    fn and(mut self, other: Self) -> Self {
        if other.status == StatusCode::UNAUTHORIZED {
            self.status = other.status;
        }
        for (name, value) in &other.headers {
            if !self.headers.get_all(name).iter().any(|own| own == value) {
                self.headers.append(name.clone(), value.clone());
            }
        }
        self
    }
}

/// A function as authorizer: it returns the caller, `None` for an anonymous one, or the response to a rejected request.
///
/// ```
/// use couplet_core::Caller;
/// use couplet_http::server::{Authorize, Challenge};
/// use http::{StatusCode, request::Parts};
///
/// fn uses(authorize: impl Authorize) {}
///
/// uses(|request: &Parts| match request.headers.get("x-user").and_then(|user| user.to_str().ok()) {
///     Some(user) => Ok(Some(Caller::new(user))),
///     None => Err(Challenge::new(StatusCode::UNAUTHORIZED, "come through the gateway")),
/// });
/// ```
impl<F> Authorize for F
where
    F: Fn(&Parts) -> Result<Option<Caller>, Challenge> + Send + Sync + 'static,
{
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        Box::pin(std::future::ready(self(request).map(|caller| caller.map(Arc::new))))
    }
}
