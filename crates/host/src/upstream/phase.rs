//! The phases of an upstream, and the state that its supervisor is to bring about.

use std::sync::Arc;

use couplet_core::Error;
use couplet_proxy::Proxy;
use tokio::time::Instant;

use super::{State, breaker::Breaker};

/// A phase, since when, and its number.
#[derive(Clone)]
pub(super) struct Entered {
    pub(super) phase: Phase,
    pub(super) since: Instant,
    pub(super) number: u64,
}

#[derive(Clone)]
pub(super) enum Phase {
    /// Not started, or stopped because it was idle.
    Configured,
    Starting,
    Ready(Arc<Run>),
    /// It failed, and is restarted at the given time.
    Backoff(Error, Instant),
    /// It failed too often; a call may start it after the given time.
    Exhausted(Error, Instant),
    Stopped(Arc<str>),
    Quarantined(Arc<str>),
}

/// A running server. A breaker counts the failures of one run: those of the last one say nothing about the next.
pub(super) struct Run {
    pub(super) proxy: Proxy,
    pub(super) breaker: Breaker,
}

/// The state that the supervisor should bring about.
#[derive(Clone, Default)]
pub(super) struct Wanted {
    /// The number of the last phase in which a start was asked for.
    pub(super) demand: u64,
    /// Counts explicit starts and restarts.
    pub(super) epoch: u64,
    pub(super) blocked: Option<Halt>,
}

/// The reason why the server must not run.
#[derive(Clone)]
pub(super) enum Halt {
    Stopped(Arc<str>),
    Quarantined(Arc<str>),
}

impl From<Halt> for Phase {
    fn from(blocked: Halt) -> Self {
        match blocked {
            Halt::Stopped(reason) => Self::Stopped(reason),
            Halt::Quarantined(reason) => Self::Quarantined(reason),
        }
    }
}

impl Phase {
    pub(super) fn state(&self) -> State {
        match self {
            Self::Configured => State::Configured,
            Self::Starting => State::Starting,
            Self::Ready(_) => State::Ready,
            Self::Backoff(..) => State::Backoff,
            Self::Exhausted(..) | Self::Stopped(_) => State::Stopped,
            Self::Quarantined(_) => State::Quarantined,
        }
    }
}
