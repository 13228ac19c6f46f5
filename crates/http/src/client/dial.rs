//! Opening connections: to allowed addresses only, and with a timeout.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use couplet_core::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::{
    HttpConnector,
    dns::{GaiResolver, Name},
};
use tokio::time::timeout;
use tower_service::Service;

use super::uri::{host, port};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The timeout for a connection, with its TLS and a proxy on the way.
const CONNECT: Duration = Duration::from_secs(10);

/// The idle time before the system probes whether the peer is still there.
const SILENCE: Duration = Duration::from_secs(60);

/// The addresses that connections may be opened to.
#[derive(Clone, Default)]
pub(crate) struct Gate(Option<Arc<dyn Fn(SocketAddr) -> bool + Send + Sync>>);

impl Gate {
    pub(crate) fn new(allows: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(allows)))
    }

    fn allows(&self, address: SocketAddr) -> bool {
        self.0.as_ref().is_none_or(|allows| allows(address))
    }

    /// Checks a server that is named by its address, which is never looked up.
    pub(crate) fn check(&self, server: &Uri) -> Result<(), Failure> {
        match host(server).parse::<IpAddr>() {
            Ok(ip) if !self.allows(SocketAddr::new(ip, port(server).unwrap_or_default())) => Err(forbidden().into()),
            _ => Ok(()),
        }
    }

    /// Returns a connector for this server, which opens connections to allowed addresses only.
    pub(crate) fn connector(&self, server: &Uri) -> HttpConnector<Names> {
        let names = Names { resolver: GaiResolver::new(), gate: self.clone(), port: port(server).unwrap_or_default() };
        let mut connector = HttpConnector::new_with_resolver(names);
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_keepalive(Some(SILENCE));
        connector.set_connect_timeout(Some(CONNECT));
        connector
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("open", &self.0.is_none()).finish()
    }
}

fn forbidden() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "the program does not allow connections to its address")
}

/// Looks names up, and leaves out addresses that are not allowed.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    resolver: GaiResolver,
    gate: Gate,
    port: u16,
}

impl Service<Name> for Names {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.resolver.poll_ready(cx)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, gate, port) = (self.resolver.call(name), self.gate.clone(), self.port);
        Box::pin(async move {
            let found = found.await?.map(|address| SocketAddr::new(address.ip(), port));
            let allowed: Vec<_> = found.filter(|address| gate.allows(*address)).collect();
            if allowed.is_empty() { Err(forbidden()) } else { Ok(allowed.into_iter()) }
        })
    }
}

/// A connector with a timeout.
#[derive(Clone, Debug)]
pub(crate) struct Timed<C>(pub(crate) C);

impl<C> Service<Uri> for Timed<C>
where
    C: Service<Uri>,
    C::Future: Future<Output = Result<C::Response, Failure>> + Send + 'static,
{
    type Response = C::Response;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<C::Response, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connection = self.0.call(server);
        Box::pin(async move {
            timeout(CONNECT, connection).await.unwrap_or_else(|_| {
                let late = format!("no connection within {} s", CONNECT.as_secs());
                Err(io::Error::new(io::ErrorKind::TimedOut, late).into())
            })
        })
    }
}
