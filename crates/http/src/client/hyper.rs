//! The client that is used if no other is given: hyper, and rustls for https.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind};
use futures_core::Stream;
use http::{Request, Response, header::PROXY_AUTHORIZATION};
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};

use super::{
    fetch::{Body, HttpClient},
    proxy::{Proxied, Proxies},
};

/// HTTP/1.1 and HTTP/2 with connections that are used again, over TLS where the address says https, and through the
/// proxy that the environment names. Clones share their connections.
#[derive(Clone)]
pub struct HyperClient {
    client: Client<HttpsConnector<Proxied>, Full<Bytes>>,
    proxies: Proxies,
}

impl HyperClient {
    /// How long it may take to reach a server.
    const CONNECT: Duration = Duration::from_secs(10);

    /// A client with no connections yet.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new() -> Result<Self, Error> {
        let proxies = Proxies::from_env();
        let connector = HttpsConnectorBuilder::new()
            .with_provider_and_webpki_roots(rustls::crypto::ring::default_provider())
            .map_err(|e| Error::new(ErrorKind::Config, "TLS cannot be set up").with_source(e))?
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(Proxied::new(proxies.clone(), Self::CONNECT));
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http1_max_buf_size(256 << 10)
            .http2_max_header_list_size(64 << 10)
            .build(connector);
        Ok(Self { client, proxies })
    }
}

impl HttpClient for HyperClient {
    fn send(&self, mut request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        if let Some(login) = self.proxies.login(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login);
        }
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let response = self.client.request(request.map(Full::new));
        Box::pin(async move {
            match response.await {
                Ok(response) => Ok(response.map(|body| Body::new(Pieces(body)))),
                Err(error) => {
                    let what = if error.is_connect() { "cannot be reached" } else { "did not answer" };
                    Err(Error::new(ErrorKind::Transport, format!("`{host}` {what}: {}", root(&error)))
                        .with_source(error))
                }
            }
        })
    }
}

impl fmt::Debug for HyperClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperClient").finish_non_exhaustive()
    }
}

/// What is at the bottom of an error.
fn root(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

struct Pieces(Incoming);

impl Stream for Pieces {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            return match std::task::ready!(Pin::new(&mut self.0).poll_frame(cx)) {
                None => Poll::Ready(None),
                // Trailers say nothing here.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => Poll::Ready(Some(Ok(piece))),
                    Err(_) => continue,
                },
                Some(Err(error)) => {
                    let what = format!("the response broke off: {}", root(&error));
                    Poll::Ready(Some(Err(Error::new(ErrorKind::Transport, what).with_source(error))))
                }
            };
        }
    }
}
