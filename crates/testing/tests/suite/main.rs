//! One server, every revision: what is on the wire, and what a client makes of it.

mod asking;
mod child;
#[cfg(unix)]
mod children;
#[cfg(feature = "contract")]
mod contract;
mod extension;
mod fixture;
mod flood;
mod hostile;
mod idempotency;
mod long;
mod media;
mod mount;
mod mounted;
mod projection;
mod replayed;
mod replicas;
mod rows;
mod scenario;
mod schema;
mod sentinel;
mod shapes;
mod talk;
mod tap;
mod ways;
