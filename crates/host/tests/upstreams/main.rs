//! Supervised upstreams and their catalogs, in memory and as child processes.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]
#![expect(clippy::print_stdout, reason = "figures of acceptance tests, to be quoted")]

mod catalog;
#[cfg(unix)]
mod child;
mod deep;
#[cfg(unix)]
mod endurance;
#[cfg(unix)]
mod flood;
mod hostile;
mod kit;
mod lifecycle;
mod limits;
