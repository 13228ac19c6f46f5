//! An HTTP/1.1 connection that is driven by the request that uses it.
//!
//! hyper's connections are futures of their own, and are meant to be spawned. Then each request wakes another task, which
//! wakes the task of the request again. Here the task of the request polls both.

use std::{
    future::{Future, poll_fn},
    mem,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use couplet_core::Error;
use futures_core::Stream;
use http::{Request, Response};
use http_body_util::Full;
use hyper::{
    body::Incoming,
    client::conn::{
        TrySendError,
        http1::{Builder, Connection, SendRequest},
    },
};
use tokio::task::unconstrained;

use super::{
    hyper::{MAX_HEAD, Pieces},
    proxy,
};

type Io = Connection<proxy::Stream, Full<Bytes>>;

/// A connection, and the handle that requests are sent with.
pub(crate) struct InlineConnection {
    sender: SendRequest<Full<Bytes>>,
    /// `None` once it has ended.
    io: Option<Io>,
    /// The pieces of a body that were there at once, one after the other.
    pieces: usize,
}

/// The number of pieces after which other work of the task has its turn. A task of its own would let it run after each.
const MOST_PIECES: usize = 8;

impl InlineConnection {
    /// Creates a connection, in a box: it is large, and goes from the pool to a request, to its response and back.
    pub(crate) async fn new(stream: proxy::Stream) -> hyper::Result<Box<Self>> {
        let (sender, io) = Builder::new().max_buf_size(MAX_HEAD).handshake(stream).await?;
        Ok(Box::new(Self { sender, io: Some(io), pieces: 0 }))
    }

    /// Reads and writes as much as is possible now.
    fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(io) = &mut self.io else { return };
        if let Poll::Ready(end) = Pin::new(io).poll(cx) {
            if let Err(error) = end {
                tracing::debug!(%error, "a connection ended");
            }
            // A request or a body that waits for it learns of it.
            self.io = None;
        }
    }

    /// Returns whether it can take the next request now, after a look at what the server did meanwhile.
    pub(crate) fn is_idle(&mut self) -> bool {
        let mut unwoken = Context::from_waker(Waker::noop());
        self.drive(&mut unwoken);
        if !self.sender.is_ready() {
            // The end of the last response may take a second look.
            self.drive(&mut unwoken);
        }
        self.io.is_some() && self.sender.is_ready()
    }

    /// Sends a request, and waits for the head of the response.
    ///
    /// # Errors
    /// With the request, if nothing of it was written.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        self.pieces = 0;
        // It does not wait for a share of the task's time, of which only a waker would learn.
        let mut response = pin!(unconstrained(self.sender.try_send_request(request)));
        let mut is_written = false;
        poll_fn(|cx| {
            if !mem::replace(&mut is_written, true) {
                // There is no response yet.
                self.drive(cx);
                return response.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
            self.poll_for(cx, |unwoken| response.as_mut().poll(unwoken))
        })
        .await
    }

    /// Polls the body of a response that comes on this connection.
    pub(crate) fn poll_piece(
        &mut self,
        body: &mut Pieces<Incoming>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        if self.pieces >= MOST_PIECES {
            self.pieces = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let piece = self.poll_for(cx, |unwoken| Pin::new(&mut *body).poll_next(unwoken));
        self.pieces = if piece.is_ready() { self.pieces + 1 } else { 0 };
        piece
    }

    /// Polls for something that the connection alone makes, in this task, so that it needs no waker. Nor has the connection
    /// one before there is nothing left to do: it would wake this task for what is done here.
    fn poll_for<T>(&mut self, cx: &mut Context<'_>, mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        let mut unwoken = Context::from_waker(Waker::noop());
        // A body asks for its next piece, and the connection reads no more than it was asked for.
        if let Poll::Ready(found) = poll(&mut unwoken) {
            return Poll::Ready(found);
        }
        self.drive(&mut unwoken);
        if let Poll::Ready(found) = poll(&mut unwoken) {
            return Poll::Ready(found);
        }
        self.drive(cx);
        poll(&mut unwoken)
    }
}
