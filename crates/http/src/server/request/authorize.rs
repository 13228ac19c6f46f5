//! Who may ask, and what somebody who may not is told.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{
    BoxFuture, Caller,
    message::{Body, Frame, Message},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

use crate::server::{
    endpoint::Endpoint,
    request::{admit::Admitted, combine::Or, cors},
    response::{self, Reply},
};

/// Decides who may ask. `couplet_auth::server` has what OAuth needs; anything else is a few lines.
///
/// ```
/// use std::sync::Arc;
/// use couplet_core::{BoxFuture, Caller};
/// use couplet_http::server::{Authorize, Challenge};
/// use http::{StatusCode, request::Parts};
///
/// /// Whoever comes through our gateway, which has checked who it is.
/// struct Gateway;
///
/// impl Authorize for Gateway {
///     fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
///         let user = request.extensions.get::<String>();
///         let answer = match user {
///             Some(user) => Ok(Some(Arc::new(Caller::new(user.as_str())))),
///             None => Err(Challenge::new(StatusCode::UNAUTHORIZED, "come through the gateway")),
///         };
///         Box::pin(std::future::ready(answer))
///     }
/// }
/// ```
pub trait Authorize: Send + Sync + 'static {
    /// Looks at the head of a request, before its body is read: who sends it, or nobody in particular.
    ///
    /// # Errors
    /// What to answer instead.
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>>;

    /// What to answer to somebody who lacks some of the scopes that a request needs.
    fn insufficient(&self, request: &Parts, caller: Option<&Caller>, needed: &[String]) -> Challenge {
        let _ = (request, caller);
        let status = if caller.is_some() { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
        Challenge::new(status, format!("this needs the scopes `{}`", needed.join(" ")))
    }

    /// A document that everybody may read, by its path: JSON that tells how to get in.
    fn document(&self, path: &str) -> Option<Bytes> {
        let _ = path;
        None
    }

    /// Lets in whom this one or another lets in, which is asked second: fixed tokens for some and an authorization
    /// server for the others, for example. A request that neither lets in gets the challenges of both.
    fn or<B: Authorize>(self, other: B) -> Or<Self, B>
    where
        Self: Sized,
    {
        Or { first: self, second: other }
    }
}

/// Whoever is shared by several endpoints.
impl<A: Authorize + ?Sized> Authorize for Arc<A> {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        (**self).authorize(request)
    }

    fn insufficient(&self, request: &Parts, caller: Option<&Caller>, needed: &[String]) -> Challenge {
        (**self).insufficient(request, caller, needed)
    }

    fn document(&self, path: &str) -> Option<Bytes> {
        (**self).document(path)
    }
}

/// The answer to a request that is not let in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Challenge {
    /// The status: 401 where nobody was recognised, 403 where somebody may not.
    pub status: StatusCode,
    /// What the client needs to know to get in, such as `WWW-Authenticate`.
    pub headers: HeaderMap,
    /// Why, for people. Never what was wrong with a secret.
    pub reason: String,
}

impl Challenge {
    /// An answer without headers.
    pub fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, headers: HeaderMap::new(), reason: reason.into() }
    }

    pub(crate) fn into_reply(self) -> Reply {
        let mut reply = response::error(self.status, self.reason);
        reply.headers_mut().extend(self.headers);
        reply
    }
}

/// Whoever a function names; everybody is let in.
pub(crate) struct Named<F>(pub(crate) F);

impl<F: Fn(&Parts) -> Option<String> + Send + Sync + 'static> Authorize for Named<F> {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        let caller = (self.0)(request).map(|name| Arc::new(Caller::new(name)));
        Box::pin(std::future::ready(Ok(caller)))
    }
}

impl Endpoint {
    /// Whether there is a document at a path.
    #[cfg(feature = "listen")]
    pub(crate) fn has_document(&self, path: &str) -> bool {
        self.config.authorize.as_ref().is_some_and(|authorize| authorize.document(path).is_some())
    }

    /// The document that a request asks for, if there is one at its path.
    pub(crate) fn document(&self, parts: &Parts) -> Option<Reply> {
        let authorize = self.config.authorize.as_ref()?;
        let document = authorize.document(parts.uri.path())?;
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(response::not_allowed("GET, HEAD"));
        }
        let mut reply = response::json(StatusCode::OK, document);
        reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
        cors::vary(&mut reply);
        Some(reply)
    }

    /// What to answer if whoever asks may not do what the message wants: all that it would take, at once.
    ///
    /// It is asked before the message is taken, because later there may be a stream whose status is sent.
    pub(crate) fn forbids(&self, parts: &Parts, frame: &Frame, admitted: &Admitted) -> Option<Reply> {
        let authorize = self.config.authorize.as_ref()?;
        let caller = admitted.caller.as_deref();
        let mut needed: Vec<String> = Vec::new();
        let mut add = |message: &Message| {
            if let Body::Request { method, params, .. } = &message.body
                && let Some(scopes) = self.config.service.required_scopes(method, params)
            {
                needed.extend(scopes.iter().cloned());
            }
        };
        match frame {
            Frame::Single(message) => add(message),
            Frame::Batch(messages) => messages.iter().flatten().for_each(add),
        }
        if needed.is_empty() || caller.is_some_and(|caller| caller.has_scopes(&needed)) {
            return None;
        }
        needed.sort_unstable();
        needed.dedup();
        Some(authorize.insufficient(parts, caller, &needed).into_reply())
    }
}
