//! The client's side of one connection: a state machine that a transport drives.
//!
//! The counterpart of [`ServerConnection`](crate::ServerConnection): the transport drives a [`ClientConnection`] as
//! [`Connection`](crate::Connection) says, and the client sends requests with its [`ClientHandle`].

use std::{
    collections::HashSet,
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use couplet_types::{CancelledParams, RequestId};

use crate::{
    client::{
        channel::{Channel, Inbound},
        exchange::{Cancelled, Exchange},
        outgoing::Outgoing,
        requests::{ServerRequest, Slot},
        router::{Cancellation, Outlet, Router, Source},
    },
    error::{Error, ErrorKind},
    limits::{Limits, too_large},
    message::{oversized::Oversized, text::EncodedMessage},
    server::{
        batch::Batch,
        queue::{EntryKind, Queue},
        running::Running,
    },
    wire::{self, dialect::Dialect},
};

/// The client's side of one connection. It does no I/O: see [`Connection`](crate::Connection) for how it is driven.
///
/// The server's requests are answered inside [`ClientConnection::poll_send`], by the task that owns the connection.
/// Dropping the connection drops these answers, and fails every request that waits for one.
pub struct ClientConnection {
    shared: Arc<Shared>,
    /// The server's requests that are being answered.
    running: Running<Option<Batch>, Option<Bytes>>,
}

/// A [`Channel`] on a [`ClientConnection`]. Clones are the same channel; dropping the last one closes the connection.
#[derive(Clone)]
pub struct ClientHandle {
    owned: Arc<Owned>,
    transport: Option<&'static str>,
}

/// The part of a handle that all clones share.
struct Owned(Arc<Shared>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Shared {
    queue: Queue,
    router: Router,
}

impl ClientConnection {
    /// Creates a connection on which nothing was sent yet, and the handle to it.
    pub fn new(inbound: Arc<dyn Inbound>, limits: Limits) -> (Self, ClientHandle) {
        let shared = Arc::new(Shared { queue: Queue::new(limits.queue), router: Router::new(inbound, limits) });
        let handle = ClientHandle { owned: Arc::new(Owned(shared.clone())), transport: None };
        (Self { shared, running: Running::new() }, handle)
    }

    /// Takes one frame: a message, or in one revision a batch of them.
    pub fn receive(&mut self, frame: Bytes) {
        let (shared, mut answers) = self.parts();
        // On a connection every answer goes to the exchange that waits for it.
        let _ = shared.router.receive(frame, Source::Connection, &mut answers);
    }

    /// Takes note of a message that is above the limit and was dropped: the request that it answered fails.
    pub fn receive_oversized(&mut self, message: &Oversized) {
        let (shared, mut answers) = self.parts();
        shared.router.receive_oversized(message, &mut answers);
    }

    /// Ends the input: every request that waits for an answer fails with `why`, those that were not sent as
    /// [unsent](Error::is_unsent).
    pub fn end_input(&mut self, why: &str) {
        let unsent = if self.shared.router.unanswered() == 0 { HashSet::new() } else { self.shared.queue.calls() };
        self.shared.router.fail_all(|number| {
            let error = if unsent.contains(&RequestId::Number(number)) { Error::unsent } else { Error::new };
            error(ErrorKind::Closed, why)
        });
        self.shared.queue.close();
    }

    /// Returns whether another message may be taken now. The client's own requests that wait to be sent do not count:
    /// their answers may be what has to be received first.
    pub fn wants_input(&self) -> bool {
        self.shared.queue.unowned() < self.shared.router.limits().queue
    }

    /// Polls the answers to the server's requests and returns the next message to send; `None` when the client has
    /// closed the connection, or every handle is gone.
    pub fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        if let Some((_, text)) = self.shared.queue.pop() {
            return Poll::Ready(Some(text));
        }
        self.poll_run(cx);
        match self.shared.queue.pop() {
            Some((_, text)) => Poll::Ready(Some(text)),
            None if self.is_closed() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// Polls the answers to the server's requests without sending anything.
    pub fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.shared.queue.register(cx.waker());
        while let Poll::Ready((batch, answer)) = self.running.poll_next(cx) {
            if let Some(answer) = answer {
                self.shared.answer(batch.as_ref(), answer);
            }
        }
    }

    /// Returns the number of requests of either side that are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.shared.router.unanswered()
    }

    /// Returns whether the client has closed the connection, or its input has ended.
    pub fn is_closed(&self) -> bool {
        self.shared.router.is_closed()
    }

    fn parts(&mut self) -> (&Shared, Answers<'_>) {
        let Self { shared, running } = self;
        (shared, Answers { shared, running, batch: None })
    }
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        self.end_input("the connection was dropped");
    }
}

/// The answers to the server's requests of one frame.
struct Answers<'a> {
    shared: &'a Shared,
    running: &'a mut Running<Option<Batch>, Option<Bytes>>,
    batch: Option<Batch>,
}

impl Outlet for Answers<'_> {
    fn serve(&mut self, request: ServerRequest) {
        self.running.push(self.batch.clone(), Box::pin(request));
    }

    /// At once, so that refusals that wait to be sent stop the input.
    fn refuse(&mut self, refusal: Bytes, _: Slot) {
        self.shared.answer(self.batch.as_ref(), refusal);
    }

    fn begin_batch(&mut self) {
        self.batch = Some(Batch::new(self.shared.queue.clone()));
    }
}

impl Shared {
    fn close(&self) {
        self.router.close();
        self.queue.wake();
    }

    fn answer(&self, batch: Option<&Batch>, answer: Bytes) {
        match batch {
            Some(batch) => batch.answer(answer.into()),
            None => self.queue.push(EntryKind::Free, answer),
        }
    }
}

impl Cancelled for Shared {
    /// A request that is still in the queue is taken back; otherwise the server is notified.
    fn cancel(&self, number: i64) {
        let Some(id) = self.router.cancel(number) else { return };
        if !self.queue.purge(&id) {
            let params = wire::to_json(&CancelledParams::new(id));
            self.queue.push(EntryKind::Free, wire::notification("notifications/cancelled", &params));
        }
    }
}

impl ClientHandle {
    /// Sets the value of [`Channel::transport`].
    #[must_use]
    pub fn with_transport(mut self, transport: Option<&'static str>) -> Self {
        self.transport = transport;
        self
    }

    fn shared(&self) -> &Arc<Shared> {
        &self.owned.0
    }
}

impl Channel for ClientHandle {
    fn next_id(&self) -> RequestId {
        self.shared().router.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        let Shared { queue, router } = &**self.shared();
        let (id, method, most) = (request.id.clone(), request.method, router.limits().max_sent());
        let text = request.into_text();
        if text.len() > most {
            let what = too_large(&format!("the request `{method}`"), text.len(), most);
            return Exchange::failed(Error::unsent(ErrorKind::Config, what));
        }
        match router.open(&id, method, Cancellation::Notification) {
            Ok((number, mailbox)) => {
                queue.push(EntryKind::Notification(id), text);
                Exchange::numbered(mailbox, self.shared().clone(), number)
            }
            Err(error) => Exchange::failed(error),
        }
    }

    fn notify(&self, text: Bytes) {
        self.shared().queue.push(EntryKind::Free, text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.shared().router.agree(dialect);
    }

    fn close(&self) {
        self.shared().close();
    }

    fn note(&self) -> Option<String> {
        self.shared().router.note()
    }

    fn transport(&self) -> Option<&'static str> {
        self.transport
    }
}

impl fmt::Debug for ClientConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConnection").field("unanswered", &self.unanswered()).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientHandle").field("unanswered", &self.shared().router.unanswered()).finish_non_exhaustive()
    }
}
