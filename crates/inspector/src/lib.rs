//! The web inspector for Model Context Protocol servers.
//!
//! * [`page`] has the files of the page, embedded in the binary: plain ES modules, which are served as one script, HTML
//!   and CSS. `couplet-http` serves them beside an endpoint (`Endpoint::inspector`).
#![cfg_attr(
    feature = "service",
    doc = "* [`Inspector`] is the service of `couplet inspect`: targets, a feed of their messages, and the listener."
)]
//!
//! The page is an MCP client of the stateless revision. For `couplet inspect`, each target has a
//! `couplet_proxy::Proxy` in front of it, so the page can talk to servers of every revision, and the feed shows the
//! messages between the proxy and the server as they are on the wire.
//!
//! What this crate must not know: terminals, where targets come from (the program resolves them), and of revisions
//! only what [`ProtocolVersion`](couplet_types::ProtocolVersion) tells.
//!
//! Invariants of the service:
//!
//! * Only requests to a loopback name of the listener's own port are answered, from the page's own origin or from none,
//!   and everything but the page itself needs the token.
//! * Nothing is queued without a limit: the feed is a ring, and a reader that is too slow gets the number of events it
//!   has lost.
//! * The state of a target is what is known: it changes when a connection is made, lost or given up, never in advance.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod assets;
mod join;
pub mod page;

#[cfg(feature = "service")]
mod api;
#[cfg(feature = "service")]
mod body;
#[cfg(feature = "service")]
mod feed;
#[cfg(feature = "service")]
mod guard;
#[cfg(feature = "service")]
mod inspector;
#[cfg(feature = "service")]
mod listen;
#[cfg(feature = "service")]
mod place;
#[cfg(feature = "service")]
pub mod recording;
#[cfg(feature = "service")]
mod route;
#[cfg(feature = "service")]
mod sandbox;
#[cfg(feature = "service")]
mod tap;
#[cfg(feature = "service")]
mod target;

#[cfg(feature = "service")]
pub use body::Body;
#[cfg(feature = "service")]
pub use inspector::{Inspector, InspectorBuilder};
#[cfg(feature = "service")]
pub use place::{BenchOrder, Find, KnownServer, Login, LoginStep, Mounted, Opening, Place, PlaceKind};
#[cfg(feature = "service")]
pub use tap::{Direction, HttpExchange, Seen, Tap};
#[cfg(feature = "service")]
pub use target::PassiveTarget;
