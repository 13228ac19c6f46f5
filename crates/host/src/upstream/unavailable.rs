//! Errors of an upstream, as its callers read them.

use std::{fmt, time::Duration};

use couplet_core::{Error, ErrorKind, Method, Retry};
use couplet_types::{RpcError, code};
use serde_json::json;

use super::{breaker::Breaker, permits::Refused};
use crate::names::ServerId;

/// The reason why an upstream cannot run a call now. The call was not sent.
///
/// Its text names the server and the cause, and is meant for the model and the person behind it. As an [`RpcError`] it
/// has the members `server`, `reason` and, where it is known, `retryAfterMs` in `data`.
#[derive(Clone, Debug)]
pub struct Unavailable {
    server: ServerId,
    reason: Reason,
    text: String,
    retry_after: Option<Duration>,
}

/// The category of an [`Unavailable`] error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The server is still starting.
    Starting,
    /// The server failed, and is restarted later.
    Failed,
    /// The server failed too often, or was stopped.
    Stopped,
    /// The server is quarantined.
    Quarantined,
    /// Too many calls are running and waiting.
    Busy,
    /// The server is connected, but did not answer the last calls.
    Unresponsive,
}

impl Unavailable {
    fn new(server: &ServerId, reason: Reason, what: impl fmt::Display) -> Self {
        Self { server: server.clone(), reason, text: format!("`{}` {what}", server.as_str()), retry_after: None }
    }

    fn after(mut self, retry_after: Duration) -> Self {
        self.retry_after = Some(retry_after);
        self
    }

    pub(super) fn starting(server: &ServerId, so_far: Duration) -> Self {
        let what = format!("has been starting for {}; retry in a few seconds", seconds(so_far));
        Self::new(server, Reason::Starting, what).after(Duration::from_secs(3))
    }

    pub(super) fn failed(server: &ServerId, cause: &str, retry: Duration) -> Self {
        let what = format!("is not available and will be restarted in {}: {cause}", seconds(retry));
        Self::new(server, Reason::Failed, what).after(retry)
    }

    pub(super) fn exhausted(server: &ServerId, cause: &str, probe: Duration) -> Self {
        let when = seconds(probe);
        let what = format!("is stopped, because it failed too often; a call in {when} tries again: {cause}");
        Self::new(server, Reason::Stopped, what).after(probe)
    }

    pub(super) fn stopped(server: &ServerId, reason: &str) -> Self {
        Self::new(server, Reason::Stopped, format_args!("is stopped: {reason}"))
    }

    pub(super) fn quarantined(server: &ServerId, reason: &str) -> Self {
        Self::new(server, Reason::Quarantined, format_args!("is quarantined: {reason}"))
    }

    pub(super) fn refused(server: &ServerId, refused: &Refused) -> Self {
        let what = match refused {
            Refused::Full { running, queued } => {
                let (running, queued) = (calls(*running, "running"), calls(*queued, "waiting"));
                format!("is busy: {running} and {queued}; retry later")
            }
            Refused::Waited { running, timeout } => {
                let running = calls(*running, "still running");
                format!("is busy: this call waited {}, and {running}; retry later", seconds(*timeout))
            }
        };
        Self::new(server, Reason::Busy, what)
    }

    pub(super) fn unresponsive(server: &ServerId, retry: Duration) -> Self {
        let (failures, retry_in) = (Breaker::FAILURES, seconds(retry));
        let what = format!("does not answer: its last {failures} calls failed; retry in {retry_in}");
        Self::new(server, Reason::Unresponsive, what).after(retry)
    }

    /// Returns the server.
    pub fn server(&self) -> &ServerId {
        &self.server
    }

    /// Returns the category.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns the time after which a retry may succeed, if it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Quarantined => "quarantined",
            Self::Busy => "busy",
            Self::Unresponsive => "unresponsive",
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Unavailable {}

impl From<Unavailable> for RpcError {
    fn from(error: Unavailable) -> Self {
        let mut data = json!({ "server": error.server.as_str(), "reason": error.reason.name() });
        if let Some(after) = error.retry_after {
            data["retryAfterMs"] = u64::try_from(after.as_millis()).unwrap_or(u64::MAX).into();
        }
        Self::internal(error.text).with_data(data)
    }
}

/// The error of a call that the connection to the server failed.
pub(super) fn lost(server: &ServerId, method: &str, error: &Error, cause: &str) -> RpcError {
    let id = server.as_str();
    let repeatable = Method::named(method).is_some_and(|method| method.retry != Retry::Never);
    let (what, outcome) = match (error.kind(), error.is_unsent()) {
        (ErrorKind::Unsupported, _) => return RpcError::new(code::METHOD_NOT_FOUND, format!("`{id}`: {cause}")),
        (_, true) => (format!("`{id}` was gone before the call was sent, so it did not run; retry: {cause}"), "unsent"),
        (ErrorKind::Timeout, false) if repeatable => (format!("`{id}` did not answer in time: {cause}"), "timeout"),
        (ErrorKind::Timeout, false) => {
            (format!("`{id}` did not answer in time, and the outcome of the call is unknown: {cause}"), "unknown")
        }
        (ErrorKind::Closed | ErrorKind::Transport, false) if repeatable => {
            (format!("`{id}` was lost before it answered; retry: {cause}"), "lost")
        }
        (ErrorKind::Closed | ErrorKind::Transport, false) => (
            format!("`{id}` was lost during the call, whose outcome is unknown; it was not sent again: {cause}"),
            "unknown",
        ),
        _ => (format!("`{id}`: {cause}"), "failed"),
    };
    RpcError::internal(what).with_data(json!({ "server": id, "outcome": outcome }))
}

fn calls(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 call is {what}"),
        _ => format!("{count} calls are {what}"),
    }
}

/// A duration for people, rounded up.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() + u64::from(time.subsec_nanos() > 0) {
        0 => "0 seconds".to_owned(),
        1 => "1 second".to_owned(),
        s @ 2..120 => format!("{s} seconds"),
        s => format!("{} minutes", s / 60),
    }
}
