//! The one loop that moves bytes: lines from a reader into a machine, messages from the machine into a writer.
//!
//! It is one future with two halves. Each half goes as far as it can and remembers where it is in fields, never in
//! a suspended future, so the loop can be dropped or left at any point without losing a byte.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
};

use couplet_core::message::line::Line;

use crate::{
    machine::{Machine, Rest},
    streams::{Input, Output, Reader, Writer},
};

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
    /// Whether others got their turn before everything was read.
    interrupted: bool,
}

impl<M: Machine> Pump<M> {
    /// How often the halves take turns before other tasks get theirs.
    const TURNS: usize = 32;
    /// How many lines that are here already are taken at the end.
    const READY: usize = 8192;

    pub(crate) fn new(machine: M, reader: Reader, writer: Writer, longest: usize) -> Self {
        let (input, output) = (Input::new(reader, longest), Output::new(writer));
        Self { machine, input, output, refused: false, interrupted: false }
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
            while let Ok(Some(line)) = std::task::ready!(self.input.poll_line(cx)) {
                self.hand_over(line);
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Hands over what is here already, within reason.
    pub(crate) async fn read_ready(&mut self) {
        poll_fn(|cx| {
            let _ = (0..Self::READY / M::LINES).all(|_| matches!(self.take(cx), Ok(1..)));
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
        // What others had to say goes out before they get more to do.
        if std::mem::take(&mut self.interrupted)
            && let Err(end) = self.give(cx)
        {
            return Poll::Ready(end);
        }
        for _ in 0..Self::TURNS {
            match self.turn(cx) {
                Ok(true) if self.interrupted => break,
                Ok(true) => {}
                Ok(false) => {
                    return self.output.poll_settle(cx).map(|settled| settled.map_or_else(End::Write, |()| End::Done));
                }
                Err(end) => return Poll::Ready(end),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let took = self.take(cx)?;
        self.interrupted = took == M::LINES;
        let gave = self.give(cx)?;
        Ok(took > 0 || gave)
    }

    /// Reads while the machine wants input; how many lines there were.
    fn take(&mut self, cx: &mut Context<'_>) -> Result<usize, End> {
        for took in 0..M::LINES {
            self.refused = !self.machine.wants_input();
            if self.refused || self.input.over {
                return Ok(took);
            }
            match self.input.poll_line(cx) {
                Poll::Ready(Ok(Some(line))) => self.hand_over(line),
                Poll::Ready(Ok(None)) => self.end_input()?,
                Poll::Ready(Err(error)) => return Err(End::Read(error)),
                Poll::Pending => return Ok(took),
            }
        }
        Ok(M::LINES)
    }

    fn hand_over(&mut self, line: Line) {
        match line {
            Line::Message(frame) => self.machine.receive(frame),
            Line::TooLong(message) => {
                tracing::debug!(length = message.length, "a line is above the limit and was thrown away");
                self.machine.receive_too_long(&message);
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
                Poll::Ready(Some(text)) => self.output.put(text),
                Poll::Ready(None) => self.output.over = true,
                Poll::Pending => break,
            }
            moved = true;
        }
        let wrote = self.output.write(cx).map_err(End::Write)?;
        if self.output.is_full() {
            self.machine.poll_run(cx);
        }
        // A call may end without a message of its own and still make room for input.
        let wanted = self.refused && self.machine.wants_input();
        Ok(moved || wrote || wanted)
    }
}
