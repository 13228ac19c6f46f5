//! Authorization of requests.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{
    BoxFuture, Caller, Sender,
    http::headers,
    message::{Body, Frame, Message},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};

use crate::server::{
    endpoint::Endpoint,
    request::{admit::Admitted, claim_types::ClaimTypes, combine::Or, cors},
    response::{self, Reply},
};

/// Identifies the caller of a request, or rejects it. `couplet_auth::server` has an implementation for OAuth.
#[doc = include_str!("../../docs/authorize.md")]
/// ```
/// use std::sync::Arc;
/// use couplet_core::{BoxFuture, Caller};
/// use couplet_http::server::{Authorize, Challenge};
/// use http::{StatusCode, request::Parts};
///
/// /// The user that our gateway has authenticated.
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
    /// Identifies the caller from the head of a request, before the body is read. `None` is an anonymous caller.
    ///
    /// The future is dropped if the client disconnects meanwhile.
    ///
    /// # Errors
    /// The response to a request that is rejected.
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>>;

    /// Returns the response to a caller that lacks scopes which a request requires. `needed` has all scopes of the
    /// request, sorted and without repetition, also those that the caller has.
    ///
    /// The default is 403, or 401 for an anonymous caller, without headers. An implementation for OAuth adds
    /// `WWW-Authenticate` with `error="insufficient_scope"`, so that clients know which scopes to ask for.
    ///
    /// ```
    /// use couplet_core::Caller;
    /// use couplet_http::server::{Authorize, Challenge};
    /// use http::{Request, StatusCode, request::Parts};
    ///
    /// let anyone = |_: &Parts| Ok::<Option<Caller>, Challenge>(None);
    /// let (head, ()) = Request::new(()).into_parts();
    /// let needed = ["notes:write".to_owned()];
    /// assert_eq!(anyone.insufficient(&head, None, &needed).status, StatusCode::UNAUTHORIZED);
    /// assert_eq!(anyone.insufficient(&head, Some(&Caller::new("ada")), &needed).status, StatusCode::FORBIDDEN);
    /// ```
    fn insufficient(&self, request: &Parts, caller: Option<&Caller>, needed: &[String]) -> Challenge {
        let _ = (request, caller);
        let status = if caller.is_some() { StatusCode::FORBIDDEN } else { StatusCode::UNAUTHORIZED };
        Challenge::new(status, format!("this needs the scopes `{}`", needed.join(" ")))
    }

    /// Returns the public metadata document at a path, if there is one: JSON that describes how to authenticate, such
    /// as that of RFC 9728 at `/.well-known/oauth-protected-resource`.
    ///
    /// It is called for each request, so it should only compare the path. GET and HEAD get the document with
    /// `Cache-Control: max-age=300`, without authorization but under an allowed host; other methods get 405. The
    /// built-in listener routes these paths to the endpoint by itself.
    fn document(&self, path: &str) -> Option<Bytes> {
        let _ = path;
        None
    }

    /// Returns the types of the claims that this attaches to callers, so that replicas can send them to each other. The
    /// default is none: then each replica names the type with `Replica::claims`, or callers have no claims.
    ///
    /// It is called when the endpoint is configured.
    fn claim_types(&self) -> ClaimTypes {
        ClaimTypes::none()
    }

    /// Combines two authorizers: a request that this one rejects is tried with the other, such as fixed tokens beside an
    /// authorization server. A request that both reject gets the challenges of both.
    ///
    /// A caller that one of them names wins over one that is anonymous. The status of the merged challenge is 401 if
    /// the second one has it, otherwise that of the first; the reason is that of the first.
    ///
    /// ```
    /// use couplet_core::Caller;
    /// use couplet_http::server::{Authorize, Challenge};
    /// use http::{HeaderValue, Request, StatusCode, request::Parts};
    ///
    /// fn token(name: &'static str, token: &'static str) -> impl Authorize {
    ///     move |request: &Parts| match request.headers.get("authorization").map(HeaderValue::as_bytes) {
    ///         Some(sent) if sent == token.as_bytes() => Ok(Some(Caller::new(name))),
    ///         _ => Err(Challenge::new(StatusCode::UNAUTHORIZED, "a token is required")),
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let either = token("ada", "Bearer 1").or(token("bob", "Bearer 2"));
    /// let (head, ()) = Request::builder().header("authorization", "Bearer 2").body(()).unwrap().into_parts();
    /// let caller = either.authorize(&head).await.unwrap().unwrap();
    /// assert_eq!(&**caller.principal(), "bob");
    /// # }
    /// ```
    fn or<B: Authorize>(self, other: B) -> Or<Self, B>
    where
        Self: Sized,
    {
        Or { first: self, second: other }
    }
}

/// An authorizer that endpoints share.
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

    fn claim_types(&self) -> ClaimTypes {
        (**self).claim_types()
    }
}

/// The response to a request that is rejected.
///
/// Its body is a JSON-RPC error with the reason; browsers of an allowed origin may read it and `WWW-Authenticate`.
///
/// ```
/// use couplet_http::server::Challenge;
/// use http::{HeaderValue, StatusCode, header};
///
/// let mut challenge = Challenge::new(StatusCode::UNAUTHORIZED, "a token is required");
/// challenge.headers.insert(
///     header::WWW_AUTHENTICATE,
///     HeaderValue::from_static("Bearer resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\""),
/// );
/// # drop(challenge);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Challenge {
    /// The status: 401 if the caller is unknown, 403 if it lacks a permission.
    pub status: StatusCode,
    /// The headers, such as `WWW-Authenticate`.
    pub headers: HeaderMap,
    /// The reason, for people. It must not describe what is wrong with a secret.
    pub reason: String,
}

impl Challenge {
    /// Creates a challenge without headers.
    pub fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, headers: HeaderMap::new(), reason: reason.into() }
    }

    pub(crate) fn into_reply(self) -> Reply {
        let mut reply = response::error(self.status, self.reason);
        reply.headers_mut().extend(self.headers);
        reply
    }
}

/// The principal that a function returns; no request is rejected.
pub(crate) struct Named<F>(pub(crate) F);

impl<F: Fn(&Parts) -> Option<String> + Send + Sync + 'static> Authorize for Named<F> {
    fn authorize<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Option<Arc<Caller>>, Challenge>> {
        let caller = (self.0)(request).map(|name| Arc::new(Caller::new(name)));
        Box::pin(std::future::ready(Ok(caller)))
    }
}

impl Endpoint {
    /// Returns whether there is a metadata document or a card at a path.
    #[cfg(feature = "listen")]
    pub(crate) fn has_document(&self, path: &str) -> bool {
        #[cfg(feature = "cards")]
        if self.has_card(path) {
            return true;
        }
        self.config.authorize.as_ref().is_some_and(|authorize| authorize.document(path).is_some())
    }

    /// Returns the metadata document that a request asks for.
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

    /// Returns the response to a caller that lacks scopes of the message: all missing scopes at once.
    ///
    /// It is checked before the message is accepted, because the status of a stream cannot change later.
    pub(crate) fn forbids(&self, parts: &Parts, frame: &Frame, admitted: &Admitted) -> Option<Reply> {
        let authorize = self.config.authorize.as_ref()?;
        let caller = admitted.caller.as_deref();
        let session = parts.headers.get(headers::SESSION).and_then(|session| session.to_str().ok());
        let sender = Sender::new(caller, session);
        let mut needed: Vec<String> = Vec::new();
        let mut add = |message: &Message| {
            if let Body::Request { method, params, .. } = &message.body
                && let Some(scopes) = self.config.service.required_scopes(method, params, sender)
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
