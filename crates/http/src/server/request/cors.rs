//! Cross-origin resource sharing: what a browser needs to hear before a page of an allowed origin may use the server.
//!
//! Which origins are allowed is decided by the guard, before anything here is reached.

use std::sync::LazyLock;

use couplet_core::http::headers::{LAST_EVENT_ID, METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION, SESSION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};

use crate::server::response::{self, Reply};

const METHODS: &str = "GET, POST, DELETE, OPTIONS";
/// What every client sends, beside the headers that mirror arguments.
const HEADERS: [&str; 8] =
    ["authorization", "content-type", "accept", LAST_EVENT_ID, PROTOCOL_VERSION, SESSION, METHOD, NAME];
/// What a page may read beside the headers that it always may.
static EXPOSED: LazyLock<HeaderValue> =
    LazyLock::new(|| list(&[SESSION, "www-authenticate", PROTOCOL_VERSION, "retry-after"]));
/// For how long a browser may remember all this, in seconds. Most remember nothing for longer.
const MAX_AGE: &str = "7200";

/// The answer to a browser that asks whether a page may send a request, if this is one.
///
/// It has no credentials, so it must be answered before anything looks for them.
pub(crate) fn preflight(parts: &Parts) -> Option<Reply> {
    if parts.method != Method::OPTIONS || !parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut reply = response::empty(StatusCode::NO_CONTENT);
    let fields = reply.headers_mut();
    fields.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    fields.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(&parts.headers));
    fields.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
    // The answer depends on what is asked for.
    fields.append(header::VARY, HeaderValue::from_name(header::ACCESS_CONTROL_REQUEST_HEADERS));
    Some(reply)
}

/// Lets a page of this origin read a response.
pub(crate) fn allow(reply: &mut Reply, origin: HeaderValue) {
    let fields = reply.headers_mut();
    fields.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    fields.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED.clone());
    vary(reply);
}

/// Tells caches that another origin gets another response.
pub(crate) fn vary(reply: &mut Reply) {
    let fields = reply.headers_mut();
    if !fields.get_all(header::VARY).iter().any(|value| value == "origin") {
        fields.append(header::VARY, HeaderValue::from_name(header::ORIGIN));
    }
}

/// The headers of every client, and of those that mirror arguments the ones that are asked for: only the tools know
/// their names.
fn allowed_headers(asked: &HeaderMap) -> HeaderValue {
    /// More arguments than that are not mirrored.
    const MOST: usize = 64;
    let asked = asked.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|list| list.to_str().ok());
    let names = asked.flat_map(|list| list.split(',')).filter_map(|name| name.trim().parse::<HeaderName>().ok());
    let params: Vec<_> = names.filter(|name| name.as_str().starts_with(PARAM_PREFIX)).take(MOST).collect();
    let all: Vec<&str> = HEADERS.into_iter().chain(params.iter().map(HeaderName::as_str)).collect();
    list(&all)
}

fn list(names: &[&str]) -> HeaderValue {
    HeaderValue::try_from(names.join(", ")).expect("names of headers are good values")
}
