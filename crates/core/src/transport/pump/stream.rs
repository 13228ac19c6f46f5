//! What a message transport implements.

use std::{
    io,
    task::{Context, Poll},
};

use bytes::Bytes;

use crate::message::{oversized::Oversized, text::EncodedMessage};

/// A stream of messages in both directions: what a message transport implements to be driven by a
/// [`Pump`](crate::transport::pump::Pump).
///
/// The sending half follows the contract of `futures::Sink`: [`send`](MessageStream::send) is called only after
/// [`poll_ready`](MessageStream::poll_ready) was ready, and may buffer; [`poll_flush`](MessageStream::poll_flush) writes
/// what is buffered. Every method that returns `Poll::Pending` wakes the task of its context when it can go on. No method
/// may wait for the other direction.
///
/// The example `websocket` in the repository is an implementation for a server and a client.
pub trait MessageStream {
    /// Receives the next message; `None` when the peer will send no more. It is not called again after that.
    ///
    /// A message above the limit must not be held in memory as a whole; use [`Received::new`] where the transport
    /// delivers whole frames and has a limit of its own.
    ///
    /// # Errors
    /// When the transport fails, or its framing is broken.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Received>>>;

    /// Waits for room for one message.
    ///
    /// # Errors
    /// When the transport fails.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Takes one message to send. It must not block.
    ///
    /// # Errors
    /// When the transport fails.
    fn send(&mut self, message: EncodedMessage) -> io::Result<()>;

    /// Writes what is buffered. It is called whenever messages may wait, so it must be cheap when none do.
    ///
    /// # Errors
    /// When the transport fails.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Writes what is buffered, and closes the sending half, so that the peer sees the end. Only `poll_receive` and
    /// `poll_close` are called after this.
    ///
    /// # Errors
    /// When the transport fails.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Returns the value of OpenTelemetry's `network.transport` (`tcp`, `pipe`, `unix`, `quic`); with `None`, the
    /// default, a client's spans and metrics do not have that attribute.
    fn transport(&self) -> Option<&'static str> {
        None
    }
}

/// One frame from the peer.
#[derive(Debug)]
pub enum Received {
    /// A frame within the limit.
    Message(Bytes),
    /// A frame above the limit, which was dropped.
    Oversized(Oversized),
}

impl Received {
    /// Sorts a whole frame by its size; `limit` is [`Limits::message`](crate::Limits::message).
    pub fn new(frame: Bytes, limit: usize) -> Self {
        if frame.len() <= limit { Self::Message(frame) } else { Self::Oversized(Oversized::of(&frame)) }
    }
}
