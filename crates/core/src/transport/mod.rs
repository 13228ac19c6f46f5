//! The traits of transports: where a server is served, and what a client connects to.
//!
//! | file | subject |
//! |---|---|
//! | `connection` | the contract for driving either side of a connection |
//! | `pump` | a driver over any stream of messages, without a runtime |
//! | `background` | the work of a service that is no call |
//! | `memory` | a client and a server in one program |

mod background;
pub(crate) mod connection;
pub mod memory;
pub mod pump;

use std::sync::Arc;

use crate::{
    client::channel::{Channel, Inbound},
    error::Error,
    limits::Limits,
    server::running::BoxFuture,
    service::Service,
};

/// A transport that a server is served on: standard input and output, a pipe, a port.
///
/// A transport whose messages are one ordered stream in each direction implements
/// [`MessageStream`](crate::transport::pump::MessageStream) and calls [`pump::serve`](crate::transport::pump::serve) here.
pub trait Transport: Send {
    /// Serves until the client is gone, or for ever.
    fn serve(self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>>
    where
        Self: Sized;
}

/// A target that a client connects to: a program to start, a URL, a server in this process.
///
/// A transport whose messages are one ordered stream in each direction implements
/// [`MessageStream`](crate::transport::pump::MessageStream) and calls [`pump::connect`](crate::transport::pump::connect) here.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a target to connect to",
    note = "a URL needs the feature `http-client`; to start a program, use `Command::new`"
)]
pub trait Connect: Send {
    /// Opens a connection. It may be called again after the previous connection was lost.
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>>;

    /// Returns a name that is the same for every connection to the same server, and different for others.
    ///
    /// It is the key under which a client caches answers for several connections. With the default, `None`, cached
    /// answers are not shared: each connection has a cache of its own, which is empty after a reconnect.
    fn server(&self) -> Option<String> {
        None
    }
}

impl<C: Connect + ?Sized> Connect for Box<C> {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        (**self).connect(inbound, limits)
    }

    fn server(&self) -> Option<String> {
        (**self).server()
    }
}

impl<C: Connect + ?Sized> Connect for &mut C {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        (**self).connect(inbound, limits)
    }

    fn server(&self) -> Option<String> {
        (**self).server()
    }
}

/// Connects to a server in this process.
impl Connect for Arc<dyn Service> {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let connected = crate::transport::memory::connect(self.clone(), &limits, inbound, &limits);
        Box::pin(async { Ok(connected) })
    }
}

/// An argument of a client's `connect`: a [`Connect`], or something that a transport turns into one, such as a URL.
///
/// `Kind` is never named by a caller. It lets a transport crate implement this trait for a type that is not its own,
/// with a marker type that is: `impl IntoTarget<Url> for &str`. For a target of your own implement [`Connect`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a target to connect to",
    note = "a URL needs the feature `http-client`; to start a program, use `Command::new`"
)]
pub trait IntoTarget<Kind> {
    /// The target.
    type Target: Connect;

    /// Returns the target. A mistake in the argument is reported when a client connects.
    fn into_target(self) -> Self::Target;
}

/// The `Kind` of [`IntoTarget`] for types that implement [`Connect`].
#[derive(Debug)]
pub enum Itself {}

impl<C: Connect> IntoTarget<Itself> for C {
    type Target = C;

    fn into_target(self) -> C {
        self
    }
}

/// A connection that was opened.
pub struct Connected {
    /// The channel to send requests on.
    pub channel: Arc<dyn Channel>,
    /// The future that moves the messages. It must be polled for the connection to live, and ends when the connection
    /// does, with the reason.
    pub driver: BoxFuture<'static, Result<(), Error>>,
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connected").finish_non_exhaustive()
    }
}
