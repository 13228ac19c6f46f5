//! Errors of Redis in the library's terms.

use std::time::Duration;

use couplet_core::{Error, ErrorKind};
use redis::{ErrorKind as Kind, RedisError, ServerErrorKind as Server};

/// Maps an error, with the address that the user configured.
pub(crate) fn failed(address: &str, error: RedisError) -> Error {
    let (kind, why) = explain(&error);
    Error::new(kind, format!("redis at `{address}` {why}")).with_source(error)
}

/// The error of an operation that took too long.
pub(crate) fn late(address: &str, timeout: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("redis at `{address}` did not answer within {timeout:?}"))
}

/// The error of a value that this library would not have written.
pub(crate) fn foreign(key: &str) -> Error {
    let what = format!("the value of `{key}` was not written by this library; use another prefix");
    Error::new(ErrorKind::Config, what)
}

/// Whether a server that can be reached takes no writes at the moment.
pub(crate) fn is_refusal(error: &RedisError) -> bool {
    matches!(error.code(), Some("OOM" | "MISCONF"))
}

/// Whether an error says that the server cannot be reached, or does not answer.
#[cfg(feature = "cluster")]
pub(crate) fn is_lost(error: &Error) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<RedisError>());
    couplet_core::Outage::is_outage(error) && !source.is_some_and(is_refusal)
}

fn explain(error: &RedisError) -> (ErrorKind, String) {
    if error.is_timeout() {
        return (ErrorKind::Timeout, "did not answer in time".to_owned());
    }
    if error.is_connection_refusal() {
        return (ErrorKind::Transport, "refused the connection".to_owned());
    }
    let detail = error.detail().unwrap_or_default();
    match error.kind() {
        Kind::Io if error.is_connection_dropped() => (ErrorKind::Transport, "closed the connection".to_owned()),
        // Such as a name that is not known, or a certificate that is not trusted.
        Kind::Io => (ErrorKind::Transport, format!("cannot be reached: {error}")),
        Kind::AuthenticationFailed => {
            (ErrorKind::Config, "refused the user name or the password; check the URL".to_owned())
        }
        Kind::RESP3NotSupported => (ErrorKind::Unsupported, "is too old: version 6.2 or later is needed".to_owned()),
        Kind::InvalidClientConfig => (ErrorKind::Config, format!("cannot be used: {error}")),
        Kind::Server(Server::BusyLoading | Server::MasterDown | Server::ClusterDown | Server::TryAgain) => {
            (ErrorKind::Transport, format!("is not ready: {detail}"))
        }
        Kind::Server(Server::ReadOnly) => {
            (ErrorKind::Transport, "is a read-only replica; the URL must lead to the primary".to_owned())
        }
        Kind::Server(Server::Moved | Server::Ask | Server::CrossSlot) => {
            (ErrorKind::Config, "is one node of a cluster; use `redis+cluster://` (feature `cluster`)".to_owned())
        }
        Kind::Server(Server::NoPerm) => (ErrorKind::Config, format!("does not allow a command: {detail}")),
        _ => match error.code() {
            // An outage for its users, who write; `is_refusal` tells it from a server that cannot be reached.
            Some("OOM") => (ErrorKind::Transport, "is out of memory: raise its `maxmemory`".to_owned()),
            Some("WRONGTYPE") => wrong_type(),
            Some("NOAUTH" | "WRONGPASS") => {
                (ErrorKind::Config, "refused the user name or the password; check the URL".to_owned())
            }
            Some("MISCONF") => (ErrorKind::Transport, format!("takes no writes: {detail}")),
            _ if detail.contains("WRONGTYPE") => wrong_type(),
            _ => (ErrorKind::Other, format!("failed: {error}")),
        },
    }
}

fn wrong_type() -> (ErrorKind, String) {
    (ErrorKind::Config, "has a value of another type under a key; use another prefix".to_owned())
}
