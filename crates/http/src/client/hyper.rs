//! The default HTTP client: hyper, and rustls for https.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind};
use futures_core::Stream;
use http::{
    Request, Response,
    header::PROXY_AUTHORIZATION,
    uri::{Authority, Scheme},
};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};

use super::{
    dial::{Gate, Timed},
    failure::ConnectFailure,
    fetch::{Body, HttpClient},
    http2::Http2Pool,
    plain::{PlainError, PlainPool},
    proxy::{Proxied, Proxies},
    setup::HyperClientBuilder,
};

/// The maximum size of the head of a response in HTTP/1.1.
pub(crate) const MAX_HEAD: usize = 256 << 10;
/// The same in HTTP/2.
pub(crate) const MAX_HEADER_LIST: u32 = 64 << 10;

/// The default HTTP client: HTTP/1.1 and HTTP/2 with a connection pool, over TLS for `https`, and through the proxy that
/// the environment names. Clones share their connections.
///
/// Idle connections are closed after 90 seconds, those whose peer is silent by keep-alive probes. There is no timeout
/// for responses: the client of the protocol has one, and knows when progress was made. The head of a response may have
/// 256 KiB over HTTP/1.1 and 64 KiB over HTTP/2.
///
/// ```
/// use std::sync::Arc;
/// use couplet_http::{client::HyperClient, connect};
///
/// # fn main() -> Result<(), couplet_core::Error> {
/// let http = Arc::new(HyperClient::new()?);
/// let targets = ["https://a.example/mcp", "https://b.example/mcp"].map(|url| connect(url).client(http.clone()));
/// # drop(targets);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct HyperClient {
    client: Client<Timed<HttpsConnector<Proxied>>, Full<Bytes>>,
    plain: PlainPool,
    /// Instead of `plain`, for servers that are known to speak it.
    http2: Option<Http2Pool>,
    proxies: Proxies,
}

impl HyperClient {
    /// The number of idle connections to one server.
    const IDLE: usize = 32;
    /// The interval of keep-alive pings on a connection with open streams, and the timeout for their answer.
    const PULSE: Duration = Duration::from_secs(30);

    /// Creates a client with the default settings.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> HyperClientBuilder {
        HyperClientBuilder::default()
    }

    pub(crate) fn over(tls: rustls::ClientConfig, proxies: Proxies, gate: Gate, is_http2: bool) -> Self {
        let proxied = Proxied::new(proxies.clone(), gate);
        let plain = PlainPool::new(Timed(proxied.clone()));
        let http2 = is_http2.then(|| Http2Pool::new(Timed(proxied.clone())));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(proxied);
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(Self::IDLE)
            .http1_max_buf_size(MAX_HEAD)
            .http2_max_header_list_size(MAX_HEADER_LIST)
            .http2_keep_alive_interval(Self::PULSE)
            .http2_keep_alive_timeout(Self::PULSE)
            .build(Timed(connector));
        Self { client, plain, http2, proxies }
    }
}

impl HttpClient for HyperClient {
    fn send(&self, mut request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        if request.uri().scheme() == Some(&Scheme::HTTP)
            && let Some(server) = request.uri().authority().cloned()
        {
            if let Some(http2) = &self.http2
                && (http2.knows(&server) || !self.proxies.has_proxy(request.uri()))
            {
                let response = http2.clone().send(server.clone(), request);
                return Box::pin(async move { response.await.map_err(|error| error.explained(&server)) });
            }
            let idle = self.plain.take(&server);
            if idle.is_some() || !self.proxies.has_proxy(request.uri()) {
                let response = self.plain.clone().send(idle, server.clone(), request);
                return Box::pin(async move { response.await.map_err(|error| error.explained(&server)) });
            }
        }
        if let Some(login) = self.proxies.login(request.uri()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, login);
        }
        let uri = request.uri().clone();
        let response = self.client.request(request.map(Full::new));
        Box::pin(async move {
            match response.await {
                Ok(response) => Ok(response.map(|body| Body::new(Pieces(body)))),
                Err(error) => {
                    let server = uri.authority().map_or("", |authority| authority.as_str());
                    Err(explained(server, uri.scheme() == Some(&Scheme::HTTP), error.is_connect(), error))
                }
            }
        })
    }
}

impl PlainError {
    fn explained(self, server: &Authority) -> Error {
        explained(server.as_str(), true, matches!(self, Self::Connect(_)), self)
    }
}

/// The error of a request, with advice.
fn explained<E>(server: &str, is_plain: bool, is_connect: bool, error: E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    let what = match ConnectFailure::within(&error) {
        // Within TLS it is not the scheme that is wrong.
        Some(ConnectFailure::NotHttp) if !is_plain => {
            let what = format!("`{server}` did not answer in HTTP: {}", root(&error));
            return Error::new(ErrorKind::Transport, what);
        }
        Some(failure) => failure.explanation(),
        None if is_connect => "cannot be reached",
        None => "did not answer",
    };
    Error::new(ErrorKind::Transport, format!("`{server}` {what}: {}", root(&error))).with_source(error)
}

impl fmt::Debug for HyperClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HyperClient").finish_non_exhaustive()
    }
}

/// Returns the text of the innermost source of an error.
pub(crate) fn root(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

/// The pieces of a body.
pub(crate) struct Pieces<B>(pub(crate) B);

impl<B> Stream for Pieces<B>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: std::error::Error + Send + Sync + 'static,
{
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
