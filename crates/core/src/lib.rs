//! What the Model Context Protocol does, without doing any of it: no sockets, no clocks, no tasks.
//!
//! Bytes come in as messages ([`message`]), are classified and turned into [`Call`]s for a [`Service`] by a
//! [`ServerConnection`]; a client's requests go out through a [`Channel`] and are driven by a [`ClientConnection`]. Time and randomness
//! come in as arguments. Whoever owns the bytes (a pipe, a socket, a test) drives both with three functions.
//!
//! What this crate must not know: how bytes travel, what runtime runs it, what a handler looks like. Within it, only
//! `wire/` knows revisions and eras; everything else asks a [`Revision`].

mod client;
mod error;
pub mod http;
mod limits;
pub mod memory;
pub mod message;
mod server;
mod service;
mod sync;
mod transport;
mod wire;

pub use client::connection::{ClientConnection, ClientHandle};
pub use client::exchange::{Channel, Event, Exchange, Inbound, Mailbox, Outgoing, encode_answer};
/// The types of the protocol, which this crate is about.
pub use couplet_types as types;
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use message::oversized::{Oversized, Skimmed};
pub use message::scan::{Bounds, Fault, JsonText};
pub use message::text::EncodedMessage;
pub use server::connection::ServerConnection;
pub use server::hub::{Change, ExtensionEvent, Filter, Hub, Subscription};
pub use server::input::{Backchannel, Driven, Inputs};
pub use server::outbound::{Outbound, Route};
pub use server::outbox::{NotificationSink, Outbox};
pub use server::question::excerpt;
pub use server::relay::Relay;
pub use server::running::BoxFuture;
pub use server::seal::Sealer;
pub use service::caller::Caller;
pub use service::extension::{ExtensionMethod, ExtensionSpec};
pub use service::observer::{Disconnected, Failure, Observer, Operation, Side};
pub use service::{Call, ClientNotification, Description, Peer, Reply, RequestContext, ResultBody, Service};
pub use transport::{Connect, Connected, Transport};
pub use wire::{
    Outcome,
    dialect::{Dialect, RequestOptions},
    modern::{CachePolicy, PeerCache},
    negotiate::{Negotiation, Probe, Step},
    project::{Ask, Project},
    revision::Revision,
};
