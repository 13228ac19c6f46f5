//! A host with several servers, in every revision downstream and in both eras upstream.

#![expect(clippy::unwrap_used, reason = "a test reports by panicking")]
#![expect(clippy::print_stdout, reason = "figures of acceptance tests, to be quoted")]

mod attacks;
mod audited;
mod changes;
mod consented;
mod doors;
mod evil;
mod fidelity;
mod flows;
mod isolation;
mod kit;
mod linked;
mod long;
mod pinned;
mod profiles;
mod program;
mod raw;
mod reconstruct;
mod reload;
mod rules;
mod sealed;
mod session;
mod table;
mod traffic;
