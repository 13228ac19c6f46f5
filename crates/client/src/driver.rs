//! What keeps a connection alive.

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
    inbox::Inbox,
    trace::{Connection, disconnected},
};

type Ending = Result<(), Error>;

/// The future of a connection: it must run for the [`Client`](crate::Client) to work, and ends when the connection
/// does. Dropping it ends the connection.
#[must_use = "a connection lives as long as its driver runs"]
pub struct Driver {
    connection: Option<BoxFuture<'static, Ending>>,
    inbox: Arc<Inbox>,
    ending: watch::Sender<Option<Ending>>,
    watched: Option<Watched>,
}

/// Somebody who wants to hear of the end, and of what.
type Watched = (Arc<dyn Observer>, Connection);

impl Driver {
    pub(crate) fn new(connection: BoxFuture<'static, Ending>, inbox: Arc<Inbox>, watched: Option<Watched>) -> Self {
        Self { connection: Some(connection), inbox, ending: watch::Sender::new(None), watched }
    }

    /// Where the end of the connection can be waited for.
    pub(crate) fn ending(&self) -> watch::Receiver<Option<Ending>> {
        self.ending.subscribe()
    }

    fn end(&mut self, ending: Ending) {
        self.connection = None;
        self.inbox.close();
        if let Some((observer, connection)) = self.watched.take() {
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

/// Lets a connection run while `work` needs it, and fails if the connection ends first.
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
        // The answer may be the last thing that came.
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(done));
        }
        let closed = Error::new(ErrorKind::Closed, "the server closed the connection");
        Poll::Ready(Err(ending.err().map_or(closed.clone(), |e| closed.with_source(e))))
    })
    .await
}
