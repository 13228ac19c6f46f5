//! What a request goes through.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll},
};

use bytes::Bytes;
use couplet_core::{
    BoxFuture,
    http::{Field, Fields, Lane, accept, has_sessions, headers, sort, unreadable},
    message,
};
use http::{HeaderMap, Method, Request, StatusCode, header, request::Parts};

use super::{
    endpoint::{Endpoint, State},
    legacy::session_in,
    read::read,
    reply::{self, Reply},
};

impl Endpoint {
    async fn answer<B>(self, parts: Parts, body: B) -> Reply
    where
        B: http_body::Body,
    {
        if let Err(why) = self.config.guard.check(&parts) {
            return reply::error(StatusCode::FORBIDDEN, why);
        }
        let Some(_admitted) = self.admit() else {
            return reply::busy(StatusCode::SERVICE_UNAVAILABLE, "the server cannot take more requests");
        };
        let principal = self.config.identify.as_ref().and_then(|identify| identify(&parts)).map(Arc::from);
        match parts.method {
            Method::POST => {
                if let Err(refused) = check_post(&parts.headers) {
                    return *refused;
                }
                match read(body, &self.config.limits).await {
                    Ok(text) => self.message(&parts, text, principal).await,
                    Err((status, what)) => reply::error(status, what),
                }
            }
            Method::GET | Method::DELETE if has_sessions(&self.config.service.describe()) => {
                self.session(&parts, principal).await
            }
            _ if has_sessions(&self.config.service.describe()) => reply::not_allowed("POST, GET, DELETE"),
            _ => reply::not_allowed("POST"),
        }
    }

    async fn message(&self, parts: &Parts, text: Bytes, principal: Option<Arc<str>>) -> Reply {
        if let Some(id) = session_in(&parts.uri).filter(|_| self.config.sse_2024) {
            return self.post_2024(id, text, principal.as_ref());
        }
        let frame = match message::read(text.clone(), self.config.connection.bounds) {
            Ok(frame) => frame,
            Err(malformed) => {
                return reply::json(StatusCode::BAD_REQUEST, unreadable(&Headers(&parts.headers), &malformed));
            }
        };
        match sort(&Headers(&parts.headers), &frame, &*self.config.service) {
            Ok(Lane::Alone) => self.alone(frame, principal).await,
            Ok(Lane::Opening) => self.open(frame, &text, principal).await,
            Ok(Lane::Session(id)) => self.post(&id, frame, principal.as_ref()).await,
            Err(refusal) => reply::refused(&refusal),
        }
    }

    /// A request without a message, about a session.
    async fn session(&self, parts: &Parts, principal: Option<Arc<str>>) -> Reply {
        let is_get = parts.method == Method::GET;
        if is_get && !takes(&parts.headers, accept::EVENTS) {
            return reply::error(StatusCode::NOT_ACCEPTABLE, format!("the answer can only be `{}`", accept::EVENTS));
        }
        let session = match couplet_core::http::session(&Headers(&parts.headers), &self.config.service.describe()) {
            Ok(session) => session,
            Err(refusal) => return reply::refused(&refusal),
        };
        match session {
            Some(id) if is_get => self.get(&id, &parts.headers, principal.as_ref()).await,
            Some(id) => self.delete(&id, principal.as_ref()).await,
            None if is_get && self.config.sse_2024 => self.open_2024(principal),
            None => reply::error(StatusCode::BAD_REQUEST, format!("the header `{}` is missing", headers::SESSION)),
        }
    }

    fn admit(&self) -> Option<Admitted> {
        let before = self.state.requests.fetch_add(1, Ordering::AcqRel);
        let admitted = Admitted(self.state.clone());
        let closing = self.state.closing.load(Ordering::Acquire);
        (before < self.config.limits.requests && !closing).then_some(admitted)
    }
}

/// A request under way.
struct Admitted(Arc<State>);

impl Drop for Admitted {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What the headers of a message must say before it is read.
fn check_post(headers: &HeaderMap) -> Result<(), Box<Reply>> {
    if !takes(headers, accept::JSON) || !takes(headers, accept::EVENTS) {
        let what = format!("the client must accept `{}` and `{}`", accept::JSON, accept::EVENTS);
        return Err(reply::error(StatusCode::NOT_ACCEPTABLE, what).into());
    }
    let is_json = |value: &http::HeaderValue| value.to_str().is_ok_and(accept::is_json);
    if !headers.get_all(header::CONTENT_TYPE).iter().all(is_json) {
        let what = format!("the body must be `{}`", accept::JSON);
        return Err(reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, what).into());
    }
    Ok(())
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

impl Fields for Headers<'_> {
    fn field(&self, name: &str) -> Field<'_> {
        let mut values = self.0.get_all(name).iter();
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
        Answering(Box::pin(self.clone().answer(parts, body)))
    }
}

/// A response that is being made.
pub struct Answering(BoxFuture<'static, Reply>);

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
