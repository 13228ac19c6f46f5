//! The server's side: one endpoint for every revision.
//!
//! * [`Endpoint`] is a `tower_service::Service`: mount it in axum or hyper.
#![cfg_attr(feature = "listen", doc = "* [`http()`] and [`http_unix`] listen themselves.")]
#![cfg_attr(not(feature = "listen"), doc = "* `http` and `http_unix`, with the feature `listen`, listen themselves.")]
//!
//! Each request is one line in the log when it is over, at the level `info` with the target `couplet::access`: method,
//! path, status, method of the protocol, principal and duration. A client that hung up before the answer has the status
//! 499.
//!
//! Invariants:
//!
//! * Host and Origin are checked before anything else is looked at, and nothing is kept for a request that fails a
//!   check.
//! * A message that stands alone has a connection of its own, which lives in the response: whoever drops the response
//!   cancels the request.
//! * A session has one connection. A task drives it while something runs or a stream is open, and no task is there
//!   otherwise.
//! * A request counts until it is answered, also when nobody waits for the answer any more.
//! * Answers that are not sent yet have a bound in bytes over all responses: above it new requests get 503.
//! * No store is waited for without a timeout.
//! * Every queue is bounded. A reader that is too slow slows down its own session, and is let go after a while.

mod access;
mod admit;
mod alone;
mod authorize;
mod body;
mod chunks;
mod combine;
pub mod contract;
mod cors;
mod deadline;
mod drive;
mod endpoint;
mod events;
mod guard;
mod http_request;
mod inflight;
mod legacy;
mod limits;
mod line;
#[cfg(feature = "listen")]
mod listen;
mod live;
#[cfg(feature = "listen")]
mod patient;
mod pipe;
mod read;
mod reply;
mod request;
mod sessionless;
mod sessions;
mod shares;
#[cfg(feature = "listen")]
mod socket;
mod spare;
mod store;
mod stored;
mod table;
mod watch;

pub use authorize::{Authorize, Challenge};
pub use body::EndpointBody;
pub use combine::Or;
pub use endpoint::Endpoint;
pub use events::{EventStore, MemoryEvents, StoredEvent};
pub use http_request::HttpRequest;
pub use limits::HttpLimits;
#[cfg(feature = "listen")]
pub use listen::{HttpTransport, Shutdown, http, http_unix};
pub use request::Answering;
pub use store::{MemorySessions, SessionRecord, SessionStore};

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Nothing here panics while it holds a lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives back the room that a map needed in busier times.
fn shrink<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.capacity() > 64 + 8 * map.len() {
        map.shrink_to(2 * map.len());
    }
}
