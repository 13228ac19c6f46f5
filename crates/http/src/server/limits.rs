//! The limits of an endpoint.

use std::time::Duration;

couplet_core::limits! {
    /// The limits of an endpoint, beside those of each connection. The defaults are safe without configuration.
    ///
    /// ```
    /// use couplet_http::server::HttpLimits;
    ///
    /// let limits = HttpLimits::default().sessions(1_000).body(64 << 10);
    /// assert_eq!((limits.sessions, limits.body), (1_000, 64 << 10));
    /// ```
    #[doc = include_str!("../docs/limits.md")]
    pub struct HttpLimits {
        /// The size of a request body in bytes (default: 4 MiB).
        body: usize = 4 << 20,
        /// The timeout for a request body to arrive (default: 30 s).
        body_time: Duration = Duration::from_secs(30),
        /// The number of requests in progress (default: 4,096).
        requests: usize = 4096,
        /// The number of requests in progress of one principal (default: 256).
        requests_per_principal: usize = 256,
        /// The number of requests in progress of anonymous callers at one address (default: 512, an eighth of
        /// [`requests`](Self::requests)); of IPv6, in one /64 network. Requests from this machine have no limit per address: a reverse proxy that is not
        /// [trusted](crate::server::TrustedProxies) must not share one limit among all clients. A proxy on another
        /// machine has to be trusted, or these limits be raised.
        requests_per_address: usize = 512,
        /// The timeout of a call in all, whatever it reports or asks meanwhile (default: 1 hour). The server's own
        /// timeouts of handlers are shorter.
        request_time: Duration = Duration::from_secs(60 * 60),
        /// The number of sessions (default: 16,384). Beyond it a new session replaces one that was opened and never used,
        /// or else the least recently used one without a running request or an open stream.
        sessions: usize = 16_384,
        /// The number of sessions of one principal (default: 100).
        sessions_per_principal: usize = 100,
        /// The number of sessions of anonymous callers at one address (default: 4,096, a quarter of
        /// [`sessions`](Self::sessions)).
        sessions_per_address: usize = 4096,
        /// The size of the `initialize` request, which is stored with the session, in bytes (default: 64 KiB).
        opening: usize = 64 << 10,
        /// The size of all stored `initialize` requests in bytes (default: 64 MiB).
        openings: usize = 64 << 20,
        /// The timeout for the second message of a session (default: 60 s).
        handshake: Duration = Duration::from_secs(60),
        /// The idle timeout of a session (default: 30 minutes). A session that is in a store is released then, and claimed
        /// again when it is used.
        idle: Duration = Duration::from_secs(30 * 60),
        /// The maximum age of a session (default: 24 hours).
        age: Duration = Duration::from_secs(24 * 60 * 60),
        /// The number of requests in progress of one session (default: 256).
        requests_per_session: usize = 256,
        /// The number of open streams (default: 1,024).
        streams: usize = 1024,
        /// The number of open streams of one principal (default: 256).
        streams_per_principal: usize = 256,
        /// The number of streams on which anonymous callers at one address listen (default: 256, a quarter of
        /// [`streams`](Self::streams)): subscriptions and streams of sessions. Streams of calls count as requests.
        streams_per_address: usize = 256,
        /// The number of stateless subscriptions of one principal (default: 16).
        listens_per_principal: usize = 16,
        /// The number of open streams of one session, beside those of its requests (default: 16).
        streams_per_session: usize = 16,
        /// The number of messages that wait on one stream (default: 256).
        queue: usize = 256,
        /// The bytes that wait on one stream (default: 1 MiB). A single message may be larger.
        queue_bytes: usize = 1 << 20,
        /// The bytes of all unsent responses (default: 256 MiB). Beyond it new requests get 503; running calls finish.
        answers: usize = 256 << 20,
        /// The timeout of a call of the session or event store (default: 5 s).
        store_time: Duration = Duration::from_secs(5),
        /// The lease of a session that is in a store (default: 15 s). It is renewed each third of that. After a crash of its
        /// owner, another replica takes the session over when the lease has expired.
        session_lease: Duration = Duration::from_secs(15),
        /// The interval of keep-alive comments on a silent stream (default: 15 s). A call without a response for that
        /// long begins its response as a stream, because load balancers close silent connections.
        keep_alive: Duration = Duration::from_secs(15),
        /// The timeout for a client that does not read its stream (default: 30 s).
        stall: Duration = Duration::from_secs(30),
        /// The delay after which a client should reconnect a lost stream (default: 1 s).
        retry: Duration = Duration::from_secs(1),
        /// The timeout for request headers to arrive (default: 30 s). For the built-in listener, like all that follow.
        header_time: Duration = Duration::from_secs(30),
        /// The size of request headers in bytes (default: 16 KiB).
        headers: usize = 16 << 10,
        /// The timeout for unacknowledged data on a TCP connection, so that half-open connections are closed (default:
        /// 60 s, or [`stall`](Self::stall) if that is longer).
        half_open: Duration = Duration::from_secs(60),
        /// The number of open connections (default: 4,096).
        connections: usize = 4096,
        /// The number of concurrent requests of one HTTP/2 connection (default: 128).
        http2_streams: u32 = 128,
    }
}

impl HttpLimits {
    /// The reconnection delay, as events contain it.
    pub(crate) fn retry_millis(&self) -> u64 {
        self.retry.as_millis().try_into().unwrap_or(u64::MAX)
    }
}
