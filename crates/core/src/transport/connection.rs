//! The interface between a state machine of the protocol and the transport that drives it.

use std::task::{Context, Poll};

use bytes::Bytes;

use crate::{
    client::connection::ClientConnection,
    message::{oversized::Oversized, text::EncodedMessage},
    server::connection::ServerConnection,
};

/// Either side of a connection: a state machine that a transport feeds with messages and asks for messages to send.
///
/// It does no I/O, starts no task and reads no clock. [`Pump`](crate::transport::pump::Pump) drives it over a
/// [`MessageStream`](crate::transport::pump::MessageStream) and keeps the contract below; implement a loop of your own only if your
/// transport is not one stream in each direction.
///
/// # Inputs and outputs
/// * [`receive`](Connection::receive) takes one frame. It parses and routes it and never waits; handlers do not run
///   in it.
/// * [`receive_oversized`](Connection::receive_oversized) takes the place of `receive` for a frame above
///   [`Limits::message`](crate::Limits::message), which the transport has to drop as it arrives.
/// * [`end_input`](Connection::end_input) is called once, after the last `receive`.
/// * [`poll_send`](Connection::poll_send) runs handlers and returns the next message to send. After
///   `Poll::Ready(None)` there will be no other: deliver what was returned, then close the transport.
/// * Dropping the connection cancels everything that runs on it.
///
/// # Order
/// Messages are received in the order of the peer, and sent in the order in which `poll_send` returns them. Every call
/// of `receive` must be followed by a call of `poll_send` (or `poll_run`) before the task goes to sleep.
///
/// # Waking
/// `poll_send` and `poll_run` register the waker of their context; only the last one counts. It is woken when a handler
/// can go on, when a message was queued (also by another thread, through a [`ClientHandle`](crate::ClientHandle) or a
/// [`Hub`](crate::Hub)), and when the connection was closed. A `Poll::Pending` therefore means: sleep until this waker
/// or the one of the transport is woken, then poll again.
///
/// # Backpressure
/// * Read from the transport only while [`wants_input`](Connection::wants_input) is true. It is false while the peer
///   does not read what it was sent, and can be true again after any `poll_send` or `poll_run`; nothing is woken for
///   that, so check it after each of them. A frame that is received nevertheless is not lost, but memory is then not
///   bounded by the [`Limits`](crate::Limits).
/// * Call `poll_send` only while the transport can take a message. While it cannot, call
///   [`poll_run`](Connection::poll_run), so that handlers go on and cancellations have effect.
///
/// # Fairness
/// Both directions take turns: after at most [`burst`](Connection::burst) frames, call `poll_send` until it is pending
/// or the transport is full, and give way to other tasks every few turns. A transport that reads until there is nothing
/// left to read lets a fast peer starve its own answers.
///
/// # Example
/// A client and a server in one process, without a transport:
///
/// ```
/// use std::task::{Context, Poll};
/// use couplet_core::Connection;
///
/// /// Moves messages one way; true if there were any.
/// fn forward(from: &mut impl Connection, to: &mut impl Connection, cx: &mut Context<'_>) -> bool {
///     let mut moved = false;
///     while to.wants_input() {
///         match from.poll_send(cx) {
///             Poll::Ready(Some(message)) => to.receive(message.into_bytes()),
///             Poll::Ready(None) | Poll::Pending => break,
///         }
///         moved = true;
///     }
///     moved
/// }
/// ```
pub trait Connection {
    /// Takes one frame: a message, or in one revision a batch of them. A frame that cannot be parsed is answered or
    /// reported as the protocol says; it is never an error of the connection.
    ///
    /// Poll afterwards: receiving starts handlers but does not wake the task.
    fn receive(&mut self, frame: Bytes);

    /// Takes note of a frame that is above the limit and was dropped: the request is refused, or the request that it
    /// answered fails.
    fn receive_oversized(&mut self, message: &Oversized);

    /// Returns whether another frame may be received now.
    fn wants_input(&self) -> bool;

    /// Ends the input. A server still answers what it has received; on a client every request that waits for an answer
    /// fails with `why`.
    fn end_input(&mut self, why: &str);

    /// Runs handlers and returns the next message to send; `None` when there will be no other.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>>;

    /// Runs handlers without sending anything, for while the transport is full.
    fn poll_run(&mut self, cx: &mut Context<'_>);

    /// Returns the number of frames to receive before messages are sent and other tasks run.
    fn burst(&self) -> usize;
}

impl Connection for ServerConnection {
    fn receive(&mut self, frame: Bytes) {
        self.receive(frame);
    }

    fn receive_oversized(&mut self, message: &Oversized) {
        self.receive_oversized(message);
    }

    fn wants_input(&self) -> bool {
        self.wants_input()
    }

    fn end_input(&mut self, _: &str) {
        self.end_input();
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        self.poll_send(cx)
    }

    fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.poll_run(cx);
    }

    fn burst(&self) -> usize {
        256
    }
}

impl Connection for ClientConnection {
    fn receive(&mut self, frame: Bytes) {
        self.receive(frame);
    }

    fn receive_oversized(&mut self, message: &Oversized) {
        self.receive_oversized(message);
    }

    fn wants_input(&self) -> bool {
        self.wants_input()
    }

    fn end_input(&mut self, why: &str) {
        self.end_input(why);
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        self.poll_send(cx)
    }

    fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.poll_run(cx);
    }

    /// Few, so that callers that got an answer can send their next request while other answers are read: the server
    /// then has work while the client has, and neither sleeps between two bursts.
    fn burst(&self) -> usize {
        8
    }
}
