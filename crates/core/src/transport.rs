//! Where a server is served and a client connects to.

use std::sync::Arc;

use crate::{
    client::exchange::{Channel, Inbound},
    error::Error,
    limits::Limits,
    server::running::BoxFuture,
    service::Service,
};

/// A place where a server can be served: standard input and output, a pipe, a port.
pub trait Transport: Send {
    /// Serves until the other side is gone, or for ever.
    fn serve(self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>>
    where
        Self: Sized;
}

/// A place that a client can connect to: a program to start, an address, a server in this process.
#[diagnostic::on_unimplemented(
    message = "a client cannot connect to `{Self}`",
    label = "not a server to connect to",
    note = "use a `Command` for a program to start, or the server itself",
    note = "URLs need the feature `http-client` of `couplet`, or `http` of `couplet-client`"
)]
pub trait Connect: Send {
    /// Opens a connection. It may be called again when the first one was lost.
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>>;

    /// A name that is the same for every connection to the same server, and different for others, if there is one.
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

/// A connection that was opened.
pub struct Connected {
    /// What to send requests with.
    pub channel: Arc<dyn Channel>,
    /// What must run for the connection to live. It ends when the connection does, with the reason.
    pub driver: BoxFuture<'static, Result<(), Error>>,
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connected").finish_non_exhaustive()
    }
}

/// A server in this process is a place to connect to.
impl Connect for Arc<dyn Service> {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let connected = crate::memory::connect(self.clone(), &limits, inbound, &limits);
        Box::pin(async { Ok(connected) })
    }
}
