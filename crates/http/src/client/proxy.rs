//! Connections through the proxy that the environment names.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use couplet_core::{BoxFuture, Error, ErrorKind};
use http::{HeaderValue, Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::{
        legacy::connect::{Connected, Connection, proxy::Tunnel},
        proxy::matcher::{Intercept, Matcher},
    },
    rt::TokioIo,
};
use tokio::net::TcpStream;
use tower_service::Service;

use super::{
    dial::{Failure, Gate},
    failure::ProxyFailure,
    uri::{self, is_loopback},
};

/// The proxy for each server: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. This machine is always
/// reached directly.
#[derive(Clone, Debug)]
pub(crate) struct Proxies(Arc<Matcher>);

impl Proxies {
    pub(crate) fn from_env() -> Self {
        Self(Arc::new(Matcher::from_env()))
    }

    pub(crate) fn none() -> Self {
        Self(Arc::new(Matcher::builder().build()))
    }

    /// Uses one proxy for all servers but some.
    pub(crate) fn all(url: &str, except: &str) -> Result<Self, Error> {
        let matcher = Matcher::builder().all(url).no(except).build();
        // One that cannot be read would be passed by in silence.
        let all = Matcher::builder().all(url).build();
        match all.intercept(&Uri::from_static("http://server.example/")) {
            Some(proxy) if proxy.uri().scheme() == Some(&Scheme::HTTP) && !uri::host(proxy.uri()).is_empty() => {
                Ok(Self(Arc::new(matcher)))
            }
            // What is wrong with it may be the password in it.
            _ => Err(Error::new(ErrorKind::Config, "the address of the proxy is not `http://` with a host")),
        }
    }

    fn on_the_way_to(&self, server: &Uri) -> Option<Intercept> {
        if is_loopback(server) { None } else { self.0.intercept(server) }
    }

    /// Whether a proxy is on the way to a server.
    pub(crate) fn has_proxy(&self, server: &Uri) -> bool {
        self.on_the_way_to(server).is_some()
    }

    /// The login for a proxy that reads the request itself, which it does without TLS.
    pub(crate) fn login(&self, server: &Uri) -> Option<HeaderValue> {
        if server.scheme() != Some(&Scheme::HTTP) {
            return None;
        }
        self.on_the_way_to(server)?.basic_auth().cloned()
    }
}

/// Opens connections, through a proxy where there is one.
#[derive(Clone, Debug)]
pub(crate) struct Proxied {
    proxies: Proxies,
    gate: Gate,
}

impl Proxied {
    pub(crate) fn new(proxies: Proxies, gate: Gate) -> Self {
        Self { proxies, gate }
    }
}

impl Service<Uri> for Proxied {
    type Response = Stream;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Stream, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let Self { proxies, gate } = self.clone();
        Box::pin(async move {
            gate.check(&server)?;
            let Some(proxy) = proxies.on_the_way_to(&server) else {
                return Ok(Stream::new(gate.connector(&server).call(server).await?, false));
            };
            if proxy.uri().scheme() != Some(&Scheme::HTTP) {
                return Err(format!("the proxy `{}` is not an http proxy", proxy.uri()).into());
            }
            // Where the proxy itself is, is not the server's doing.
            let mut direct = Gate::default().connector(proxy.uri());
            let place =
                proxy.uri().authority().map_or("", |a| a.as_str()).rsplit('@').next().unwrap_or_default().to_owned();
            let at_proxy = |cause: Failure| ProxyFailure { proxy: place, cause };
            if server.scheme() == Some(&Scheme::HTTP) {
                let io = direct.call(proxy.uri().clone()).await.map_err(|e| at_proxy(e.into()))?;
                return Ok(Stream::new(io, true));
            }
            let mut tunnel = Tunnel::new(proxy.uri().clone(), direct);
            if let Some(login) = proxy.basic_auth() {
                tunnel = tunnel.with_auth(login.clone());
            }
            let io = tunnel.call(server).await.map_err(|e| at_proxy(e.into()))?;
            Ok(Stream::new(io, false))
        })
    }
}

/// A connection, and whether there is a proxy at its end that reads the requests.
///
/// A server may answer before it has read the whole request, and close. Then writing fails, but the answer is there to
/// be read; so bytes that cannot be written any more are dropped.
#[derive(Debug)]
pub(crate) struct Stream {
    io: TokioIo<TcpStream>,
    reads_requests: bool,
    /// Whether the peer does not read any more.
    is_unread: bool,
    is_vectored: bool,
}

impl Stream {
    fn new(io: TokioIo<TcpStream>, reads_requests: bool) -> Self {
        Self { io, reads_requests, is_unread: false, is_vectored: true }
    }

    /// Copies small pieces together before they are written, as HTTP/2 does without vectored writes: then small requests
    /// share a write.
    pub(crate) fn without_vectored_writes(self) -> Self {
        Self { is_vectored: false, ..self }
    }

    /// The result of writing so many bytes.
    fn wrote(&mut self, outcome: Poll<io::Result<usize>>, length: usize) -> Poll<io::Result<usize>> {
        match outcome {
            Poll::Ready(Err(error)) if is_gone(error.kind()) => {
                self.is_unread = true;
                Poll::Ready(Ok(length))
            }
            outcome => outcome,
        }
    }
}

/// Whether the peer is gone.
fn is_gone(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted)
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        self.io.inner().connected().proxy(self.reads_requests)
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.io).poll_read(cx, into) {
            // What was there has been read.
            Poll::Ready(Err(error)) if self.is_unread && is_gone(error.kind()) => Poll::Ready(Ok(())),
            outcome => outcome,
        }
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_unread {
            return Poll::Ready(Ok(bytes.len()));
        }
        let outcome = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.wrote(outcome, bytes.len())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.is_vectored && self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = bytes.iter().map(|piece| piece.len()).sum();
        if self.is_unread {
            return Poll::Ready(Ok(length));
        }
        let outcome = Pin::new(&mut self.io).poll_write_vectored(cx, bytes);
        self.wrote(outcome, length)
    }
}
