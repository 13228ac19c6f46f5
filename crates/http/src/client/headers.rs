//! Headers that repeat parts of the body.

use bytes::Bytes;
use couplet_core::{
    Error, ErrorKind, Outgoing,
    http::headers::{self, encode},
};
use http::{HeaderName, HeaderValue, Request};

/// The headers of mirrored arguments.
pub(crate) type Mirrored = Vec<(HeaderName, HeaderValue)>;

/// Adds the headers that a stateless request must have.
pub(crate) fn mirror(
    http: &mut Request<Bytes>,
    request: &Outgoing,
    revision: &str,
    arguments: &Mirrored,
) -> Result<(), Error> {
    let headers = http.headers_mut();
    headers.insert(headers::PROTOCOL_VERSION, value("the revision", revision)?);
    headers.insert(headers::METHOD, value("the method", request.method)?);
    if let Some(name) = request.name() {
        headers.insert(headers::NAME, value("the name", &encode(&name))?);
    }
    for (name, value) in arguments {
        headers.insert(name.clone(), value.clone());
    }
    Ok(())
}

/// Parses the value of a header.
pub(crate) fn value(what: &str, text: &str) -> Result<HeaderValue, Error> {
    text.parse().map_err(|_| Error::new(ErrorKind::Config, format!("{what} cannot be sent in a header")))
}
