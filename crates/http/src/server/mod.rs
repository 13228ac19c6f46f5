//! The server side: one endpoint for every revision.
//!
//! * [`Endpoint`] is a `tower_service::Service`: mount it in axum or hyper.
#![cfg_attr(
    feature = "listen",
    doc = "* [`listen`](crate::listen()) and [`listen_unix`](crate::listen_unix) bring their own listener."
)]
#![cfg_attr(
    not(feature = "listen"),
    doc = "* `listen` and `listen_unix`, with the feature `listen`, bring their own listener."
)]
//!
//! Each request is one line in the log, at the level `info` with the target `couplet::access`: HTTP method, path,
//! status, client address, MCP method, principal and duration. A client that disconnected before the response has the
//! status 499.
#![doc = include_str!("../docs/serving.md")]
#![doc = include_str!("../docs/security.md")]
//!
//! # Invariants
//!
//! * `Host` and `Origin` are checked first, and nothing is stored for a request that fails a check.
//! * A stateless request has a connection of its own, owned by the response: dropping the response cancels it.
//! * A session has one connection. A task drives it only while a call runs or a stream is open.
//! * A request counts until it is answered, also after its client has disconnected.
//! * Unsent responses have a limit in bytes overall: above it new requests get 503.
//! * Every store call has a timeout.
//! * A session in a store has one owner. Without a valid lease nothing of it is executed, stored or sent.
//! * Every queue is bounded. A slow reader applies backpressure to its own session, and is disconnected after a while.
//!
//! # Source files
//!
//! | file | subject |
//! |---|---|
//! | `endpoint`, `limits` | configuration, and what the endpoint has open |
//! | `request/` | what every request passes: host and origin, CORS, authorization, quotas, body, deadline, access log |
//! | `stateless/` | requests of the stateless revision: a pooled connection for each |
//! | `session/` | sessions: the table, the driver of a connection, stores and leases, HTTP+SSE of 2024-11-05 |
//! | `replica/` | requests for sessions that other replicas own, forwarded and accepted |
//! | `stream/` | response bodies, event streams and what is stored of them |
//! | `response` | the kinds of responses |
//! | `listen/` | a listener of our own: sockets, slow peers, trusted proxies, graceful shutdown |
//! | `card` | the card of the server beside the endpoint |
//! | `inspector` | the page beside the endpoint |
//! | `metrics/` | counts and durations for operators |

#[cfg(feature = "cards")]
mod card;
mod endpoint;
#[cfg(feature = "inspector")]
mod inspector;
mod limits;
#[cfg(feature = "listen")]
pub(crate) mod listen;
mod metrics;
#[cfg(feature = "replicas")]
mod replica;
mod request;
mod response;
mod session;
mod stateless;
mod stream;

pub use endpoint::Endpoint;
pub use limits::HttpLimits;
#[cfg(feature = "listen")]
pub use listen::{HttpTransport, Shutdown, forwarded::TrustedProxies, network::Network, routes::Routes};
#[cfg(feature = "replicas")]
pub use replica::Replica;
pub use request::{
    Answering,
    allow_list::AllowList,
    authorize::{Authorize, Challenge},
    claim_types::ClaimTypes,
    combine::Or,
    context::HttpRequest,
};
pub use session::{
    memory::MemorySessions,
    store::{Claim, LoadedSession, Node, Posted, Renewed, SessionRecord, SessionStore},
};
pub use stream::{
    body::EndpointBody,
    event_store::{EventStore, StoredEvent},
    memory_events::MemoryEvents,
};

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
};

use couplet_core::sync::lock;

/// Frees the spare capacity of a map.
fn shrink<K: Eq + Hash, V, S: BuildHasher>(map: &mut HashMap<K, V, S>) {
    if map.capacity() > 64 + 8 * map.len() {
        map.shrink_to(2 * map.len());
    }
}
