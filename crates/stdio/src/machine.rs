//! The two machines that move no bytes themselves: a server's side of a connection and a client's.

use std::task::{Context, Poll};

use bytes::Bytes;
use couplet_core::{ClientConnection, EncodedMessage, Oversized, ServerConnection};

/// What the loop drives: either side of a connection.
pub(crate) trait Machine {
    /// How many lines are taken before others get their turn.
    const LINES: usize;

    fn receive(&mut self, frame: Bytes);
    fn receive_too_long(&mut self, message: &Oversized);
    fn wants_input(&self) -> bool;
    fn end_input(&mut self) -> Rest;
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>>;
    /// Goes on with what runs, while nothing can be sent.
    fn poll_run(&mut self, cx: &mut Context<'_>);
}

/// What is left to do when no more input will come.
#[derive(Debug)]
pub(crate) enum Rest {
    /// What was received is answered.
    Answers,
    /// Nothing: whoever owns the machine tells it why.
    Nothing,
}

impl Machine for ServerConnection {
    const LINES: usize = 256;

    fn receive(&mut self, frame: Bytes) {
        self.receive(frame);
    }
    fn receive_too_long(&mut self, message: &Oversized) {
        self.receive_too_long(message);
    }
    fn wants_input(&self) -> bool {
        self.wants_input()
    }
    fn end_input(&mut self) -> Rest {
        self.end_input();
        Rest::Answers
    }
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        self.poll_send(cx)
    }
    fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.poll_run(cx);
    }
}

impl Machine for ClientConnection {
    /// Few, so that those who got an answer can send their next request while other answers are read: the server then
    /// has work while the client has, and neither sleeps between two bursts.
    const LINES: usize = 8;

    fn receive(&mut self, frame: Bytes) {
        self.receive(frame);
    }
    fn receive_too_long(&mut self, message: &Oversized) {
        self.receive_too_long(message);
    }
    fn wants_input(&self) -> bool {
        self.wants_input()
    }
    fn end_input(&mut self) -> Rest {
        Rest::Nothing
    }
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        self.poll_send(cx)
    }
    fn poll_run(&mut self, cx: &mut Context<'_>) {
        self.poll_run(cx);
    }
}
