//! State that is created when a server starts and disposed of when it ends.

use std::{fmt, future::Future};

use couplet_core::{Error, ErrorKind, Transport};

use crate::server::Server;

/// A server whose state is created when it is served. See [`Server::lifespan`].
#[must_use = "a server does nothing until it is served"]
pub struct Lifespan<S, Start, Stop> {
    pub(crate) server: Server<S>,
    pub(crate) start: Start,
    pub(crate) stop: Stop,
}

impl<S, Start, Starting, E, Stop, Stopping> Lifespan<S, Start, Stop>
where
    S: Clone + Send + Sync + 'static,
    Start: FnOnce() -> Starting,
    Starting: Future<Output = Result<S, E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
    Stop: FnOnce(S) -> Stopping,
    Stopping: Future<Output = ()>,
{
    /// Creates the state, serves until the transport ends, and disposes of the state, also if serving failed.
    ///
    /// # Cancellation
    /// If the future is dropped, the state is dropped with it, and the function that disposes of it does not run.
    ///
    /// # Errors
    /// If the state cannot be created, or the transport fails.
    pub async fn serve(self, transport: impl Transport) -> Result<(), Error> {
        let state = (self.start)()
            .await
            .map_err(|e| Error::new(ErrorKind::Config, "the server could not start").with_source(e))?;
        let served = self.server.with_state(state.clone()).serve(transport).await;
        (self.stop)(state).await;
        served
    }
}

impl<S, Start, Stop> fmt::Debug for Lifespan<S, Start, Stop> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lifespan").field("server", &self.server).finish_non_exhaustive()
    }
}
