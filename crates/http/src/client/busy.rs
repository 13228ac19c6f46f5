//! Busy servers: which requests are retried, and when.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, SystemTime},
};

use couplet_core::{Error, ErrorKind, Method, Outgoing, Retry, http::is_not_carried_out};
use couplet_types::RpcError;
use http::{Response, StatusCode, header::RETRY_AFTER};

use super::fetch::Body;

/// The refusal of a busy server (429 or 503): the source of an error of kind [`ErrorKind::Transport`].
///
/// A request that may be retried was retried already, a few times, after the delay that the server asked for.
///
/// ```
/// use std::time::Duration;
/// use couplet_core::Error;
/// use couplet_http::client::Busy;
///
/// /// When a program may call again; never, if the call may have been executed.
/// fn next_attempt(error: &Error) -> Option<Duration> {
///     let busy = Busy::of(error).filter(|busy| busy.not_carried_out)?;
///     Some(busy.retry_after.unwrap_or(Duration::from_secs(1)))
/// }
/// # let _ = next_attempt;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Busy {
    /// The status: 429 or 503.
    pub status: u16,
    /// The delay that the server asks for (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// Whether the server says that nothing was carried out, so that any request may be retried.
    pub not_carried_out: bool,
    /// The server's explanation.
    pub message: Option<String>,
}

impl Busy {
    /// The number of retries.
    pub(crate) const REPEATS: u32 = 3;
    /// The longest delay; with a longer one the request fails.
    pub(crate) const LONGEST: Duration = Duration::from_secs(30);
    const SHORTEST: Duration = Duration::from_millis(250);

    /// Returns the refusal that an error was caused by; `None` for errors of other causes. A 503 that neither names a
    /// delay nor says that nothing was carried out is not one: it may come from a proxy whose server is gone.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// The refusal of a server that names a delay, or says that nothing was carried out.
    pub(crate) fn read(status: StatusCode, retry_after: Option<Duration>, said: Option<&RpcError>) -> Option<Self> {
        let not_carried_out = said.is_some_and(is_not_carried_out);
        (is_busy(status) && (retry_after.is_some() || not_carried_out)).then(|| Self {
            status: status.as_u16(),
            retry_after,
            not_carried_out,
            message: said.map(|error| error.message.clone()),
        })
    }

    /// Returns the delay before a request is retried; `None` if it must not be, or not so soon.
    pub(crate) fn pause(&self, request: &Outgoing) -> Option<Duration> {
        if !self.not_carried_out && retry(request) == Retry::Never {
            return None;
        }
        let asked = self.retry_after.unwrap_or_default();
        (asked <= Self::LONGEST).then(|| pause(asked))
    }
}

/// Returns the delay with jitter, so that clients do not retry all at once.
pub(crate) fn pause(asked: Duration) -> Duration {
    let least = asked.max(Busy::SHORTEST);
    least + jitter(least / 2)
}

impl From<Busy> for Error {
    fn from(busy: Busy) -> Self {
        Self::new(ErrorKind::Transport, busy.to_string()).with_source(busy)
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            429 => f.write_str("the server has had too many requests (429)")?,
            status => write!(f, "the server is too busy ({status})")?,
        }
        if let Some(message) = &self.message {
            write!(f, ": {message}")?;
        }
        match self.retry_after.map(|after| after.as_secs()) {
            Some(after) if after > 1 => write!(f, "; it wants to be left alone for {after} s"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Busy {}

/// Whether a request may be sent twice.
pub(crate) fn retry(request: &Outgoing) -> Retry {
    Method::named(request.method).map_or(Retry::Never, |method| method.retry)
}

/// Whether a status may mean that the server has no time now.
pub(crate) fn is_busy(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

/// Returns the delay that a busy server asks for.
pub(crate) fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let value = response.headers().get(RETRY_AFTER).filter(|_| is_busy(response.status()))?;
    parse(value.to_str().ok()?, SystemTime::now())
}

/// Seconds, or a date.
fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// Any time up to this one. What hash maps are seeded with is random enough for that.
pub(crate) fn jitter(most: Duration) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX - 1);
    Duration::from_millis(random % (most + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, expected) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("99999999999999999999", None),
            ("soon", None),
        ] {
            assert_eq!(parse(value, now).map(|d| d.as_secs()), expected, "{value}");
        }
    }

    #[test]
    fn jitter_stays_within_its_bound() {
        assert_eq!(jitter(Duration::ZERO), Duration::ZERO);
        let most = Duration::from_millis(10);
        let found: std::collections::HashSet<_> = (0..1000).map(|_| jitter(most)).collect();
        assert!(found.len() > 5 && found.iter().all(|d| *d <= most), "{found:?}");
    }
}
