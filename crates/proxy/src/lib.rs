//! A proxy for the Model Context Protocol: serves a remote server as a local service.
//!
//! A [`Proxy`] is a [`Service`](couplet_core::Service) on top of client connections. Its callers may use another
//! revision than the server: stateless clients of a server with sessions, and the reverse. Where both use the same
//! revision, messages are forwarded verbatim.
//!
//! Progress, log messages and cancellation are forwarded. Elicitation, sampling and roots requests of the server go to
//! the caller. Change notifications are forwarded, and resources are subscribed to while a downstream client is. A lost
//! connection is re-established.
//!
//! This crate knows clients and the protocol. It must not know servers, transports or revisions.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod abilities;
mod asides;
mod asking;
mod backoff;
mod builder;
mod call;
mod changes;
mod deadline;
mod describe;
mod extensions;
mod hooks;
mod join;
mod parked;
mod pool;
mod proxy;
mod quiet;
mod result;
mod session;
mod subscribed;
mod supervise;
mod tasks;
mod upstream;

pub use builder::ProxyBuilder;
pub use hooks::Hooks;
pub use proxy::Proxy;
pub use session::Isolation;
pub use tasks::TaskForms;

/// A name that cannot be guessed; `None` without randomness.
fn random() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
