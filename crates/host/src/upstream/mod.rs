//! Supervised upstream servers: started when needed, restarted when they fail, protected by limits.
//!
//! An [`Upstream`] is a target with a supervisor. Its server is a [`Proxy`](couplet_proxy::Proxy) while it runs. The
//! supervisor starts it with the first call (or [at once](Start::Eager)), restarts it with backoff, and refreshes its
//! [`Catalog`](crate::catalog::Catalog). A call gets [permission to run](Upstream::proxy) from it, or an error that
//! names the server and the cause. Nothing here waits for another upstream.
//!
//! | state | entered | calls |
//! |---|---|---|
//! | configured | not started yet, or stopped because it was idle | start it and wait |
//! | starting | the first start, a restart | wait |
//! | ready | connected | run |
//! | degraded | calls time out, or its lists cannot be fetched | run; after repeated timeouts fail at once, with a trial from time to time |
//! | backoff | it failed, and is restarted soon | wait for a restart within 2 s, otherwise fail at once |
//! | stopped | it failed too often, or was [stopped](Upstream::stop) | fail; after too many failures, one call per 30 s tries again |
//! | quarantined | [`Upstream::quarantine`] | fail |
//!
//! This module must not know names, policies or views.

mod breaker;
mod budget;
mod builder;
mod flood;
mod handle;
mod latency;
mod options;
mod permits;
mod phase;
mod refresh;
mod running;
mod shared;
mod starts;
mod status;
mod supervise;
mod target;
mod unavailable;

pub use builder::UpstreamBuilder;
pub use couplet_proxy::Isolation;
pub use handle::{Hold, Upstream};
pub use options::{Start, UpstreamOptions};
pub use running::Running;
pub use starts::StartLimit;
pub use status::{CatalogStatus, Latency, State, Status};
pub use unavailable::{Reason, Unavailable};
