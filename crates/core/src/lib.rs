//! The Model Context Protocol without I/O: no sockets, no clocks, no tasks.
//!
//! | for authors of | items |
//! |---|---|
//! | servers and middleware | [`Service`], [`Wrap`], [`Call`], [`Reply`], [`ResultBody`], [`Description`], [`Hub`], [`Outbox`], [`Inputs`], [`Caller`] |
//! | message transports | [`Transport`], [`Connect`], [`pump::MessageStream`], [`pump::serve`], [`pump::connect`] |
//! | other transports | [`Connection`], [`ServerConnection`], [`ClientConnection`], [`Channel`], [`Router`], [`EncodedMessage`], [`message`], [`http`] |
//! | extensions | [`ExtensionSpec`], [`ExtensionEvent`], [`Project`], [`extension_messages!`] |
//! | gateways | [`Dialect`], [`Outcome`], [`RequestOptions`], [`Negotiation`], [`Relay`], [`Topic`], [`TaskIds`] |
//! | replicas | [`ChangeBus`], [`BusSubscription`], [`Bridge`] |
//! | telemetry | [`Observer`], [`Operation`], [`Failure`] |
//!
//! A [`ServerConnection`] turns messages into [`Call`]s of a [`Service`] and replies into messages; a
//! [`ClientConnection`] sends the requests of a [`Channel`] and routes their responses. The owner of the bytes (a pipe, a
//! socket, a test) drives either one with the functions of [`Connection`], whose documentation is the contract, or
//! implements [`pump::MessageStream`] and lets a [`pump::Pump`] do so. Time comes in as an argument; keys and ids come
//! from the system's random source.
//!
//! This crate must not know how bytes travel, which runtime runs it, or what a handler looks like. Within it, only `wire/`
//! knows revisions and eras; everything else asks a [`Revision`].

#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
pub mod clock;
mod error;
pub mod http;
mod limits;
pub mod message;
mod outage;
mod server;
mod service;
pub mod sync;
mod transport;
mod wire;

pub use client::channel::{Channel, Inbound};
pub use client::connection::{ClientConnection, ClientHandle};
pub use client::exchange::{Driver, Exchange};
pub use client::mailbox::{Event, Mailbox};
pub use client::outgoing::{Outgoing, encode_answer};
pub use client::requests::{ServerRequest, Slot};
pub use client::router::{Cancellation, Outlet, Router, Source};
/// The types of the protocol.
pub use couplet_types as types;
pub use error::{Error, ErrorKind};
pub use limits::Limits;
pub use message::oversized::{Oversized, Skimmed};
pub use message::scan::{Bounds, Fault, JsonText};
pub use message::text::EncodedMessage;
pub use message::visible::{is_blank, visible};
pub use outage::{Outage, OutageChange};
pub use server::bus::{
    BusSubscription, ChangeBus,
    bridge::{Bridge, BridgeFailure, BridgeRuntime},
    memory::MemoryBus,
};
pub use server::connection::ServerConnection;
pub use server::hub::{Change, ExtensionEvent, Filter, Hub, Subscription, Topic};
pub use server::input::{Backchannel, Driven, Inputs, Journal};
pub use server::outbound::{Outbound, Route};
pub use server::outbox::{NotificationSink, Outbox};
pub use server::question::excerpt;
pub use server::relay::Relay;
pub use server::running::BoxFuture;
pub use server::seal::Sealer;
pub use service::caller::{Caller, Sender};
pub use service::extension::{ExtensionMethod, ExtensionSpec};
pub use service::idempotency;
pub use service::metric::{Metric, MetricKind};
pub use service::observer::{Disconnected, Failure, Observer, Operation, Side};
pub use service::wrap::{IntoService, Wrap};
pub use service::{
    CacheHint, Call, ClientNotification, Description, Peer, Refusals, Reply, RequestContext, ResultBody, Service,
};
pub use transport::{Connect, Connected, IntoTarget, Itself, Transport, connection::Connection, memory, pump};
pub use wire::{
    Outcome,
    dialect::{Dialect, RequestOptions},
    method::{Cached, CallTarget, Method, Retry},
    modern::{CachePolicy, PeerCache},
    negotiate::{Negotiation, Probe, Step},
    project::{Ask, Project},
    revision::Revision,
    task::TaskIds,
};
