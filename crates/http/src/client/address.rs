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
        // With the headers of the protocol and those that the HTTP client adds.
        let mut headers = HeaderMap::with_capacity(self.private.len() + 11);
        if std::ptr::eq(uri, &self.uri) || same_origin(uri, &self.uri) {
            for (name, value) in &self.private {
                headers.append(name, value.clone());
            }
        }
        *request.headers_mut() = headers;
        request
    }

    /// Sends a request, follows redirects, and turns 401 and 403 into errors. Returns the address that answered, too.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<(Response<Body>, Uri), Error> {
        let (response, redirected) = redirect::send(&*self.client, || request.clone()).await?;
        let uri = redirected.unwrap_or_else(|| request.uri().clone());
        unless_challenged(response).await.map(|response| (response, uri))
    }

    /// The same with a request that is built again for a redirect, and is not copied before it is known that there is one.
    pub(crate) async fn send_built(&self, build: impl Fn() -> Request<Bytes>) -> Result<Response<Body>, Error> {
        let (response, _) = redirect::send(&*self.client, build).await?;
        unless_challenged(response).await
    }
}

async fn unless_challenged(response: Response<Body>) -> Result<Response<Body>, Error> {
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(Box::pin(Challenge::read(response)).await.into()),
        _ => Ok(response),
    }
}

/// The host of an address, with its port unless that is the default.
pub(crate) fn host_header(uri: &Uri) -> Option<HeaderValue> {
    let host = uri.host()?;
    match uri.port_u16() {
        Some(port) if port != 80 => format!("{host}:{port}").parse().ok(),
        _ => host.parse().ok(),
    }
}
