//! The future that runs a connection.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use couplet_core::{BoxFuture, Error, ErrorKind, Observer};
use tokio::sync::watch;

use crate::{
    incoming::Incoming,
    trace::{ConnectionTrace, disconnected},
};

type Ending = Result<(), Error>;

/// The future that runs a connection. It has to be polled for the [`Client`](crate::Client) to work.
///
/// It completes when the connection is closed, with the reason if that is an error. Dropping it closes the connection.
/// [`ClientBuilder::connect`](crate::ClientBuilder::connect) spawns it as a tokio task;
/// [`ClientBuilder::connect_with_driver`](crate::ClientBuilder::connect_with_driver) returns it.
#[must_use = "a connection makes progress only while its driver is polled"]
pub struct Driver {
    connection: Option<BoxFuture<'static, Ending>>,
    incoming: Arc<Incoming>,
    ending: watch::Sender<Option<Ending>>,
    telemetry: Option<Telemetry>,
}

/// The observer to notify when the connection is closed.
type Telemetry = (Arc<dyn Observer>, ConnectionTrace);

impl Driver {
    pub(crate) fn new(
        connection: BoxFuture<'static, Ending>,
        incoming: Arc<Incoming>,
        telemetry: Option<Telemetry>,
    ) -> Self {
        Self { connection: Some(connection), incoming, ending: watch::Sender::new(None), telemetry }
    }

    /// Returns a receiver of the end of the connection.
    pub(crate) fn ending(&self) -> watch::Receiver<Option<Ending>> {
        self.ending.subscribe()
    }

    fn end(&mut self, ending: Ending) {
        self.connection = None;
        self.incoming.close();
        if let Some((observer, connection)) = self.telemetry.take() {
            disconnected(&observer, &connection, &ending);
        }
        self.ending.send_replace(Some(ending));
    }
}

impl Future for Driver {
    type Output = Ending;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ending> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(Ok(())) };
        let Poll::Ready(ending) = connection.as_mut().poll(cx) else { return Poll::Pending };
        self.end(ending.clone());
        Poll::Ready(ending)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if self.connection.is_some() {
            self.end(Ok(()));
        }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("ended", &self.connection.is_none()).finish_non_exhaustive()
    }
}

/// Runs a connection until `work` is done. Fails if the connection is closed first.
pub(crate) async fn beside<T>(
    connection: &mut (dyn Future<Output = Ending> + Send + Unpin),
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(done));
        }
        let Poll::Ready(ending) = Pin::new(&mut *connection).poll(cx) else { return Poll::Pending };
        // The response may have been the last message.
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(done));
        }
        let closed = Error::new(ErrorKind::Closed, "the server closed the connection");
        Poll::Ready(Err(ending.err().map_or(closed.clone(), |e| closed.with_source(e))))
    })
    .await
}
