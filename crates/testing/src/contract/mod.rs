//! The contracts of stores and buses, as functions to call from the tests of an implementation. They panic on a violation.
//!
//! | trait | functions | feature |
//! |---|---|---|
//! | `couplet_core::ChangeBus` | [`change_bus`], [`change_bus_cut`], [`change_bus_away`] | |
//! | `couplet_server::outcomes::OutcomeStore` | [`outcome_store`], [`outcome_store_away`] | |
//! | `couplet_http::server::SessionStore` | `session_store`, `session_expiry`, `session_store_away` | `http` |
//! | `couplet_http::server::EventStore` | `event_store`, `event_limits`, `event_expiry`, `event_store_away` | `http` |
//! | `couplet_tasks::Store` | `task_store`, `task_watch`, `task_store_away` | `tasks` |
//! | `couplet_auth::client::Store` | `login_store`, `login_lock`, `login_store_away` | `logins` |
//! | `couplet_middleware::Buckets` | `buckets`, `bucket_refill`, `buckets_away` | `middleware` |
//!
//! Those whose names end with `away` are for a store that cannot be reached: each operation must say so with an error,
//! because a caller takes an empty answer for the truth.
//!
//! Those of buses, outcomes, logins and buckets use names of their own, so they can run against a store that is in use,
//! several at once. Nothing in them depends on how fast the implementation is, except that each step must be done within 10
//! seconds.

mod away;
#[cfg(feature = "middleware")]
mod buckets;
mod change_bus;
#[cfg(feature = "http")]
mod events;
#[cfg(feature = "logins")]
mod logins;
mod outcome_store;
#[cfg(feature = "http")]
mod session_claims;
#[cfg(feature = "http")]
mod sessions;
#[cfg(feature = "tasks")]
mod tasks;

#[cfg(feature = "middleware")]
pub use away::buckets_away;
#[cfg(feature = "logins")]
pub use away::login_store_away;
#[cfg(feature = "tasks")]
pub use away::task_store_away;
pub use away::{change_bus_away, outcome_store_away};
#[cfg(feature = "http")]
pub use away::{event_store_away, session_store_away};
#[cfg(feature = "middleware")]
pub use buckets::{bucket_refill, buckets};
pub use change_bus::{change_bus, change_bus_cut};
#[cfg(feature = "http")]
pub use events::{event_expiry, event_limits, event_store};
#[cfg(feature = "logins")]
pub use logins::{login_lock, login_store};
pub use outcome_store::outcome_store;
#[cfg(feature = "http")]
pub use session_claims::session_expiry;
#[cfg(feature = "http")]
pub use sessions::session_store;
#[cfg(feature = "tasks")]
pub use tasks::{task_store, task_watch};

use std::{future::poll_fn, task::Poll};

/// Waits for a step of a contract.
async fn in_time<F: Future>(what: &str, step: F) -> F::Output {
    let done = tokio::time::timeout(std::time::Duration::from_secs(10), step).await;
    done.unwrap_or_else(|_| panic!("it takes too long: {what}"))
}

/// A name that no other run has.
fn unique(what: &str) -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    format!("contract-{what}-{:016x}", RandomState::new().build_hasher().finish())
}

/// Runs futures at the same time: each is polled before any of them is polled again. Returns their outputs in order.
async fn at_once<F: Future>(what: &str, all: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = all.into_iter().map(|future| Some(Box::pin(future))).collect();
    let mut outputs: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    let done = poll_fn(|cx| {
        for (future, output) in running.iter_mut().zip(&mut outputs) {
            if let Some(Poll::Ready(done)) = future.as_mut().map(|future| future.as_mut().poll(cx)) {
                *output = Some(done);
                *future = None;
            }
        }
        if running.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    });
    in_time(what, done).await;
    outputs.into_iter().flatten().collect()
}
