//! Redirects: few, never to a weaker scheme, and never with private headers to another origin.

use bytes::Bytes;
use couplet_core::{Error, ErrorKind, http::headers};
use http::{
    HeaderMap, HeaderName, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE, LOCATION},
    uri::Scheme,
};

use super::{
    fetch::{Body, HttpClient},
    uri::{resolve, same_origin},
};

/// The number of redirects that are followed.
const MOST: usize = 3;

/// Sends a request and follows redirects; `build` builds the request, again for each redirect. Returns the address that
/// answered, too, if it is another one.
pub(crate) async fn send(
    client: &dyn HttpClient,
    build: impl Fn() -> Request<Bytes>,
) -> Result<(Response<Body>, Option<Uri>), Error> {
    let response = client.send(build()).await?;
    if !is_redirect(response.status()) {
        return Ok((response, None));
    }
    Box::pin(follow(client, build(), response)).await
}

/// Follows redirects. `request` is the one that was redirected by `response`.
async fn follow(
    client: &dyn HttpClient,
    request: Request<Bytes>,
    mut response: Response<Body>,
) -> Result<(Response<Body>, Option<Uri>), Error> {
    let (head, body) = request.into_parts();
    let (method, mut uri, mut headers) = (head.method, head.uri, head.headers);
    for _ in 0..MOST {
        let next = next(&method, &uri, &response)?;
        if !same_origin(&uri, &next) {
            headers = public(headers);
        }
        uri = next;
        let mut request = Request::new(body.clone());
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers.clone();
        response = client.send(request).await?;
        if !is_redirect(response.status()) {
            return Ok((response, Some(uri)));
        }
    }
    Err(Error::new(ErrorKind::Transport, format!("the server redirects more than {MOST} times")))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn next(method: &Method, from: &Uri, response: &Response<Body>) -> Result<Uri, Error> {
    let status = response.status();
    let fail = |what: &str| Err(Error::new(ErrorKind::Transport, format!("the server redirects with {status} {what}")));
    if method != Method::GET && !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return fail("which would not repeat the request");
    }
    let location = response.headers().get(LOCATION).and_then(|l| l.to_str().ok());
    let Some(to) = location.and_then(|l| resolve(from, l)) else { return fail("to no address") };
    if from.scheme() == Some(&Scheme::HTTPS) && to.scheme() != Some(&Scheme::HTTPS) {
        return fail("from https to http");
    }
    Ok(to)
}

/// The headers that any server may see: those of the protocol, without the session.
fn public(headers: HeaderMap) -> HeaderMap {
    let known = |name: &HeaderName| {
        let name = name.as_str();
        [ACCEPT.as_str(), CONTENT_TYPE.as_str(), headers::PROTOCOL_VERSION, headers::METHOD, headers::NAME]
            .contains(&name)
            || name.starts_with(headers::PARAM_PREFIX)
    };
    let mut kept = HeaderMap::new();
    for (name, value) in &headers {
        if known(name) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}
