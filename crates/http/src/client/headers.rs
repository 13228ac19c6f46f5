//! Headers that repeat parts of the body.

use bytes::Bytes;
use couplet_core::{
    Error, ErrorKind, Outgoing,
    http::headers::{self, encode},
};
use http::{HeaderName, HeaderValue, Request};

/// The headers that repeat parts of a stateless request.
pub(crate) type Mirrored = Vec<(HeaderName, HeaderValue)>;

pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
pub(crate) const SESSION: HeaderName = HeaderName::from_static(headers::SESSION);
const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);

/// Returns the headers that every stateless request must have.
pub(crate) fn mirrored(request: &Outgoing, name: Option<&str>, revision: &'static str) -> Result<Mirrored, Error> {
    let mut mirrored = Vec::with_capacity(3);
    mirrored.push((PROTOCOL_VERSION, fixed("the revision", revision)?));
    mirrored.push((METHOD, fixed("the method", request.method)?));
    if let Some(name) = name {
        mirrored.push((NAME, value("the name", &encode(name))?));
    }
    Ok(mirrored)
}

/// Adds the headers to a request.
pub(crate) fn mirror(http: &mut Request<Bytes>, mirrored: &Mirrored) {
    for (name, value) in mirrored {
        http.headers_mut().insert(name.clone(), value.clone());
    }
}

/// Parses the value of a header.
pub(crate) fn value(what: &str, text: &str) -> Result<HeaderValue, Error> {
    text.parse().map_err(|_| unfit(what))
}

/// Checks a value that the program has, and does not copy it.
pub(crate) fn fixed(what: &str, text: &'static str) -> Result<HeaderValue, Error> {
    HeaderValue::from_maybe_shared(Bytes::from_static(text.as_bytes())).map_err(|_| unfit(what))
}

fn unfit(what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("{what} cannot be sent in a header"))
}
