//! Gateways over servers on the loopback interface.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]
#![expect(clippy::print_stdout, reason = "figures of acceptance tests, to be quoted")]

mod audit;
#[cfg(unix)]
mod consent;
mod discovery;
mod exhaustion;
mod foreign;
mod http2;
mod hygiene;
mod idle;
mod kit;
mod large;
mod logs;
mod profiles;
#[cfg(unix)]
mod projects;
mod reload;
mod revision;
mod rules;
mod wire;
