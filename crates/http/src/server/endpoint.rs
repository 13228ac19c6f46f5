//! The endpoint: how it is configured, and what it has open.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use couplet_core::{Caller, Limits, PeerCache, ServerConnection, Service};
use http::{StatusCode, Version, request::Parts};
use tokio::time::Instant;

use super::{limits::HttpLimits, lock};
use crate::server::{
    request::{
        authorize::{Authorize, Named},
        deadline::Timed,
        guard::Guard,
        quota::Shares,
    },
    response::{self, Reply},
    session::{
        http_sse::Sessions2024,
        store::{Nowhere, SessionStore},
        table::Sessions,
    },
    stateless::pool::Spare,
    stream::{
        chunks::{Chunks, Waiting},
        event_store::{EventStore, MemoryEvents},
        open_streams::{Held, Streams, Ticket},
        unsent::InFlight,
    },
};

/// A server as an HTTP service, for every revision at one address: mount it in axum or hyper.
///
/// It answers only requests to this machine by one of its own names, and from pages of this machine or from no page at
/// all; say with [`Endpoint::allow_host`] and [`Endpoint::allow_origin`] what else is right. It has to be served
/// within a tokio runtime.
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
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) config: Arc<Config>,
    pub(crate) state: Arc<State>,
}

#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) service: Arc<dyn Service>,
    /// The same, within the time that a call may take.
    timed: Arc<dyn Service>,
    pub(crate) limits: HttpLimits,
    /// Shared by all of them.
    pub(crate) connection: Arc<Limits>,
    pub(crate) guard: Guard,
    pub(crate) sse_2024: bool,
    pub(crate) stateless_legacy: bool,
    pub(crate) authorize: Option<Arc<dyn Authorize>>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) events: Arc<dyn EventStore>,
    pub(crate) spare: Arc<Spare>,
    pub(crate) in_flight: Arc<InFlight>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) sessions: Sessions,
    pub(crate) sessions_2024: Sessions2024,
    pub(crate) streams: Arc<Streams>,
    /// Large answers on their way over HTTP/2.
    large: Arc<Streams>,
    pub(crate) requests: AtomicUsize,
    pub(crate) requests_of: Arc<Shares>,
    pub(crate) listens_of: Arc<Shares>,
    pub(crate) sessions_2024_of: Arc<Shares>,
    pub(crate) closing: AtomicBool,
    /// Who asked last, where every message says it again.
    clients: PeerCache,
    last_opening: Mutex<Bytes>,
    looked_after: AtomicBool,
}

impl Endpoint {
    /// The endpoint of a server.
    pub fn new(service: impl Service) -> Self {
        Self::of(Arc::new(service))
    }

    /// The endpoint of a server that is shared.
    pub fn of(service: Arc<dyn Service>) -> Self {
        let limits = HttpLimits::default();
        let mut connection = Limits::default();
        // What is answered may be larger than what is asked.
        connection.sent = Some(connection.message);
        connection.message = limits.body;
        let config = Config {
            timed: Arc::new(Timed::new(service.clone(), limits.request_time)),
            service,
            limits,
            connection: Arc::new(connection),
            guard: Guard::default(),
            sse_2024: false,
            stateless_legacy: false,
            authorize: None,
            store: Arc::new(Nowhere),
            events: Arc::new(MemoryEvents::new()),
            spare: Arc::default(),
            in_flight: Arc::default(),
        };
        Self { config: Arc::new(config), state: Arc::default() }
    }

    /// What it may cost.
    #[must_use]
    pub fn limits(self, limits: HttpLimits) -> Self {
        self.with(|config| {
            config.timed = Arc::new(Timed::new(config.service.clone(), limits.request_time));
            config.limits = limits;
        })
    }

    /// What each connection of the protocol may cost: a message that stands alone has its own, a session has one.
    #[must_use]
    pub fn connection_limits(self, limits: Limits) -> Self {
        self.with(|config| config.connection = Arc::new(limits))
    }

    /// Answers requests to a host name, with any port or with the one that is given.
    #[must_use]
    pub fn allow_host(self, host: impl Into<String>) -> Self {
        self.with(|config| config.guard.hosts.push(host.into()))
    }

    /// Answers requests to any host name. Only for servers behind something that looks at it.
    #[must_use]
    pub fn allow_any_host(self) -> Self {
        self.with(|config| config.guard.any_host = true)
    }

    /// Answers requests from pages of an origin, like `https://app.example.com`, and tells browsers so (CORS): they may
    /// send the headers that clients need and read the responses, errors included. Pages of this machine always may.
    #[must_use]
    pub fn allow_origin(self, origin: impl Into<String>) -> Self {
        self.with(|config| config.guard.origins.push(origin.into()))
    }

    /// Whether clients of 2024-11-05 are served: they open a stream first. Off unless it is said.
    ///
    /// Deprecated since 2025-03-26 (SEP-2596), removed three months after that is final at the earliest: Streamable
    /// HTTP is what newer clients speak.
    #[must_use]
    pub fn sse_2024(self, on: bool) -> Self {
        self.with(|config| config.sse_2024 = on)
    }

    /// Whether clients of the revisions with sessions are served without any: none gets an id, and each request is
    /// answered for itself, by whichever process it comes to. Off unless it is said.
    ///
    /// It is for servers behind something that spreads requests. Such clients cannot be asked anything, hear of nothing
    /// but their own calls, and cancel a call by hanging up.
    #[must_use]
    pub fn stateless_legacy(self, on: bool) -> Self {
        self.with(|config| config.stateless_legacy = on)
    }

    /// Who may ask: it looks at the head of every request before anything else does, names whoever sends it, and
    /// refuses it otherwise. `couplet_auth::server` has what OAuth needs.
    ///
    /// What was opened by somebody (sessions, tasks, questions) is there for nobody else. Documents that tell clients
    /// how to get in are served at their own paths: mount the endpoint there as well.
    #[must_use]
    pub fn authorize(self, authorize: impl Authorize) -> Self {
        self.with(|config| config.authorize = Some(Arc::new(authorize)))
    }

    /// Who asks, if something in front of the endpoint has authenticated somebody; nobody is refused. It takes the
    /// place of [`Endpoint::authorize`].
    #[must_use]
    pub fn principal(self, identify: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.authorize(Named(identify))
    }

    /// Where sessions are kept, so that another endpoint can take them over. By default they end with this one.
    #[must_use]
    pub fn sessions(self, store: Arc<dyn SessionStore>) -> Self {
        self.with(|config| config.store = store)
    }

    /// Where the events of sessions are kept.
    #[must_use]
    pub fn events(self, store: Arc<dyn EventStore>) -> Self {
        self.with(|config| config.events = store)
    }

    /// How many sessions live here.
    pub fn session_count(&self) -> usize {
        self.state.sessions.len()
    }

    /// How many streams are open.
    pub fn stream_count(&self) -> usize {
        self.state.streams.len()
    }

    /// Takes no more requests and tells open streams to end; what runs is finished. A question to a client cannot be
    /// answered any more: whoever asked it is told.
    pub fn shut_down(&self) {
        self.state.closing.store(true, Ordering::Release);
        self.state.sessions.cancel_client_requests();
        self.state.streams.end();
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        let config = Arc::make_mut(&mut self.config);
        change(config);
        // Those that are there were made for other settings.
        config.spare = Arc::default();
        self
    }

    /// A connection on which nothing was said yet.
    pub(crate) fn connection(&self, caller: Option<Arc<Caller>>) -> ServerConnection {
        let connection = ServerConnection::new(self.config.timed.clone(), self.config.connection.clone());
        let mut connection = connection.with_peer_cache(&self.state.clients);
        connection.set_caller(caller);
        connection
    }

    /// Opens a stream. It ends with the time of whoever opens it.
    ///
    /// # Errors
    /// What to answer if there are too many.
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

    /// Lets a response count until it is sent, and lets go of what is large if it is not read.
    pub(crate) fn hold(&self, reply: &mut Reply, version: Version) {
        let body = reply.body_mut();
        body.count(&self.config.in_flight);
        // Over HTTP/1.1 a reader that does not read holds up the whole connection, which is then closed.
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

    /// Makes sure that somebody looks after what has a time limit, for as long as there is anything.
    pub(crate) fn look_after(&self) {
        if self.state.looked_after.swap(true, Ordering::SeqCst) {
            return;
        }
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
                here.let_go(&here.state.sessions.expired(&config.limits)).await;
                if here.state.is_empty() {
                    here.state.looked_after.store(false, Ordering::SeqCst);
                    // Something may have come in between, and found itself looked after.
                    if here.state.is_empty() || here.state.looked_after.swap(true, Ordering::SeqCst) {
                        return;
                    }
                }
            }
        });
    }
}

/// When it will be so many seconds since 1970; nothing if that is further away than can be counted.
fn instant(seconds: u64) -> Option<Instant> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant::now().checked_add(Duration::from_secs(seconds).saturating_sub(now))
}

impl State {
    /// A copy of the message that opens a session. Clients of one kind open theirs with the same, and share it.
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
