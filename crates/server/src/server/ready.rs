//! From a builder to a running server.

use std::{future::Future, sync::Arc};

use couplet_core::{Error, Transport};

use super::{Server, or_panic};
use crate::{handle::ServerHandle, inner::Inner, mount::Outward};

/// A server whose handlers have their state, or need none: a `Server<()>`. This trait is sealed; it exists so that the
/// compiler can name [`Server::with_state`] where the state is missing.
#[diagnostic::on_unimplemented(
    message = "the handlers of this server have no state yet: `{Self}`",
    label = "call `.with_state(..)` first",
    note = "`Server::with_state` gives a `Server<()>`, which can be built and served"
)]
pub trait Ready: sealed::Sealed {
    /// Returns the server itself.
    fn ready(self) -> Server<()>;
}

impl Ready for Server<()> {
    fn ready(self) -> Self {
        self
    }
}

mod sealed {
    /// Implemented for every server, so that a missing state is an unimplemented `Ready` and nothing else.
    pub trait Sealed {}

    impl<S> Sealed for super::Server<S> {}
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Builds the server. The [`ServerHandle`] can be served, connected to in memory, and changed while it runs.
    ///
    /// ```
    /// use couplet_server::{Server, resource};
    ///
    /// let server = Server::new("clock", "1.0.0").resource(resource("clock://now", || "noon").subscribable()).build();
    /// // Later, from anywhere: subscribed clients are notified.
    /// server.updated("clock://now");
    /// ```
    ///
    /// # Panics
    /// If two tools, two prompts or two resources have the same name or URI (the message has both places), or if a tool
    /// has data for an [extension](Server::extension) that the server lacks, or if it and a [mounted](Server::mount) server
    /// declare an extension with different settings (the message names both).
    #[track_caller]
    pub fn build(self) -> ServerHandle
    where
        Self: Ready,
    {
        let Server { config, tools, resources, prompts, methods, middleware, listeners, mounts, mut extensions } =
            self.ready();
        let extended: Vec<_> = extensions.iter_mut().flat_map(|e| std::mem::take(&mut e.resources)).collect();
        let methods = methods.into_iter().map(|(name, (method, _))| (name, method)).collect();
        let handle = ServerHandle(Arc::new(Inner::new(config, methods, middleware, listeners, mounts, extensions)));
        let inner = &handle.0;
        or_panic(inner.merged().conflicts.into_iter().next().map_or(Ok(()), Err));
        or_panic(inner.resources.add_all(resources));
        or_panic(inner.resources.add_all(extended));
        or_panic(inner.prompts.add_all(prompts));
        tools.iter().for_each(|tool| or_panic(handle.check_tool(tool)));
        or_panic(inner.tools.add_all(tools));
        inner.refresh();
        for mount in inner.mounts.clone() {
            let outer = Arc::downgrade(inner);
            let refresh = move || outer.upgrade().iter().for_each(|inner| inner.refresh());
            let service = mount.service.clone();
            inner.hub.relay(service.hub(), Outward { mount, refresh: Box::new(refresh) });
        }
        handle
    }

    /// Builds the server and serves it on a transport, until the transport ends: on standard input and output when the
    /// client closes them, over HTTP at shutdown. Dropping the future closes all connections and cancels running calls.
    ///
    /// # Errors
    /// If the transport fails, for example because an address is in use.
    ///
    /// # Panics
    /// As [`Server::build`] does.
    #[track_caller]
    pub fn serve(self, transport: impl Transport) -> impl Future<Output = Result<(), Error>>
    where
        Self: Ready,
    {
        self.build().serve(transport)
    }
}

/// Builds the server; see [`Server::build`].
impl From<Server<()>> for ServerHandle {
    #[track_caller]
    fn from(server: Server<()>) -> Self {
        server.build()
    }
}
