//! What the endpoint may cost.

use std::time::Duration;

/// The limits of an endpoint, beside those of each connection. Each has a default that is safe without configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The size of a request's body in bytes: 4 MiB.
    pub body: usize,
    /// How long the body may take to arrive: 30 seconds.
    pub body_time: Duration,
    /// How many requests may be under way: 4,096.
    pub requests: usize,
    /// How many of them one principal may have: 256.
    pub requests_per_principal: usize,
    /// How long a call may take in all, whatever it reports or asks meanwhile: 1 hour. What runs for longer than it
    /// should is a matter of the server, which has a shorter limit for each handler.
    pub request_time: Duration,
    /// How many sessions there may be: 16,384. When there are so many, one that was opened and never used gives way to
    /// a new one, or else the one that was not used for longest and has nothing running and no open stream.
    pub sessions: usize,
    /// How many of them one principal may have: 100.
    pub sessions_per_principal: usize,
    /// The size of the message that opens a session, which is kept with it, in bytes: 64 KiB.
    pub opening: usize,
    /// The size of all of them together in bytes: 64 MiB.
    pub openings: usize,
    /// How long a session may take for its second message: 60 seconds.
    pub handshake: Duration,
    /// How long a session may lie idle: 30 minutes.
    pub idle: Duration,
    /// How long a session may live: 24 hours.
    pub age: Duration,
    /// How many requests one session may have under way: 256.
    pub requests_per_session: usize,
    /// How many streams may be open: 1,024.
    pub streams: usize,
    /// How many of them one principal may have: 256.
    pub streams_per_principal: usize,
    /// How many subscriptions that stand alone one principal may have: 16.
    pub listens_per_principal: usize,
    /// How many of them one session may have beside those of its requests: 16.
    pub streams_per_session: usize,
    /// How many messages may wait on one stream: 256.
    pub queue: usize,
    /// How many bytes may wait on one stream: 1 MiB. One message may be larger if it is alone.
    pub queue_bytes: usize,
    /// How many bytes the answers that are not sent yet may have, all together: 256 MiB. While there are more, new
    /// requests get 503; what runs is finished.
    pub answers: usize,
    /// How long a store of sessions or events may take for one thing: 5 seconds.
    pub store_time: Duration,
    /// After how much silence a stream gets a sign of life: 15 seconds. After that much time without an answer the
    /// response to a call begins as a stream, because load balancers cut connections on which nothing is sent.
    pub keep_alive: Duration,
    /// How long a stream's reader may read nothing: 30 seconds.
    pub stall: Duration,
    /// When a client that lost its stream should come back: after 1 second.
    pub retry: Duration,
    /// How long the headers of a request may take to arrive: 30 seconds. For our own listener, like all that follow.
    pub header_time: Duration,
    /// The size of a request's headers in bytes: 16 KiB.
    pub headers: usize,
    /// How long the other end of a TCP connection may not acknowledge what it was sent before the connection is given
    /// up, so that one that is half open does not stay: 60 seconds, or [`HttpLimits::stall`] if that is longer.
    pub half_open: Duration,
    /// How many connections may be open: 4,096.
    pub connections: usize,
    /// How many requests one HTTP/2 connection may have under way: 128.
    pub http2_streams: u32,
}

impl HttpLimits {
    /// When a client should come back, as events say it.
    pub(crate) fn retry_millis(&self) -> u64 {
        self.retry.as_millis().try_into().unwrap_or(u64::MAX)
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body: 4 << 20,
            body_time: Duration::from_secs(30),
            requests: 4096,
            requests_per_principal: 256,
            request_time: Duration::from_secs(60 * 60),
            sessions: 16_384,
            sessions_per_principal: 100,
            opening: 64 << 10,
            openings: 64 << 20,
            handshake: Duration::from_secs(60),
            idle: Duration::from_secs(30 * 60),
            age: Duration::from_secs(24 * 60 * 60),
            requests_per_session: 256,
            streams: 1024,
            streams_per_principal: 256,
            listens_per_principal: 16,
            streams_per_session: 16,
            queue: 256,
            queue_bytes: 1 << 20,
            answers: 256 << 20,
            store_time: Duration::from_secs(5),
            keep_alive: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            retry: Duration::from_secs(1),
            header_time: Duration::from_secs(30),
            headers: 16 << 10,
            half_open: Duration::from_secs(60),
            connections: 4096,
            http2_streams: 128,
        }
    }
}
