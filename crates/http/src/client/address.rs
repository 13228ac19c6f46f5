//! A server's address, the headers of every request to it, and the HTTP client that sends them.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::Error;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{ACCEPT, CONTENT_TYPE, HOST},
    uri::Scheme,
};

use super::{
    challenge::Challenge,
    eras::EraCache,
    fetch::{Body, HttpClient},
    redirect,
    uri::same_origin,
};

pub(crate) struct Address {
    pub(crate) uri: Uri,
    /// Headers that are sent to this origin only.
    private: HeaderMap,
    pub(crate) client: Arc<dyn HttpClient>,
    pub(crate) eras: EraCache,
}

impl Address {
    pub(crate) fn new(uri: Uri, mut private: HeaderMap, client: Arc<dyn HttpClient>, eras: EraCache) -> Self {
        // The HTTP client would serialize it for each request. With TLS it may speak HTTP/2, which has no such header.
        if uri.scheme() == Some(&Scheme::HTTP)
            && let Some(host) = host_header(&uri)
        {
            private.insert(HOST, host);
        }
        Self { uri, private, client, eras }
    }

    /// Builds the request for a message.
    pub(crate) fn post(&self, uri: &Uri, message: Bytes) -> Request<Bytes> {
        let mut request = self.request(Method::POST, uri, message);
        // With the headers of the protocol and those that the HTTP client adds.
        request.headers_mut().reserve(12);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        request
    }

    /// Builds the request for a stream of events.
    pub(crate) fn get(&self, uri: &Uri) -> Request<Bytes> {
        let mut request = self.request(Method::GET, uri, Bytes::new());
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        request
    }

    pub(crate) fn delete(&self, uri: &Uri) -> Request<Bytes> {
        self.request(Method::DELETE, uri, Bytes::new())
    }

    fn request(&self, method: Method, uri: &Uri, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri.clone();
        if std::ptr::eq(uri, &self.uri) || same_origin(uri, &self.uri) {
            *request.headers_mut() = self.private.clone();
        }
        request
    }

    /// Sends a request, follows redirects, and turns 401 and 403 into errors. Returns the address that answered, too.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<(Response<Body>, Uri), Error> {
        let (response, uri) = redirect::send(&*self.client, request).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Challenge::read(response).await.into()),
            _ => Ok((response, uri)),
        }
    }
}

/// The host of an address, with its port unless that is the default.
fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    match uri.port_u16() {
        Some(port) if port != 80 => format!("{host}:{port}").parse().ok(),
        _ => host.parse().ok(),
    }
}
