//! The options of an upstream.

use std::time::Duration;

use couplet_client::Backoff;
use couplet_proxy::Isolation;
use couplet_types::ProtocolVersion;

/// The options of an [`Upstream`](super::Upstream): when it starts, its timeouts, limits and restarts.
///
/// ```
/// use std::time::Duration;
/// use couplet_host::upstream::{Start, UpstreamOptions};
///
/// let mut options = UpstreamOptions::default();
/// options.start = Start::Eager;
/// options.call_timeout = Some(Duration::from_secs(300));
/// # drop(options);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamOptions {
    /// When the server is started (default: with the first call or list).
    pub start: Start,
    /// The time without calls after which the server is stopped (default: never). The next call starts it again.
    pub idle_stop: Option<Duration>,
    /// The timeout from the start of the server to the end of the handshake (default: 30 s, enough for programs that a
    /// package runner downloads first).
    pub connect_timeout: Duration,
    /// The timeout of one page of a list (default: 15 s). All pages of all lists may take four times as long.
    pub list_timeout: Duration,
    /// The time that a call may take without progress (default: 60 s). Each message of the server about the call
    /// restarts it, and the time that the caller takes to answer an elicitation does not count.
    pub call_timeout: Option<Duration>,
    /// The total time of a call, which progress does not extend (default: 1 h).
    pub max_call_timeout: Option<Duration>,
    /// The maximum number of calls at the same time (default: 64).
    pub calls: usize,
    /// The maximum number of calls that wait for another one to end (default: 128).
    pub queue: usize,
    /// The time that a call may wait for another one to end (default: 10 s).
    pub queue_timeout: Duration,
    /// The maximum number of restarts within the [window](Self::restart_window) (default: 5).
    pub restarts: usize,
    /// The time within which restarts are counted (default: 10 min).
    pub restart_window: Duration,
    /// The delays before restarts (default: from 250 ms to 30 s). Its number of attempts is not used.
    pub backoff: Backoff,
    /// The time after which a server counts as stable, so that delays begin with the shortest again (default: 30 s).
    pub stable: Duration,
    /// The maximum number of connections to a server with sessions (default: 16). Each is a process of its own if the
    /// server is a program.
    pub connections: usize,
    /// The callers that share a connection to a server with sessions (default: none that have sessions themselves).
    pub isolation: Isolation,
    /// The maximum size of a message of the server, in bytes (default: that of the client).
    pub max_message: Option<usize>,
    /// The only revision of the protocol that is used with the server (default: those of the client).
    pub revision: Option<ProtocolVersion>,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            start: Start::Lazy,
            idle_stop: None,
            connect_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(15),
            call_timeout: Some(Duration::from_secs(60)),
            max_call_timeout: Some(Duration::from_secs(3600)),
            calls: 64,
            queue: 128,
            queue_timeout: Duration::from_secs(10),
            restarts: 5,
            restart_window: Duration::from_secs(600),
            backoff: Backoff::new(),
            stable: Duration::from_secs(30),
            connections: 16,
            isolation: Isolation::Session,
            max_message: None,
            revision: None,
        }
    }
}

/// When an upstream is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With the first call, or the first list.
    #[default]
    Lazy,
    /// At once. It is also tried again by itself after too many failures, as soon as restarts are allowed again.
    Eager,
}
