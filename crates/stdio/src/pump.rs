//! The one loop that moves bytes: lines from a reader into a machine, messages from the machine into a writer.
//!
//! It is one future with two halves. Each half goes as far as it can and remembers where it is in fields, never in
//! a suspended future, so the loop can be dropped or left at any point without losing a byte.

use std::{
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use couplet_core::{
    Connection, Link,
    line::{Line, Lines},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// Where bytes come from.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// Where bytes go.
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// What the loop drives: either side of a connection.
pub(crate) trait Machine {
    fn receive(&mut self, frame: Bytes);
    fn receive_too_long(&mut self);
    fn wants_input(&self) -> bool;
    fn end_input(&mut self) -> Rest;
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// What is left to do when no more input will come.
#[derive(Debug)]
pub(crate) enum Rest {
    /// What was received is answered.
    Answers,
    /// Nothing: whoever owns the machine tells it why.
    Nothing,
}

/// Why the loop ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The machine has no more to send, and everything is delivered.
    Done,
    /// The peer sends no more, and nothing is left to do.
    Eof,
    /// Reading failed.
    Read(io::Error),
    /// Writing failed.
    Write(io::Error),
}

/// A machine and its byte streams.
pub(crate) struct Pump<M> {
    pub(crate) machine: M,
    input: Input,
    output: Output,
    /// Whether the machine refused input when it was last asked.
    refused: bool,
}

impl<M: Machine> Pump<M> {
    /// How often the halves take turns before other tasks get theirs.
    const TURNS: usize = 32;
    /// How many lines are taken in one turn.
    const LINES: usize = 256;

    pub(crate) fn new(machine: M, reader: Reader, writer: Writer, longest: usize) -> Self {
        let input = Input { reader, lines: Lines::new(longest), eof: false, over: false };
        Self { machine, input, output: Output::new(writer), refused: false }
    }

    /// Moves messages until there are none left to move. It can be dropped and called again.
    pub(crate) async fn run(&mut self) -> End {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Hands over what the peer has sent up to its end, and sends nothing any more.
    #[cfg(feature = "child")]
    pub(crate) async fn read_rest(&mut self) {
        poll_fn(|cx| {
            // The machine is not asked: it may wait for room that a dead peer will not make.
            while let Ok(Some(line)) = ready!(self.input.poll_line(cx)) {
                self.hand_over(line);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Hands over what is here already.
    pub(crate) async fn read_ready(&mut self) {
        poll_fn(|cx| {
            while let Ok(true) = self.take(cx) {}
            Poll::Ready(())
        })
        .await;
    }

    /// Throws away what the peer sends, for as long as it does. It never ends.
    #[cfg(feature = "child")]
    pub(crate) async fn discard(&mut self) -> std::convert::Infallible {
        let _ = tokio::io::copy(&mut self.input.reader, &mut tokio::io::sink()).await;
        std::future::pending().await
    }

    /// Lets go of the writer, so that the peer sees the end.
    #[cfg(feature = "child")]
    pub(crate) fn close_output(&mut self) {
        self.output = Output::new(Box::new(tokio::io::sink()));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        for _ in 0..Self::TURNS {
            match self.turn(cx) {
                Ok(true) => {}
                Ok(false) => return self.output.poll_settle(cx),
                Err(end) => return Poll::Ready(end),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let took = self.take(cx)?;
        let gave = self.give(cx)?;
        Ok(took || gave)
    }

    /// Reads while the machine wants input; false if nothing could be done.
    fn take(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut moved = false;
        for _ in 0..Self::LINES {
            self.refused = !self.machine.wants_input();
            if self.refused || self.input.over {
                break;
            }
            match self.input.poll_line(cx) {
                Poll::Ready(Ok(Some(line))) => self.hand_over(line),
                Poll::Ready(Ok(None)) => self.end_input()?,
                Poll::Ready(Err(error)) => return Err(End::Read(error)),
                Poll::Pending => break,
            }
            moved = true;
        }
        Ok(moved)
    }

    fn hand_over(&mut self, line: Line) {
        match line {
            Line::Message(frame) => self.machine.receive(frame),
            Line::TooLong => {
                tracing::debug!("a line is above the limit and was thrown away");
                self.machine.receive_too_long();
            }
        }
    }

    fn end_input(&mut self) -> Result<(), End> {
        self.input.over = true;
        match self.machine.end_input() {
            Rest::Answers => Ok(()),
            Rest::Nothing => Err(End::Eof),
        }
    }

    /// Writes while the machine has something to send; false if nothing could be done.
    fn give(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let mut moved = false;
        while !self.output.over && !self.output.is_full() {
            match self.machine.poll_send(cx) {
                Poll::Ready(Some(text)) => self.output.put(&text),
                Poll::Ready(None) => self.output.over = true,
                Poll::Pending => break,
            }
            moved = true;
        }
        let wrote = self.output.write(cx).map_err(End::Write)?;
        // A call may end without a message of its own and still make room for input.
        let wanted = self.refused && self.machine.wants_input();
        Ok(moved || wrote || wanted)
    }
}

struct Input {
    reader: Reader,
    lines: Lines,
    /// The reader has no more.
    eof: bool,
    /// The machine knows.
    over: bool,
}

impl Input {
    /// A read asks for at least this much.
    const LEAST: usize = 4 << 10;
    /// The buffer grows by this much.
    const CHUNK: usize = 64 << 10;

    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
        loop {
            if let Some(line) = self.lines.next() {
                return Poll::Ready(Ok(Some(line)));
            }
            if self.eof {
                return Poll::Ready(Ok(self.lines.finish()));
            }
            let buffer = self.lines.buffer();
            if buffer.capacity() - buffer.len() < Self::LEAST {
                buffer.reserve(Self::CHUNK);
            }
            // The future holds nothing between polls, so it can be made anew each time.
            let read = pin!(self.reader.read_buf(buffer));
            self.eof = ready!(read.poll(cx))? == 0;
        }
    }
}

struct Output {
    writer: Writer,
    buffer: BytesMut,
    /// Something was written and not flushed.
    dirty: bool,
    /// Nothing more will come.
    over: bool,
}

impl Output {
    /// From here on the machine waits for the writer.
    const FULL: usize = 64 << 10;
    /// A larger buffer, left by a large message, is not kept.
    const KEPT: usize = 1 << 20;

    fn new(writer: Writer) -> Self {
        Self { writer, buffer: BytesMut::new(), dirty: false, over: false }
    }

    fn is_full(&self) -> bool {
        self.buffer.len() >= Self::FULL
    }

    fn put(&mut self, text: &[u8]) {
        self.buffer.reserve(text.len() + 1);
        self.buffer.extend_from_slice(text);
        self.buffer.extend_from_slice(b"\n");
    }

    /// Writes as much as goes; whether anything did.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut wrote = false;
        while !self.buffer.is_empty() {
            let Poll::Ready(written) = Pin::new(&mut self.writer).poll_write(cx, &self.buffer) else {
                return Ok(wrote);
            };
            match written? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.buffer.advance(count),
            }
            (wrote, self.dirty) = (true, true);
        }
        if self.buffer.capacity() > Self::KEPT {
            self.buffer = BytesMut::new();
        }
        Ok(wrote)
    }

    /// Flushes what was written, and closes the writer after the last message.
    fn poll_settle(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        if !self.buffer.is_empty() {
            return Poll::Pending;
        }
        if self.dirty {
            if let Err(error) = ready!(Pin::new(&mut self.writer).poll_flush(cx)) {
                return Poll::Ready(End::Write(error));
            }
            self.dirty = false;
        }
        if !self.over {
            return Poll::Pending;
        }
        match ready!(Pin::new(&mut self.writer).poll_shutdown(cx)) {
            Ok(()) => Poll::Ready(End::Done),
            Err(error) => Poll::Ready(End::Write(error)),
        }
    }
}

impl Machine for Connection {
    fn receive(&mut self, frame: Bytes) {
        self.receive(frame);
    }
    fn receive_too_long(&mut self) {
        self.receive_too_long();
    }
    fn wants_input(&self) -> bool {
        self.wants_input()
    }
    fn end_input(&mut self) -> Rest {
        self.end_input();
        Rest::Answers
    }
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_send(cx)
    }
}

impl Machine for Link {
    fn receive(&mut self, frame: Bytes) {
        self.receive(frame);
    }
    fn receive_too_long(&mut self) {
        self.receive_too_long();
    }
    fn wants_input(&self) -> bool {
        self.wants_input()
    }
    fn end_input(&mut self) -> Rest {
        Rest::Nothing
    }
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.poll_send(cx)
    }
}
