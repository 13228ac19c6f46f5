//! The built-in listener, for servers without a web framework.

pub(crate) mod slow_peers;
pub(crate) mod socket;

use std::{fmt, future::poll_fn, io, net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind, Limits, Service, Transport};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::JoinSet,
};

use super::{endpoint::Endpoint, limits::HttpLimits, request::Answering};
#[cfg(unix)]
use crate::server::listen::socket::unix::Unix;
use crate::server::{
    listen::{
        slow_peers::TimeoutStream,
        socket::{Listen, Tcp},
    },
    request::access_log::Access,
    response,
};

/// Returns a transport that listens at an address, with HTTP/1.1 and HTTP/2.
///
/// The endpoint is at `/mcp`, the authorizer's metadata at its own path, and `/health` answers 200 while the server runs.
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
#[cfg(unix)]
pub fn listen_unix(path: impl Into<PathBuf>) -> HttpTransport {
    HttpTransport::new(Place::Unix(path.into())).endpoint(Endpoint::allow_any_host)
}

/// An HTTP transport for `Server::serve`; see [`listen()`].
pub struct HttpTransport {
    place: Place,
    path: String,
    limits: HttpLimits,
    configure: Vec<Box<dyn FnOnce(Endpoint) -> Endpoint + Send>>,
    shutdown: Shutdown,
    signals: Vec<BoxFuture<'static, ()>>,
    grace: Duration,
    #[cfg(unix)]
    mode: u32,
}

enum Place {
    Address(String),
    Listener(TcpListener),
    #[cfg(unix)]
    Unix(PathBuf),
}

impl HttpTransport {
    fn new(place: Place) -> Self {
        Self {
            place,
            path: "/mcp".to_owned(),
            limits: HttpLimits::default(),
            configure: Vec::new(),
            shutdown: Shutdown(watch::channel(false).0),
            signals: Vec::new(),
            grace: Duration::from_secs(10),
            #[cfg(unix)]
            mode: 0o600,
        }
    }

    /// Creates a transport from a bound listener.
    pub fn from_listener(listener: TcpListener) -> Self {
        Self::new(Place::Listener(listener))
    }

    /// Sets the path of the endpoint (default: `/mcp`).
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the limits of the endpoint and the listener.
    #[must_use]
    pub fn limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Configures the endpoint.
    #[must_use]
    pub fn endpoint(mut self, configure: impl FnOnce(Endpoint) -> Endpoint + Send + 'static) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Sets the grace period for running calls after a shutdown (default: 10 seconds).
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Shuts down gracefully when a future completes, such as one that waits for Ctrl-C: the listener closes, running
    /// calls finish within [`HttpTransport::grace`], open streams end.
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
        self.mode = mode;
        self
    }

    /// Returns a handle that triggers a graceful shutdown.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }
}

/// Triggers a graceful shutdown: the listener closes, running calls finish, open streams end. Clones are the same.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Sender<bool>);

impl Shutdown {
    /// Begins the shutdown.
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
        let site = Site { path: self.path.into(), endpoint };
        let end = self.shutdown.0.subscribe();
        let limits = &site.endpoint.config.limits;
        let half_open = limits.half_open.max(limits.stall);
        Box::pin(async move {
            // Without the sender the receiver would see the end.
            let shutdown = self.shutdown;
            // Dropping the set aborts them.
            let mut signals = JoinSet::new();
            for signal in self.signals {
                let shutdown = shutdown.clone();
                signals.spawn(async move {
                    signal.await;
                    shutdown.trigger();
                });
            }
            match self.place {
                Place::Address(address) => {
                    let listener = TcpListener::bind(&address).await.map_err(|e| refused(&address, e))?;
                    run(Tcp::new(listener, half_open), site, end, self.grace).await
                }
                Place::Listener(listener) => run(Tcp::new(listener, half_open), site, end, self.grace).await,
                #[cfg(unix)]
                Place::Unix(path) => {
                    let listener = Unix::bind(&path, self.mode).map_err(|e| refused(&path.display().to_string(), e))?;
                    let done = run(listener, site, end, self.grace).await;
                    let _ = std::fs::remove_file(&path);
                    done
                }
            }
        })
    }
}

fn refused(place: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("cannot listen at `{place}`")).with_source(error)
}

async fn run<L: Listen>(
    mut listener: L,
    site: Site,
    mut end: watch::Receiver<bool>,
    grace: Duration,
) -> Result<(), Error> {
    site.endpoint.run_background();
    let limits = site.endpoint.config.limits.clone();
    let room = Arc::new(Semaphore::new(limits.connections));
    let server = server(&limits);
    let open = GracefulShutdown::new();
    // Dropping the set closes the remaining connections.
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = room.clone().acquire_owned().await;
            (listener.accept().await, permit)
        };
        let Some((stream, permit)) = unless(&mut end, &mut connections, next).await else { break };
        let remote;
        let stream = match stream {
            Ok((stream, address)) => {
                remote = address;
                TokioIo::new(TimeoutStream::new(stream, limits.header_time, limits.stall))
            }
            Err(error) => {
                // Usually the process is out of file descriptors, until connections close.
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let site = site.clone();
        let answer = hyper::service::service_fn(move |request| site.answer(request, remote));
        let connection = open.watch(server.serve_connection(stream, answer).into_owned());
        connections.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended badly");
            }
            drop(permit);
        });
    }
    drop(listener);
    site.endpoint.shut_down();
    if tokio::time::timeout(grace, open.shutdown()).await.is_err() {
        tracing::warn!("some connections were still busy and are cut off");
    }
    site.endpoint.release_sessions().await;
    Ok(())
}

/// Waits for a future, but not beyond the shutdown. Closed connections are removed meanwhile: until then they use as much
/// memory as open ones.
async fn unless<T>(
    end: &mut watch::Receiver<bool>,
    connections: &mut JoinSet<()>,
    next: impl Future<Output = T>,
) -> Option<T> {
    let (mut end, mut next) = (pin!(end.wait_for(|over| *over)), pin!(next));
    poll_fn(|cx| {
        while let Poll::Ready(Some(_)) = connections.poll_join_next(cx) {}
        match end.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => next.as_mut().poll(cx).map(Some),
        }
    })
    .await
}

fn server(limits: &HttpLimits) -> auto::Builder<TokioExecutor> {
    /// The minimum of hyper.
    const LEAST: usize = 8192;
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.headers.max(LEAST));
    server
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.http2_streams)
        .max_header_list_size(limits.headers.try_into().unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(20)
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.stall);
    server
}

/// The paths of the listener.
#[derive(Clone)]
struct Site {
    path: Arc<str>,
    endpoint: Endpoint,
}

impl Site {
    fn answer(&self, request: Request<Incoming>, remote: Option<SocketAddr>) -> Answering {
        match request.uri().path() {
            path if path == &*self.path || self.endpoint.has_document(path) => self.endpoint.call_from(request, remote),
            "/health" => Answering::ready(response::empty(StatusCode::OK)),
            _ => {
                let mut reply = response::empty(StatusCode::NOT_FOUND);
                if let Some(access) = Access::begin(request.method(), request.uri()) {
                    access.ends_with(&mut reply);
                }
                Answering::ready(reply)
            }
        }
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("path", &self.path).field("limits", &self.limits).finish_non_exhaustive()
    }
}
