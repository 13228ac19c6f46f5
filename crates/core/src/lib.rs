//! What the Model Context Protocol does, without doing any of it: no sockets, no clocks, no tasks.
//!
//! Bytes come in as messages ([`message`]), are classified and turned into [`Call`]s for a [`Service`] by a
//! [`Connection`]; a client's requests go out through a [`Channel`] and are driven by a [`Link`]. Time and randomness
//! come in as arguments. Whoever owns the bytes (a pipe, a socket, a test) drives both with three functions.
//!
//! What this crate must not know: how bytes travel, what runtime runs it, what a handler looks like. Within it, only
//! `wire/` knows revisions and eras; everything else asks a [`Shape`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod back;
mod batch;
mod caller;
mod error;
mod escape;
mod exchange;
mod extra;
mod gist;
pub mod http;
mod hub;
mod input;
mod json;
mod limits;
pub mod line;
mod link;
pub mod memory;
pub mod message;
mod outbound;
mod outbox;
mod pending;
mod question;
mod queue;
mod relay;
mod replay;
mod running;
mod seal;
mod serve;
mod service;
mod session;
mod spare;
mod sync;
mod text;
mod transport;
mod watch;
mod wire;

pub use caller::Caller;
/// The types of the protocol, which this crate is about.
pub use couplet_types as types;
pub use error::{Error, ErrorKind};
pub use exchange::{Channel, Event, Exchange, Inbound, Mailbox, Outgoing, print_answer};
pub use extra::{Extra, ExtraMethod};
pub use gist::{Gist, Oversized};
pub use hub::{Change, Hub, Interest, News, Subscription};
pub use input::{Backchannel, Driven, Inputs};
pub use json::{Bounds, Fault, JsonText};
pub use limits::Limits;
pub use link::{Handle, Link};
pub use outbound::{Outbound, Route};
pub use outbox::{Outbox, Tap};
pub use question::excerpt;
pub use relay::Relay;
pub use running::BoxFuture;
pub use seal::Sealer;
pub use serve::Connection;
pub use service::{Call, Description, Done, Note, Peer, Reply, RequestContext, Service};
pub use text::Text;
pub use transport::{Connect, Connected, Transport};
pub use watch::{Disconnected, Failure, Operation, Side, Watch};
pub use wire::{
    Outcome,
    dialect::{Dialect, Extras},
    modern::{CachePolicy, Memo},
    negotiate::{Negotiation, Probe, Step},
    project::{Ask, Project},
    revision::Shape,
};
