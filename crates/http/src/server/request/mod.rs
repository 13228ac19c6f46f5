//! What a request goes through.

pub(crate) mod access_log;
pub(crate) mod admit;
pub(crate) mod allow_list;
pub(crate) mod authorize;
pub(crate) mod claim_types;
pub(crate) mod client;
pub(crate) mod combine;
pub(crate) mod context;
pub(crate) mod cors;
pub(crate) mod deadline;
pub(crate) mod guard;
pub(crate) mod quota;
pub(crate) mod read_body;
pub(crate) mod readiness;

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use couplet_core::{
    BoxFuture,
    http::{Field, Fields, Placement, accept, has_sessions, headers, no_session, place, session_version, unreadable},
    message,
};
use http::{HeaderMap, HeaderName, Method, Request, StatusCode, header};

use super::endpoint::Endpoint;
use crate::server::{
    request::{access_log::Access, admit::Admitted, context::HttpRequest, read_body::read},
    response::{self, Reply},
    session::http_sse::session_in,
};

impl Endpoint {
    async fn answer<B>(self, request: Arc<HttpRequest>, body: B) -> Reply
    where
        B: http_body::Body,
    {
        #[cfg(feature = "replicas")]
        if let Some(replicas) = self.forwards(&request.headers) {
            return Box::pin(self.answer_forwarded(replicas, request, body)).await;
        }
        let version = request.version;
        let mut access = Access::begin(&request.method, &request.uri, request.client_ip());
        let origin = self.config.guard.check(&request).map(Option::<&_>::cloned);
        let mut reply = match &origin {
            Ok(origin) => match origin.as_ref().and_then(|_| cors::preflight(&request)) {
                Some(preflight) => preflight,
                None => self.respond(request, body, &mut access).await,
            },
            Err(why) => response::error(StatusCode::FORBIDDEN, *why),
        };
        // A page that may send a request may read the answer.
        if let Ok(Some(origin)) = origin {
            cors::allow(&mut reply, origin);
        }
        self.config.metrics.responded(reply.status());
        self.hold(&mut reply, version);
        if let Some(access) = access {
            access.ends_with(&mut reply);
        }
        reply
    }

    async fn respond<B>(&self, request: Arc<HttpRequest>, body: B, access: &mut Option<Box<Access>>) -> Reply
    where
        B: http_body::Body,
    {
        if let Some(document) = self.document(&request) {
            return document;
        }
        #[cfg(feature = "cards")]
        if let Some(card) = self.card_page(&request) {
            return card;
        }
        #[cfg(feature = "inspector")]
        if let Some(page) = self.inspector_page(&request) {
            return page;
        }
        let slot = match self.enter(&request.method) {
            Ok(slot) => slot,
            Err(refused) => return *refused,
        };
        let caller = match &self.config.authorize {
            None => None,
            Some(authorize) => match authorize.authorize(&request).await {
                Ok(caller) => caller,
                Err(challenge) => return challenge.into_reply(),
            },
        };
        if let Some(access) = access {
            access.by(caller.as_ref().map(|caller| caller.principal()));
        }
        match self.admit(slot, caller, request.client_ip()) {
            Ok(admitted) => self.dispatch(request, body, admitted, access).await,
            Err(refused) => *refused,
        }
    }

    /// Responds to a request that was admitted.
    pub(crate) async fn dispatch<B>(
        &self,
        request: Arc<HttpRequest>,
        body: B,
        admitted: Admitted,
        access: &mut Option<Box<Access>>,
    ) -> Reply
    where
        B: http_body::Body,
    {
        match request.method {
            Method::POST => {
                if let Err(refused) = check_post(&request.headers) {
                    return *refused;
                }
                match read(body, &request.headers, &self.config.limits).await {
                    #[cfg(feature = "replicas")]
                    Ok(text) if admitted.forwarded.as_ref().is_some_and(|forwarded| !forwarded.is_of(&text)) => {
                        response::error(StatusCode::FORBIDDEN, "the body is not the one that was forwarded")
                    }
                    Ok(text) => self.message(request, text, admitted, access).await,
                    Err((status, what)) => response::error(status, what),
                }
            }
            Method::GET | Method::DELETE if self.allowed().contains(request.method.as_str()) => {
                self.session(request, admitted).await
            }
            _ => response::not_allowed(self.allowed()),
        }
    }

    /// The methods that can be used here.
    fn allowed(&self) -> &'static str {
        let config = &self.config;
        match (has_sessions(&config.service.describe()), config.without_sessions, config.http_sse) {
            (true, false, _) => "POST, GET, DELETE",
            (true, true, true) => "POST, GET",
            _ => "POST",
        }
    }

    async fn message(
        &self,
        request: Arc<HttpRequest>,
        text: Bytes,
        mut admitted: Admitted,
        access: &mut Option<Box<Access>>,
    ) -> Reply {
        if let Some(id) = session_in(&request.uri).filter(|_| self.config.http_sse) {
            let id = Arc::from(id);
            admitted.context = Some(request);
            return self.post_2024(&id, text, admitted);
        }
        let frame = match message::read(text.clone(), self.config.connection.bounds) {
            Ok(frame) => frame,
            Err(malformed) => {
                return response::json(StatusCode::BAD_REQUEST, unreadable(&Headers(&request.headers), &malformed));
            }
        };
        self.config.metrics.received(&frame);
        if let Some(access) = access {
            access.calls(&frame);
        }
        let placement = match place(&Headers(&request.headers), &frame, &*self.config.service) {
            Ok(placement) => placement,
            Err(refusal) => return response::refused(&refusal),
        };
        if let Some(refused) = self.forbids(&request, &frame, &admitted) {
            return refused;
        }
        let version = match placement {
            Placement::Session(_) | Placement::MissingSession if self.config.without_sessions => {
                session_version(&Headers(&request.headers), &self.config.service.describe())
            }
            _ => None,
        };
        admitted.context = Some(request);
        match placement {
            Placement::Stateless(checked) => self.stateless(frame, Some(checked), admitted).await,
            Placement::Unbound => self.stateless(frame, None, admitted).await,
            Placement::Initialize if self.config.without_sessions => self.introduce(frame, admitted).await,
            Placement::Initialize => self.open(frame, &text, &admitted).await,
            Placement::Session(_) | Placement::MissingSession if self.config.without_sessions => {
                self.sessionless(frame, version, admitted).await
            }
            Placement::Session(id) => self.post(&id, frame, &text, admitted).await,
            Placement::MissingSession => response::refused(&no_session(&frame, &self.config.service.describe())),
        }
    }

    /// A request without a message, about a session.
    async fn session(&self, parts: Arc<HttpRequest>, mut admitted: Admitted) -> Reply {
        admitted.context = Some(parts.clone());
        let is_get = parts.method == Method::GET;
        if is_get && !takes(&parts.headers, accept::EVENTS) {
            return response::error(StatusCode::NOT_ACCEPTABLE, format!("the answer can only be `{}`", accept::EVENTS));
        }
        let session = match couplet_core::http::session(&Headers(&parts.headers), &self.config.service.describe()) {
            Ok(session) => session,
            Err(refusal) => return response::refused(&refusal),
        };
        let Some(share) = self.share_of_streams(admitted.network.filter(|_| is_get)) else {
            return response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many open streams");
        };
        let mut reply = match session.filter(|_| !self.config.without_sessions) {
            Some(id) if is_get => self.get(&id, &parts.headers, admitted).await,
            Some(id) => self.delete(&id, admitted).await,
            None if is_get && self.config.http_sse => self.open_2024(admitted.caller),
            None => response::error(StatusCode::BAD_REQUEST, format!("the header `{}` is missing", headers::SESSION)),
        };
        reply.body_mut().hold(share);
        reply
    }
}

/// What the headers of a message must say before it is read.
fn check_post(headers: &HeaderMap) -> Result<(), Box<Reply>> {
    if !takes_messages(headers) {
        let what = format!("the client must accept `{}` and `{}`", accept::JSON, accept::EVENTS);
        return Err(response::error(StatusCode::NOT_ACCEPTABLE, what).into());
    }
    let is_json = |value: &http::HeaderValue| value == accept::JSON || value.to_str().is_ok_and(accept::is_json);
    if !headers.get_all(header::CONTENT_TYPE).iter().all(is_json) {
        let what = format!("the body must be `{}`", accept::JSON);
        return Err(response::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, what).into());
    }
    // What is unpacked can be a thousand times as large as what was sent.
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity") {
        let what = "the body has a `content-encoding`; send it uncompressed";
        let mut refused = response::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, what);
        refused.headers_mut().insert(header::ACCEPT_ENCODING, http::HeaderValue::from_static("identity"));
        return Err(refused.into());
    }
    Ok(())
}

/// Whether a client takes a message alone as well as a stream of them.
fn takes_messages(headers: &HeaderMap) -> bool {
    let is_usual = |list: &http::HeaderValue| accept::USUAL.iter().any(|usual| list == usual);
    headers.get(header::ACCEPT).is_some_and(is_usual)
        || (takes(headers, accept::JSON) && takes(headers, accept::EVENTS))
}

/// Whether a client takes a type; it takes anything if it says nothing.
fn takes(headers: &HeaderMap, wanted: &str) -> bool {
    let mut lists = headers.get_all(header::ACCEPT).iter().peekable();
    lists.peek().is_none() || lists.any(|list| list.to_str().is_ok_and(|list| accept::accepts(list, wanted)))
}

/// A header that is there once and is plain text.
pub(crate) fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

struct Headers<'a>(&'a HeaderMap);

/// The names that every message is asked for, ready to be looked up.
static KNOWN: [HeaderName; 4] = [
    HeaderName::from_static(headers::PROTOCOL_VERSION),
    HeaderName::from_static(headers::METHOD),
    HeaderName::from_static(headers::NAME),
    HeaderName::from_static(headers::SESSION),
];

impl Fields for Headers<'_> {
    fn field(&self, name: &str) -> Field<'_> {
        let mut values = match KNOWN.iter().find(|known| known.as_str() == name) {
            Some(known) => self.0.get_all(known).iter(),
            None => self.0.get_all(name).iter(),
        };
        match (values.next(), values.next()) {
            (None, _) => Field::Absent,
            (Some(value), None) => Field::Value(value.as_bytes()),
            _ => Field::Repeated,
        }
    }
}

impl<B> tower_service::Service<Request<B>> for Endpoint
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Reply;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Answering {
        let (parts, body) = request.into_parts();
        let client = self.client_of(&parts);
        let request = HttpRequest::new(parts, None, client);
        Answering(Box::pin(self.clone().answer(Arc::new(request), body)))
    }
}

impl Endpoint {
    /// Answers a request that our own listener accepted.
    #[cfg(feature = "listen")]
    pub(crate) fn call_from(
        &self,
        request: Request<hyper::body::Incoming>,
        remote: Option<std::net::SocketAddr>,
        client: client::HttpPeer,
    ) -> Answering {
        let (parts, body) = request.into_parts();
        Answering(Box::pin(self.clone().answer(Arc::new(HttpRequest::new(parts, remote, client)), body)))
    }
}

/// A response that is being made: the future of an [`Endpoint`], which never fails.
///
/// Dropping it cancels a stateless call; a call in a session goes on.
///
/// ```
/// use couplet_http::server::{Answering, Endpoint};
/// use couplet_server::Server;
/// use http::{Request, StatusCode};
/// use tower_service::Service;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build());
/// let request = Request::put("/mcp").header("host", "localhost").body(String::new()).unwrap();
/// let answering: Answering = endpoint.call(request);
/// let Ok(response) = answering.await;
/// assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
/// assert_eq!(response.headers()["allow"], "POST, GET, DELETE");
/// # }
/// ```
pub struct Answering(BoxFuture<'static, Reply>);

#[cfg(feature = "listen")]
impl Answering {
    /// A response that is there already.
    pub(crate) fn ready(reply: Reply) -> Self {
        Self::new(std::future::ready(reply))
    }

    /// A response that a future makes.
    pub(crate) fn new(reply: impl Future<Output = Reply> + Send + 'static) -> Self {
        Self(Box::pin(reply))
    }

    /// The same response with a change.
    pub(crate) fn map(self, change: impl FnOnce(&mut Reply) + Send + 'static) -> Self {
        Self::new(async move {
            let mut reply = self.0.await;
            change(&mut reply);
            reply
        })
    }
}

impl Future for Answering {
    type Output = Result<Reply, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx).map(Ok)
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering").finish_non_exhaustive()
    }
}
