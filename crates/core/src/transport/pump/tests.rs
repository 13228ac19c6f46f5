//! The pump between a connection and a stream that follow a script.

use std::{
    collections::VecDeque,
    future::Future,
    io,
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::transport::pump::{End, MessageStream, Pump, Received};
use crate::{Connection, EncodedMessage, Oversized};

/// A connection that answers each message with itself.
#[derive(Debug, Default)]
struct Echo {
    queue: VecDeque<Bytes>,
    received: usize,
    oversized: usize,
    runs: usize,
    ended: bool,
}

impl Connection for Echo {
    fn receive(&mut self, frame: Bytes) {
        self.received += 1;
        self.queue.push_back(frame);
    }

    fn receive_oversized(&mut self, _: &Oversized) {
        self.oversized += 1;
    }

    fn wants_input(&self) -> bool {
        self.queue.len() < 2
    }

    fn end_input(&mut self, _: &str) {
        self.ended = true;
    }

    fn poll_send(&mut self, _: &mut Context<'_>) -> Poll<Option<EncodedMessage>> {
        match self.queue.pop_front() {
            Some(text) => Poll::Ready(Some(text.into())),
            None if self.ended => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn poll_run(&mut self, _: &mut Context<'_>) {
        self.runs += 1;
    }

    fn burst(&self) -> usize {
        4
    }
}

#[derive(Default)]
struct Script {
    input: VecDeque<Bytes>,
    eof: bool,
    room: usize,
    buffered: usize,
    sent: usize,
    closed: bool,
}

impl MessageStream for Script {
    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Option<Received>>> {
        match self.input.pop_front() {
            Some(frame) => Poll::Ready(Ok(Some(Received::new(frame, 8)))),
            None if self.eof => Poll::Ready(Ok(None)),
            None => Poll::Pending,
        }
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.buffered < self.room { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn send(&mut self, _: EncodedMessage) -> io::Result<()> {
        assert!(self.buffered < self.room && !self.closed, "there is no room");
        self.buffered += 1;
        Ok(())
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        assert!(!self.closed, "it is closed");
        Poll::Pending
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        (self.sent, self.buffered, self.closed) = (self.sent + self.buffered, 0, true);
        Poll::Ready(Ok(()))
    }
}

fn pump(messages: usize, room: usize) -> Pump<Echo, Script> {
    let input = (0..messages).map(|_| Bytes::from_static(b"{}")).collect();
    Pump::new(Echo::default(), Script { input, room, ..Script::default() })
}

fn poll(pump: &mut Pump<Echo, Script>) -> Poll<End> {
    pin!(pump.run()).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_peer_that_does_not_read_is_not_read_and_handlers_go_on() {
    let mut pump = pump(100, 3);
    assert!(poll(&mut pump).is_pending());
    // Three are in the stream, two in the connection, and the others are where they were.
    assert_eq!((pump.stream.buffered, pump.connection.queue.len(), pump.stream.input.len()), (3, 2, 95));
    assert!(pump.connection.runs > 0);
    pump.stream.room = 1000;
    while !pump.stream.input.is_empty() {
        assert!(poll(&mut pump).is_pending());
    }
    assert_eq!((pump.stream.buffered, pump.connection.received), (100, 100));
}

#[test]
fn other_tasks_run_after_a_number_of_turns() {
    let mut pump = pump(10_000, usize::MAX);
    assert!(poll(&mut pump).is_pending());
    assert!((1..1000).contains(&pump.connection.received), "{}", pump.connection.received);
}

#[test]
fn the_end_of_the_input_is_returned_once_and_the_rest_is_delivered() {
    let mut pump = pump(1, 2);
    pump.stream.eof = true;
    assert!(matches!(poll(&mut pump), Poll::Ready(End::Eof)));
    assert_eq!(pump.connection.received, 1);
    pump.connection.end_input("");
    assert!(matches!(poll(&mut pump), Poll::Ready(End::Done)));
    assert_eq!((pump.stream.sent, pump.stream.closed), (1, true));
}

#[test]
fn a_frame_above_the_limit_is_handed_over_as_such() {
    let mut pump = pump(0, 1);
    pump.stream.input = [Bytes::from_static(b"12345678"), Bytes::from_static(b"123456789")].into();
    assert!(poll(&mut pump).is_pending());
    assert_eq!((pump.connection.received, pump.connection.oversized), (1, 1));
}

#[test]
fn the_last_messages_of_a_peer_that_is_gone_are_received_whatever_the_backpressure() {
    let mut pump = pump(10, 0);
    pump.stream.eof = true;
    assert!(pin!(pump.receive_rest()).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert_eq!(pump.connection.received, 10);
}

#[test]
fn a_peer_that_is_gone_is_closed_and_anything_else_a_failure() {
    for (kind, closed) in [
        (io::ErrorKind::BrokenPipe, true),
        (io::ErrorKind::ConnectionReset, true),
        (io::ErrorKind::InvalidData, false),
        (io::ErrorKind::Other, false),
    ] {
        let error = End::Read(kind.into()).into_result("server").unwrap_err();
        assert_eq!(error.is_closed(), closed, "{kind:?}");
        assert!(error.to_string().starts_with("cannot read from the server: "), "{error}");
    }
}
