//! The kinds of responses.

use couplet_core::{
    EncodedMessage,
    http::{Refusal, accept, headers, not_carried_out, refuse},
};
use couplet_types::RpcError;
use http::{HeaderValue, Response, StatusCode, header};

use crate::server::stream::body::{EndpointBody, Events};

pub(crate) type Reply = Response<EndpointBody>;

/// One message.
pub(crate) fn json(status: StatusCode, text: impl Into<EncodedMessage>) -> Reply {
    let mut reply = Response::new(EndpointBody::full(text.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(accept::JSON));
    reply
}

/// One message that has a session's id beside it.
pub(crate) fn opened(text: EncodedMessage, session: &str) -> Reply {
    let mut reply = json(StatusCode::OK, text);
    if let Ok(id) = HeaderValue::from_str(session) {
        reply.headers_mut().insert(headers::SESSION, id);
    }
    reply
}

/// Messages as they come.
pub(crate) fn events(events: Events) -> Reply {
    let mut reply = Response::new(EndpointBody::events(events));
    let fields = reply.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(accept::EVENTS));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    fields.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}

/// Nothing to say but a status.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut reply = Response::new(EndpointBody::empty());
    *reply.status_mut() = status;
    reply
}

/// A message that belongs nowhere.
pub(crate) fn refused(refusal: &Refusal) -> Reply {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    let mut reply = json(status, refusal.text());
    if status == StatusCode::METHOD_NOT_ALLOWED {
        // What is refused for its method is about a session; a message is always welcome.
        reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    reply
}

/// A request that did not get as far as its message.
pub(crate) fn error(status: StatusCode, what: impl Into<String>) -> Reply {
    json(status, refuse(&refusal(status, what.into())))
}

/// Rejects a request for want of room. Nothing was executed, and the error says so.
pub(crate) fn busy(status: StatusCode, what: &str) -> Reply {
    let error = not_carried_out(refusal(status, format!("{what}; try again later")));
    let mut reply = json(status, refuse(&error));
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    reply
}

/// The method is not one that can be used here.
pub(crate) fn not_allowed(allowed: &'static str) -> Reply {
    let mut reply = error(StatusCode::METHOD_NOT_ALLOWED, format!("use {allowed}"));
    reply.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    reply
}

fn refusal(status: StatusCode, what: String) -> RpcError {
    tracing::debug!(status = status.as_u16(), reason = what, "a request is refused");
    if status.is_server_error() { RpcError::internal(what) } else { RpcError::invalid_request(what) }
}
