//! The built-in listener, for servers without a web framework.

pub(crate) mod forwarded;
pub(crate) mod network;
mod proxy_protocol;
pub(crate) mod routes;
mod run;
mod site;
pub(crate) mod slow_peers;
pub(crate) mod socket;
mod streams;

use std::{fmt, io, path::PathBuf, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind, Limits, Service, Transport};
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use super::{endpoint::Endpoint, limits::HttpLimits};
#[cfg(feature = "metrics")]
use crate::server::listen::run::serve_always;
#[cfg(unix)]
use crate::server::listen::socket::unix::{SocketAccess, Unix};
use crate::server::listen::{
    forwarded::TrustedProxies,
    network::Network,
    routes::Routes,
    run::{Lifecycle, run},
    site::{ProxyTrust, Site},
    socket::Tcp,
};

/// Returns a transport that listens at an address, with HTTP/1.1 and HTTP/2.
///
/// The endpoint is at `/mcp`, the authorizer's metadata at its own path. `/health` answers 200 while the process runs;
/// `/ready` answers 200 while the server accepts work, and 503 from the moment a shutdown begins and while a check of
/// [`Endpoint::ready_when`] fails.
///
/// ```no_run
/// use couplet_http::listen;
/// use couplet_server::{Server, tool};
///
/// # async fn run() -> Result<(), couplet_core::Error> {
/// Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).serve(listen("127.0.0.1:8080")).await
/// # }
/// ```
pub fn listen(address: impl Into<String>) -> HttpTransport {
    HttpTransport::new(Place::Address(address.into()))
}

/// Returns a transport that listens on a Unix domain socket. Only the user that runs the server can connect, unless
/// [`HttpTransport::socket_mode`] allows more.
///
/// Requests may name any host, because no web page can reach the socket. A client connects through a reverse proxy, or
/// with an [`HttpClient`](crate::client::HttpClient) of its own.
///
/// # Errors
/// Serving fails if something listens on the socket already, or if the file cannot be created or given its mode.
///
/// ```no_run
/// use couplet_http::{listen_unix, server::{Network, TrustedProxies}};
/// use couplet_server::{Server, tool};
///
/// # async fn run() -> Result<(), couplet_core::Error> {
/// // For an nginx of the group 33 on the same machine, whose `X-Forwarded-For` is believed.
/// let transport = listen_unix("/run/hello/mcp.sock")
///     .socket_mode(0o660)
///     .socket_group(33)
///     .trust_proxy(TrustedProxies::new([Network::UNIX]));
/// Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).serve(transport).await
/// # }
/// ```
#[cfg(unix)]
pub fn listen_unix(path: impl Into<PathBuf>) -> HttpTransport {
    HttpTransport::new(Place::Unix(path.into())).endpoint(Endpoint::allow_any_host)
}

/// An HTTP transport for `Server::serve`; see [`listen()`].
#[doc = include_str!("../../docs/listening.md")]
pub struct HttpTransport {
    place: Place,
    path: String,
    limits: HttpLimits,
    configure: Vec<Box<dyn FnOnce(Endpoint) -> Endpoint + Send>>,
    listening: Vec<Box<dyn FnOnce() + Send>>,
    shutdown: Shutdown,
    signals: Vec<BoxFuture<'static, ()>>,
    proxies: ProxyTrust,
    routes: Routes,
    metrics: Option<String>,
    #[cfg(feature = "metrics")]
    metrics_listener: Option<TcpListener>,
    lame_duck: Duration,
    grace: Duration,
    #[cfg(unix)]
    access: SocketAccess,
}

enum Place {
    Address(String),
    Listener(TcpListener),
    #[cfg(unix)]
    Unix(PathBuf),
    #[cfg(unix)]
    UnixListener(tokio::net::UnixListener),
}

impl HttpTransport {
    fn new(place: Place) -> Self {
        Self {
            place,
            path: "/mcp".to_owned(),
            limits: HttpLimits::default(),
            configure: Vec::new(),
            listening: Vec::new(),
            shutdown: Shutdown(watch::channel(false).0),
            signals: Vec::new(),
            proxies: ProxyTrust::default(),
            routes: Routes::new(),
            metrics: None,
            #[cfg(feature = "metrics")]
            metrics_listener: None,
            lame_duck: Duration::ZERO,
            grace: Duration::from_secs(10),
            #[cfg(unix)]
            access: SocketAccess { mode: 0o600, group: None },
        }
    }

    /// Creates a transport from a bound listener, for instance with a port of the system's choice:
    ///
    /// ```
    /// use couplet_http::server::HttpTransport;
    /// use tokio::net::TcpListener;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), couplet_core::Error> {
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let url = format!("http://{}/mcp", listener.local_addr()?);
    /// let transport = HttpTransport::from_listener(listener);
    /// # drop((url, transport));
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_listener(listener: TcpListener) -> Self {
        Self::new(Place::Listener(listener))
    }

    /// Creates a transport from a bound listener of a Unix domain socket, such as one that a service manager passes. Its
    /// file is not removed at the end. Requests may name any host.
    ///
    /// [`HttpTransport::socket_mode`] and [`HttpTransport::socket_group`] have no effect: the file is there already.
    #[cfg(unix)]
    pub fn from_unix_listener(listener: tokio::net::UnixListener) -> Self {
        Self::new(Place::UnixListener(listener)).endpoint(Endpoint::allow_any_host)
    }

    /// Sets the path of the endpoint (default: `/mcp`). It is compared as it is, so `/mcp/` is another one.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the limits of the endpoint and the listener. The endpoint gets them before
    /// [`HttpTransport::endpoint`] configures it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use couplet_http::{listen, server::HttpLimits};
    ///
    /// let limits = HttpLimits::default().connections(1_000).header_time(Duration::from_secs(5));
    /// let transport = listen("0.0.0.0:8080").limits(limits);
    /// # drop(transport);
    /// ```
    #[must_use]
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Configures the endpoint: hosts, origins, authorization, stores. Several functions are applied in their order.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use couplet_http::{listen, server::MemoryEvents};
    ///
    /// let transport = listen("0.0.0.0:8080").endpoint(|endpoint| {
    ///     endpoint.allow_host("mcp.example.com").events(Arc::new(MemoryEvents::with_bounds(512, 8 << 20, 256 << 20)))
    /// });
    /// # drop(transport);
    /// ```
    #[must_use]
    pub fn endpoint(mut self, configure: impl FnOnce(Endpoint) -> Endpoint + Send + 'static) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Serves further endpoints at paths of their own, each with its own limits (default: none). The limits of
    /// connections are those of the transport, and `/ready` is about the transport's own endpoint.
    #[must_use]
    pub fn routes(mut self, routes: &Routes) -> Self {
        self.routes = routes.clone();
        self
    }

    /// Sets the reverse proxies whose headers name the client (default: none). The client's address is in the access log
    /// and in [`HttpRequest::client_ip`](crate::server::HttpRequest::client_ip), and limits of addresses count it.
    ///
    /// The header `Host` is checked as it arrives: allow the public name with [`Endpoint::allow_host`].
    #[must_use]
    pub fn trust_proxy(mut self, proxies: TrustedProxies) -> Self {
        self.proxies.by_header = proxies;
        self
    }

    /// Sets the load balancers whose connections begin with a header of the PROXY protocol, version 1 or 2 (default:
    /// none). A connection of theirs without such a header, or with a malformed one, is closed; connections of other peers
    /// have no header.
    ///
    /// ```
    /// use couplet_http::listen;
    ///
    /// # fn main() -> Result<(), couplet_core::Error> {
    /// let transport = listen("0.0.0.0:8080").proxy_protocol(["10.0.0.7".parse()?]);
    /// # drop(transport);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn proxy_protocol(mut self, peers: impl IntoIterator<Item = Network>) -> Self {
        self.proxies.by_connection = peers.into_iter().collect();
        self
    }

    /// Serves the [metrics](Endpoint::metrics) at a path of the same address (default: nowhere). Anyone who can connect can
    /// read them: see [`HttpTransport::metrics_listener`] for another address.
    ///
    /// As with the endpoint, requests must name a loopback name or an allowed host; an IP address is allowed too. The names and
    /// labels are in a table of [`Endpoint::metrics`].
    ///
    /// ```
    /// use couplet_http::listen;
    ///
    /// let transport = listen("127.0.0.1:8080").metrics("/metrics");
    /// # drop(transport);
    /// ```
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics(mut self, path: impl Into<String>) -> Self {
        self.metrics = Some(path.into());
        self
    }

    /// Serves `/metrics`, `/health` and `/ready` at a listener of their own, until the serving is over.
    ///
    /// ```no_run
    /// use couplet_http::listen;
    /// use couplet_server::Server;
    ///
    /// # async fn run() -> Result<(), couplet_core::Error> {
    /// let metrics = tokio::net::TcpListener::bind("127.0.0.1:9464").await?;
    /// Server::<()>::new("hello", "1.0.0").serve(listen("0.0.0.0:8080").metrics_listener(metrics)).await
    /// # }
    /// ```
    #[cfg(feature = "metrics")]
    #[must_use]
    pub fn metrics_listener(mut self, listener: TcpListener) -> Self {
        self.metrics_listener = Some(listener);
        self
    }

    /// Sets the grace period for running calls after a shutdown (default: 10 seconds). Calls that still run afterwards
    /// are cut off: their handlers' futures are dropped. It should be shorter than the time after which the process is
    /// killed, less the [lame-duck time](HttpTransport::lame_duck).
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Calls a function once the socket listens, such as one that notifies a service manager. Several are called in
    /// their order; none is called if the address cannot be bound.
    ///
    /// ```
    /// use couplet_http::server::HttpTransport;
    /// use couplet_server::{Server, tool};
    /// use tokio::{net::TcpListener, sync::oneshot};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), couplet_core::Error> {
    /// let (ready, is_ready) = oneshot::channel();
    /// let transport = HttpTransport::from_listener(TcpListener::bind("127.0.0.1:0").await?).on_listening(move || {
    ///     let _ = ready.send(()); // or: `sd_notify::notify(..)`
    /// });
    /// let shutdown = transport.shutdown();
    /// let serving = tokio::spawn(Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).serve(transport));
    /// is_ready.await.expect("the socket listens");
    /// shutdown.trigger();
    /// serving.await.expect("the server does not panic")?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on_listening(mut self, notify: impl FnOnce() + Send + 'static) -> Self {
        self.listening.push(Box::new(notify));
        self
    }

    /// Sets the lame-duck time (default: none): for that long after a shutdown began, `/ready` answers 503 and everything
    /// else is served as before, so that a load balancer notices before the listener closes. The grace period follows.
    ///
    /// It should be longer than the time in which the load balancer notices: the interval of its health checks times the
    /// number of failed checks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use couplet_http::listen;
    ///
    /// let transport = listen("0.0.0.0:8080").lame_duck(Duration::from_secs(15)).grace(Duration::from_secs(30));
    /// # drop(transport);
    /// ```
    #[must_use]
    pub fn lame_duck(mut self, time: Duration) -> Self {
        self.lame_duck = time;
        self
    }

    /// Shuts down gracefully when a future completes, such as one that waits for Ctrl-C: after the
    /// [lame-duck time](HttpTransport::lame_duck) the listener closes, running calls finish within
    /// [`HttpTransport::grace`], open streams end.
    ///
    /// ```no_run
    /// use couplet_http::listen;
    /// use couplet_server::{Server, tool};
    ///
    /// # async fn run(terminated: impl Future<Output = ()> + Send + 'static) -> Result<(), couplet_core::Error> {
    /// let transport = listen("127.0.0.1:8080").with_graceful_shutdown(terminated);
    /// Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).serve(transport).await
    /// # }
    /// ```
    #[must_use]
    pub fn with_graceful_shutdown(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.signals.push(Box::pin(signal));
        self
    }

    /// Sets the permissions of the socket file of [`listen_unix`] (default: `0o600`, only the user that runs the server).
    /// With `0o660` a reverse proxy of the same group can connect.
    #[cfg(unix)]
    #[must_use]
    pub fn socket_mode(mut self, mode: u32) -> Self {
        self.access.mode = mode;
        self
    }

    /// Sets the group of the socket file of [`listen_unix`], by number (default: the group of the process). The user that
    /// runs the server must be a member of it.
    #[cfg(unix)]
    #[must_use]
    pub fn socket_group(mut self, group: u32) -> Self {
        self.access.group = Some(group);
        self
    }

    /// Returns a handle that triggers a graceful shutdown. Take it before the transport is served; dropping it triggers
    /// nothing.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }
}

/// A handle that triggers a graceful shutdown: after the lame-duck time the listener closes, running calls finish, open
/// streams end. Clones are the same.
///
/// ```
/// use couplet_http::listen;
///
/// let transport = listen("127.0.0.1:8080");
/// let shutdown = transport.shutdown();
/// // From anywhere, also before the server runs: it ends as soon as it has begun.
/// shutdown.clone().trigger();
/// # drop(transport);
/// ```
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<bool>);

impl Shutdown {
    /// Begins the shutdown. It returns at once, and does nothing the second time; the future of `serve` ends when the
    /// shutdown is complete.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}

impl Transport for HttpTransport {
    fn serve(self, service: Arc<dyn Service>, connection: Limits) -> BoxFuture<'static, Result<(), Error>> {
        let mut endpoint = Endpoint::from_shared(service).limits(self.limits.clone()).connection_limits(connection);
        for configure in self.configure {
            endpoint = configure(endpoint);
        }
        let site = Site::new(self.path, self.metrics, endpoint, self.proxies, self.routes);
        let lifecycle = Lifecycle {
            listening: self.listening,
            ends: self.shutdown.0.subscribe(),
            lame_duck: self.lame_duck,
            grace: self.grace,
        };
        let limits = site.limits();
        let half_open = limits.half_open.max(limits.stall);
        Box::pin(async move {
            // Without the sender the receiver would see the end.
            let shutdown = self.shutdown;
            // Dropping the set aborts what it contains.
            let mut signals = JoinSet::new();
            for signal in self.signals {
                let shutdown = shutdown.clone();
                signals.spawn(async move {
                    signal.await;
                    shutdown.trigger();
                });
            }
            #[cfg(feature = "metrics")]
            if let Some(listener) = self.metrics_listener {
                let site = site.for_operators("/metrics");
                signals.spawn(async move { drop(serve_always(Tcp::new(listener, half_open), site).await) });
            }
            match self.place {
                Place::Address(address) => {
                    let listener = TcpListener::bind(&address).await.map_err(|e| refused(&address, e))?;
                    run(Tcp::new(listener, half_open), site, lifecycle).await
                }
                Place::Listener(listener) => run(Tcp::new(listener, half_open), site, lifecycle).await,
                #[cfg(unix)]
                Place::Unix(path) => {
                    let listener =
                        Unix::bind(&path, self.access).map_err(|e| refused(&path.display().to_string(), e))?;
                    let done = run(listener, site, lifecycle).await;
                    let _ = std::fs::remove_file(&path);
                    done
                }
                #[cfg(unix)]
                Place::UnixListener(listener) => run(Unix::from(listener), site, lifecycle).await,
            }
        })
    }
}

fn refused(place: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("cannot listen at `{place}`")).with_source(error)
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("path", &self.path).field("limits", &self.limits).finish_non_exhaustive()
    }
}
