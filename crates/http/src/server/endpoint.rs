//! The endpoint: its configuration and its open sessions and streams.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{Caller, Limits, Outage, PeerCache, ServerConnection, Service, clock::unix_time};
use http::{StatusCode, Version, request::Parts};
use tokio::{runtime::Handle, task::JoinSet, time::Instant};

use super::{limits::HttpLimits, lock};
#[cfg(feature = "replicas")]
use super::{
    replica::{Replica, Replicas},
    request::claim_types::ClaimTypes,
};
use crate::server::{
    metrics::Metrics,
    request::{
        allow_list::AllowList,
        authorize::{Authorize, Named},
        client::ClientIp,
        deadline::Timed,
        guard::Guard,
        quota::Quotas,
        readiness::Readiness,
    },
    response::{self, Reply},
    session::{
        claim::Claims,
        http_sse::Sessions2024,
        store::{Node, SessionStore},
        store_timeout::SharedStore,
        table::Sessions,
    },
    stateless::pool::Pool,
    stream::{
        chunks::{Chunks, Waiting},
        event_store::EventStore,
        memory_events::MemoryEvents,
        open_streams::{Held, Streams, Ticket},
        unsent::InFlight,
    },
};

/// An MCP server as a `tower_service::Service`, for every revision at one URL. Mount it in axum or hyper.
///
/// # Hosts and origins
///
/// By default it answers only requests whose `Host` is a loopback name, and whose `Origin` is absent or a loopback
/// page: a page in a user's browser must not reach a server on their machine. In production, name the public host with
/// [`Endpoint::allow_host`] and the origins of browser clients with [`Endpoint::allow_origin`]; others get 403.
///
/// # Load balancers and replicas
///
/// Requests of 2026-07-28 are stateless: any replica can answer, if all share the server's `request_state_key`. Older
/// revisions have sessions: share a [`SessionStore`] and an [`EventStore`], so that a session survives its replica, and
/// either forward requests between the replicas (`Endpoint::replica`, with the feature `replicas`) or use sticky routing
/// by `Mcp-Session-Id`. Or do [without sessions](Endpoint::without_sessions). A stream is never silent for longer than
/// [`HttpLimits::keep_alive`], which must be shorter than the idle timeout of the load balancer.
///
/// # Runtime
///
/// It must be served within a tokio runtime. [`Endpoint::shut_down`] drains it; [`listen`](crate::listen()) does so
/// with a graceful shutdown of the listener. [`Endpoint::is_ready`] is for health checks.
///
/// ```
/// use couplet_http::server::Endpoint;
/// use couplet_server::{Server, tool};
///
/// let server = Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).build();
/// let endpoint = Endpoint::new(server).allow_host("mcp.example.com");
/// // With axum: `Router::new().route_service("/mcp", endpoint)`
/// # let _ = endpoint;
/// ```
#[doc = include_str!("../docs/embedding.md")]
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) config: Arc<Config>,
    pub(crate) state: Arc<State>,
}

#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) service: Arc<dyn Service>,
    /// The same with the request timeout.
    timed: Arc<dyn Service>,
    pub(crate) limits: HttpLimits,
    /// SharedStore by all connections.
    pub(crate) connection: Arc<Limits>,
    pub(crate) guard: Guard,
    pub(crate) http_sse: bool,
    pub(crate) without_sessions: bool,
    pub(crate) authorize: Option<Arc<dyn Authorize>>,
    pub(crate) shared: Option<SharedStore>,
    #[cfg(feature = "replicas")]
    pub(crate) replicas: Option<Arc<Replicas>>,
    pub(crate) events: Arc<dyn EventStore>,
    /// Whether the stores of sessions and events are away.
    pub(crate) outage: Arc<Outage>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) readiness: Readiness,
    pub(crate) metrics: Metrics,
    pub(crate) client_ip: Option<ClientIp>,
    #[cfg(feature = "cards")]
    pub(crate) card: Option<super::card::CardPlace>,
    #[cfg(feature = "inspector")]
    pub(crate) inspector: bool,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) sessions: Sessions,
    pub(crate) claims: Claims,
    pub(crate) sessions_2024: Sessions2024,
    pub(crate) streams: Arc<Streams>,
    /// Large responses in transit over HTTP/2.
    large: Arc<Streams>,
    pub(crate) requests: AtomicUsize,
    pub(crate) requests_of: Arc<Quotas>,
    pub(crate) listens_of: Arc<Quotas>,
    /// Those of anonymous callers; the table counts those of principals.
    pub(crate) sessions_of: Arc<Quotas>,
    pub(crate) sessions_2024_of: Arc<Quotas>,
    /// A shutdown has begun; requests may still be served.
    pub(crate) draining: AtomicBool,
    pub(crate) closing: AtomicBool,
    /// Held while sessions are released.
    pub(crate) releasing: tokio::sync::Mutex<()>,
    /// Held while messages for sessions are taken from the store, so that they stay in order.
    #[cfg(feature = "replicas")]
    pub(crate) collecting: tokio::sync::Mutex<()>,
    /// The clients of the latest stateless requests.
    clients: PeerCache,
    last_opening: Mutex<Bytes>,
    looked_after: AtomicBool,
    pub(crate) renews: AtomicBool,
    /// The background work of the service; dropping it ends it.
    background: Mutex<JoinSet<()>>,
}

impl Endpoint {
    /// Creates the endpoint of a service, with the default limits and only loopback hosts.
    ///
    /// A `Server` is a service once it is [built](couplet_core::Service). Within a runtime, the background work of the
    /// service begins at once; otherwise with the first session or stream.
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build());
    /// assert_eq!((endpoint.session_count(), endpoint.stream_count()), (0, 0));
    /// ```
    pub fn new(service: impl Service) -> Self {
        Self::from_shared(Arc::new(service))
    }

    /// Creates the endpoint of a shared service: one that another transport, or another endpoint with other settings,
    /// serves as well.
    ///
    #[doc = include_str!("../docs/from_shared.md")]
    pub fn from_shared(service: Arc<dyn Service>) -> Self {
        let limits = HttpLimits::default();
        let mut connection = Limits::default();
        // Responses may be larger than requests.
        connection.sent = Some(connection.message);
        connection.message = limits.body;
        let metrics = Metrics::default();
        let config = Config {
            timed: Arc::new(Timed::new(service.clone(), limits.request_time, metrics.clone())),
            service,
            limits,
            connection: Arc::new(connection),
            guard: Guard::default(),
            http_sse: false,
            without_sessions: false,
            authorize: None,
            shared: None,
            #[cfg(feature = "replicas")]
            replicas: None,
            events: Arc::new(MemoryEvents::new()),
            outage: Arc::default(),
            pool: Arc::default(),
            in_flight: Arc::default(),
            readiness: Readiness::default(),
            metrics,
            client_ip: None,
            #[cfg(feature = "cards")]
            card: None,
            #[cfg(feature = "inspector")]
            inspector: false,
        };
        let endpoint = Self { config: Arc::new(config), state: Arc::default() };
        endpoint.run_background();
        endpoint
    }

    /// Sets the limits of the endpoint. [`HttpLimits`] has a table of what happens above each.
    ///
    /// With the built-in listener, set them on the transport, which has limits of connections besides.
    ///
    /// ```
    /// use couplet_http::server::{Endpoint, HttpLimits};
    /// use couplet_server::Server;
    ///
    /// let limits = HttpLimits::default().body(64 << 10).sessions_per_principal(10);
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build()).limits(limits);
    /// # drop(endpoint);
    /// ```
    #[must_use]
    pub fn limits(self, limits: HttpLimits) -> Self {
        self.with(|config| {
            config.timed = Arc::new(Timed::new(config.service.clone(), limits.request_time, config.metrics.clone()));
            config.limits = limits;
        })
    }

    /// Sets the limits of each protocol connection: a stateless request has one of its own, a session has one.
    ///
    /// The default is [`Limits::default`] with [`HttpLimits::body`] as the size of a received message, and 16 MiB as
    /// that of a sent one. This function replaces both; with the built-in listener they come from the server.
    ///
    /// ```
    /// use couplet_core::Limits;
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// // At most eight calls of one session run at a time; further ones wait.
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build())
    ///     .connection_limits(Limits::default().running(8));
    /// # drop(endpoint);
    /// ```
    #[must_use]
    pub fn connection_limits(self, limits: Limits) -> Self {
        self.with(|config| config.connection = Arc::new(limits))
    }

    /// Allows a host name, with any port unless one is given: `mcp.example.com`, `localhost:8080`.
    ///
    /// It is compared with the header `Host` and with the authority of the request target, without regard to case.
    /// There are no wildcards; call it for each name. IPv6 addresses are written in brackets. Other names get 403, see
    /// [hosts](crate::server#hosts).
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::Server;
    ///
    /// let endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build())
    ///     .allow_host("mcp.example.com")
    ///     .allow_host("[2001:db8::7]:8080");
    /// # drop(endpoint);
    /// ```
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        self.with(|config| config.guard.hosts.push(host.into()))
    }

    /// Allows any host name. Only for servers behind a proxy that checks it.
    ///
    /// A server on a user's machine must not use it: a web page could then reach the server under a name that its owner
    /// points to `127.0.0.1`. Malformed and repeated `Host` headers are refused all the same, and so are foreign
    /// origins.
    #[must_use]
    pub fn allow_any_host(self) -> Self {
        self.with(|config| config.guard.any_host = true)
    }

    /// Allows browser clients of an origin, like `https://app.example.com`, and enables CORS for it. Loopback origins are
    /// always allowed.
    ///
    /// An origin is a scheme, a host and a port that is not the default one, without a path or a final slash: as the
    /// header `Origin` has it. Other origins get 403, and their preflights no permission; see
    /// [origins](crate::server#origins-and-cors) for the headers.
    ///
    #[doc = include_str!("../docs/allow_origin.md")]
    #[must_use]
    pub fn allow_origin(self, origin: impl Into<String>) -> Self {
        self.with(|config| config.guard.origins.push(origin.into()))
    }

    /// Allows the host names and origins of a list as well, which can change while the endpoint serves.
    #[must_use]
    pub fn allow_list(self, list: &AllowList) -> Self {
        self.with(|config| config.guard.list = list.clone())
    }

    /// Also serves clients of the HTTP+SSE transport of 2024-11-05, which open an event stream first. Off by default.
    ///
    /// Deprecated since 2025-03-26 (SEP-2596), removed three months after that is final at the earliest: newer clients
    /// use Streamable HTTP.
    ///
    /// Such a session is bound to its stream, and so to one process: neither a [session store](Endpoint::sessions) nor
    /// forwarding helps. [`Endpoint::events`] has the messages.
    ///
    #[doc = include_str!("../docs/http_sse.md")]
    #[must_use]
    pub fn http_sse(self) -> Self {
        self.with(|config| config.http_sse = true)
    }

    /// Serves session-based revisions without sessions, for deployments behind a load balancer: no `Mcp-Session-Id` is
    /// issued and any replica can answer any request. Off by default.
    ///
    /// Such clients receive no server requests (elicitation, sampling, roots) and no change notifications, and cancel a
    /// call by closing the connection.
    ///
    /// The revision of a message is the one in its header `MCP-Protocol-Version`, or 2025-03-26 without one. GET and
    /// DELETE get 405 (GET not with [`Endpoint::http_sse`]). An id that a client sends nevertheless is ignored.
    ///
    #[doc = include_str!("../docs/without_sessions.md")]
    #[must_use]
    pub fn without_sessions(self) -> Self {
        self.with(|config| config.without_sessions = true)
    }

    /// Sets the authorizer. It sees each request's head before the body is read, and either identifies the caller or
    /// rejects the request. `couplet_auth::server` has one for OAuth.
    ///
    /// Sessions, tasks and request state belong to the principal that created them. The authorizer's metadata documents
    /// have paths of their own: mount the endpoint there as well.
    ///
    /// A later call replaces an earlier one; [`Authorize::or`] combines two. [`Authorize`] has examples.
    ///
    /// # Panics
    /// Panics if other replicas cannot receive the claims of callers: see `Endpoint::replica`.
    #[must_use]
    #[track_caller]
    pub fn authorize(self, authorize: impl Authorize) -> Self {
        self.with(|config| config.authorize = Some(Arc::new(authorize))).with_claim_types()
    }

    /// Sets the principal from the request's head, for endpoints behind a layer that authenticates. No request is
    /// rejected. It replaces [`Endpoint::authorize`].
    ///
    /// The function must not believe what a client can write: read the extensions that the layer sets, or a header that
    /// a gateway in front overwrites. Tools that require scopes are refused, because such a caller has none.
    ///
    #[doc = include_str!("../docs/principal.md")]
    #[must_use]
    pub fn principal(self, identify: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.authorize(Named(identify))
    }

    /// Sets the session store, so that another replica can take sessions over. By default sessions end with the
    /// process.
    ///
    /// Each session has one owner, the replica that runs its calls. It renews a lease
    /// ([`HttpLimits::session_lease`]); when that has expired, or the owner has shut down, another replica takes the
    /// session over. Running calls are not stored: they end with their replica.
    ///
    /// A request that arrives at another replica than the owner is forwarded, if both have a URL (`Endpoint::replica`, with
    /// the feature `replicas`). Otherwise it gets 503 until the session was not used for the time of a lease: use sticky
    /// routing then. When the store fails, requests that need it get 503; sessions that are here go on until their lease
    /// has expired.
    #[doc = include_str!("../docs/sessions.md")]
    #[must_use]
    pub fn sessions(self, store: Arc<dyn SessionStore>) -> Self {
        self.with(|config| config.shared = Some(config.reachable(SharedStore { store, node: Node::random() })))
    }

    /// Forwards requests for sessions that other replicas own, and accepts those that they forward: any replica can answer
    /// any request, without sticky routing. It needs a store that the replicas share ([`Endpoint::sessions`]), and
    /// usually one for events ([`Endpoint::events`]).
    ///
    /// The URL of the replica must lead to this endpoint and nowhere else, and not through the load balancer.
    /// [`Replica`] says what is forwarded, and has an example.
    ///
    /// # Panics
    /// Panics if the authorizer attaches claims of a type that cannot be sent, and [`Replica::claims`] does not name it.
    #[cfg(feature = "replicas")]
    #[must_use]
    #[track_caller]
    pub fn replica(self, replica: Replica) -> Self {
        let endpoint = self.with(|config| {
            config.replicas = Some(Arc::new(Replicas::new(replica, ClaimTypes::none())));
            config.shared = config.shared.take().map(|shared| config.reachable(shared));
        });
        endpoint.with_claim_types()
    }

    /// The same endpoint, whose replicas know the claims that the authorizer attaches.
    #[track_caller]
    fn with_claim_types(self) -> Self {
        #[cfg(feature = "replicas")]
        if let (Some(replicas), Some(authorize)) = (&self.config.replicas, &self.config.authorize) {
            let replicas = Replicas::new(replicas.replica.clone(), authorize.claim_types());
            return self.with(|config| config.replicas = Some(Arc::new(replicas)));
        }
        self
    }

    /// Sets the store of stream events, for clients that resume a stream (default: in memory).
    #[doc = include_str!("../docs/streams.md")]
    #[must_use]
    pub fn events(self, store: Arc<dyn EventStore>) -> Self {
        self.with(|config| config.events = store)
    }

    /// Returns the number of sessions in this process: those of Streamable HTTP, whether a request uses them or not.
    pub fn session_count(&self) -> usize {
        self.state.sessions.len()
    }

    /// Returns the number of open event streams, of all kinds.
    pub fn stream_count(&self) -> usize {
        self.state.streams.len()
    }

    /// Begins a graceful shutdown: new requests get 503, open streams end, running calls finish. Pending requests to
    /// clients fail: at once, or after five seconds with `Endpoint::replica`, because the other replicas leave answers and
    /// cancellations for this one in the session store. Sessions in a store are released when nothing runs in them any more,
    /// so that other replicas can take them over; see [`Endpoint::release_sessions`] for the others.
    ///
    /// It returns at once, cannot be undone, and does nothing the second time. The whole order, for a web framework:
    ///
    #[doc = include_str!("../docs/shut_down.md")]
    pub fn shut_down(&self) {
        self.shut_down_within(Duration::from_secs(10));
    }

    /// Begins a graceful shutdown of which the end is known: clients have half of the time to answer requests.
    pub(crate) fn shut_down_within(&self, grace: Duration) {
        self.begin_drain();
        self.state.closing.store(true, Ordering::Release);
        if !self.takes_messages() {
            self.state.sessions.cancel_client_requests();
        }
        self.state.streams.end();
        if self.config.shared.is_some() {
            self.release_when_idle(grace / 2);
        }
    }

    /// Waits for the work that the service does without a request, and hands over to other replicas what it can: tasks, and
    /// calls with an idempotency key whose client is gone. After `grace`, what is left is given up. Call it after
    /// [`Endpoint::shut_down`], beside the graceful shutdown of the connections; the built-in listener does.
    ///
    /// The future does not borrow the endpoint. Dropped, it waits no longer, and gives nothing up.
    pub fn drain(&self, grace: Duration) -> impl Future<Output = ()> + Send + use<> {
        /// The time to give up what is left.
        const LAST: Duration = Duration::from_secs(5);
        let draining = self.config.service.drain(grace);
        async move {
            if let Some(draining) = draining
                && tokio::time::timeout(grace.saturating_add(LAST), draining).await.is_err()
            {
                tracing::warn!("the service has not been drained in time");
            }
        }
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        let config = Arc::make_mut(&mut self.config);
        change(config);
        // Pooled connections have the old configuration.
        config.pool = Arc::default();
        self
    }

    /// Creates a protocol connection.
    pub(crate) fn connection(&self, caller: Option<Arc<Caller>>) -> ServerConnection {
        let connection = ServerConnection::new(self.config.timed.clone(), self.config.connection.clone());
        let mut connection = connection.with_peer_cache(&self.state.clients);
        connection.set_caller(caller);
        connection
    }

    /// Opens a stream. It ends when the caller expires.
    ///
    /// # Errors
    /// The response if there are too many.
    pub(crate) fn ticket(&self, held: &Arc<dyn Held>, caller: Option<&Arc<Caller>>) -> Result<Arc<Ticket>, Box<Reply>> {
        let (streams, limits) = (&self.state.streams, &self.config.limits);
        let own = || response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many open streams");
        let all = || response::busy(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open");
        let principal = caller.map(|caller| caller.principal());
        let share = streams.share(principal, limits.streams_per_principal).ok_or_else(own)?;
        let until = caller.and_then(|caller| caller.expires()).and_then(instant);
        let ticket = streams.open(limits.streams, Arc::downgrade(held), share, until).ok_or_else(all)?;
        self.look_after();
        Ok(ticket)
    }

    /// Counts a response until it is sent, and drops a large one that is not read.
    pub(crate) fn hold(&self, reply: &mut Reply, version: Version) {
        let body = reply.body_mut();
        body.count(&self.config.in_flight);
        // Over HTTP/1.1 a slow reader blocks its own connection, which is then closed.
        if version != Version::HTTP_2 || !body.is_large() {
            return;
        }
        let large = &self.state.large;
        let waiting = Arc::new(Waiting::new(body.take()));
        let held: Arc<dyn Held> = waiting.clone();
        let ticket = large.share(None, 0).and_then(|share| large.open(usize::MAX, Arc::downgrade(&held), share, None));
        if let Some(ticket) = ticket {
            body.cut(Chunks::new(waiting, ticket));
            self.look_after();
        }
    }

    /// Starts the background work of the service, for as long as the endpoint exists, unless it runs already. Outside of a
    /// runtime it starts later: with the listener, or with the first session or stream.
    pub(crate) fn run_background(&self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut background = lock(&self.state.background);
        if background.is_empty()
            && let Some(work) = self.config.service.background()
        {
            background.spawn_on(work, &runtime);
        }
    }

    /// Starts the task that enforces timeouts, for as long as there is a session or stream.
    pub(crate) fn look_after(&self) {
        if self.state.looked_after.swap(true, Ordering::SeqCst) {
            return;
        }
        self.run_background();
        let limits = &self.config.limits;
        let shortest = limits.handshake.min(limits.idle).min(limits.stall).min(limits.keep_alive);
        let pause = (shortest / 3).clamp(Duration::from_millis(10), Duration::from_secs(5));
        let (config, state) = (self.config.clone(), Arc::downgrade(&self.state));
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(state) = state.upgrade() else { return };
                state.streams.sweep(config.limits.keep_alive + config.limits.stall);
                state.large.sweep(config.limits.keep_alive + config.limits.stall);
                let here = Self { config: config.clone(), state };
                here.expire(&here.state.sessions.expired(&config.limits)).await;
                if here.state.is_empty() {
                    here.state.looked_after.store(false, Ordering::SeqCst);
                    // A session may have been opened meanwhile, and have found the task running.
                    if here.state.is_empty() || here.state.looked_after.swap(true, Ordering::SeqCst) {
                        return;
                    }
                }
            }
        });
    }
}

impl Config {
    /// The same store, in which this replica has its URL.
    fn reachable(&self, shared: SharedStore) -> SharedStore {
        #[cfg(feature = "replicas")]
        if let Some(replicas) = &self.replicas {
            let node = shared.node.with_url(replicas.replica.url.clone());
            return SharedStore { node, ..shared };
        }
        shared
    }
}

/// Converts seconds since the Unix epoch; `None` if that is too far in the future.
fn instant(seconds: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_secs(seconds).saturating_sub(unix_time()))
}

impl State {
    /// Copies the message that opens a session. Equal messages share one copy.
    pub(crate) fn opening(&self, text: &Bytes) -> Bytes {
        let mut last = lock(&self.last_opening);
        if *last != text {
            *last = Bytes::copy_from_slice(text);
        }
        last.clone()
    }

    fn is_empty(&self) -> bool {
        self.sessions.len() == 0 && self.streams.len() == 0 && self.large.len() == 0
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("service", &self.config.service)
            .field("sessions", &self.session_count())
            .field("streams", &self.stream_count())
            .finish_non_exhaustive()
    }
}
