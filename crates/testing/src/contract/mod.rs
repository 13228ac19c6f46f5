//! The contracts of stores and buses, as functions to call from the tests of an implementation. They panic on a violation.
//!
//! Those of buses and outcomes use names of their own, so they can run against a store that is in use, several at once.
//! Nothing in them depends on how fast the implementation is, except that each step must be done within 10 seconds.

mod change_bus;
#[cfg(feature = "http")]
mod events;
mod outcome_store;
#[cfg(feature = "http")]
mod sessions;
#[cfg(feature = "tasks")]
mod tasks;

pub use change_bus::{change_bus, change_bus_cut};
#[cfg(feature = "http")]
pub use events::event_store;
pub use outcome_store::outcome_store;
#[cfg(feature = "http")]
pub use sessions::session_store;
#[cfg(feature = "tasks")]
pub use tasks::{task_store, task_watch};

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
