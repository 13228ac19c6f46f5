//! Bodies and responses.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use serde::Serialize;
use serde_json::json;

use crate::page::common_headers;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body in one piece.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// A response of a type.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    add(&mut response, common_headers());
    response
}

/// A JSON document.
pub(crate) fn json(value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => typed(StatusCode::OK, "application/json", full(text)),
        Err(error) => failed(StatusCode::INTERNAL_SERVER_ERROR, &format!("the answer cannot be written: {error}")),
    }
}

/// An error as a sentence.
pub(crate) fn failed(status: StatusCode, why: &str) -> Response<Body> {
    let text = json!({ "error": why }).to_string();
    typed(status, "application/json", full(text))
}

/// Sets headers.
pub(crate) fn add(response: &mut Response<Body>, headers: Vec<(&'static str, String)>) {
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
}
