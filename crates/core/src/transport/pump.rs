//! The loop that moves messages between a [`Connection`] and a [`MessageStream`], for every transport whose messages
//! are one ordered stream in each direction: lines on a pipe, WebSocket frames, a port of `postMessage`.
//!
//! A transport implements [`MessageStream`] and calls [`serve`] or [`connect`]. Neither needs a runtime.

mod stream;

use std::{
    fmt,
    future::poll_fn,
    io,
    sync::Arc,
    task::{Context, Poll, ready},
};

pub use stream::{MessageStream, Received};

use crate::{
    client::{channel::Inbound, connection::ClientConnection},
    error::{Error, ErrorKind},
    limits::Limits,
    server::connection::ServerConnection,
    service::Service,
    transport::{Connected, background::Background, connection::Connection},
};

/// Serves a service on a stream until the client has ended its input and everything is answered, and runs its
/// [background work](Service::background) meanwhile.
///
/// # Errors
/// When the stream fails.
pub async fn serve<S: MessageStream>(stream: S, service: Arc<dyn Service>, limits: Limits) -> Result<(), Error> {
    let mut background = Background::of(&*service);
    let mut pump = Pump::new(ServerConnection::new(service, limits), stream);
    loop {
        let end = poll_fn(|cx| {
            background.poll(cx);
            pump.poll(cx)
        });
        match end.await {
            End::Eof => pump.connection.end_input(),
            end => return end.into_result("client"),
        }
    }
}

/// Connects a client on a stream: the body of [`Connect::connect`](crate::Connect::connect).
///
/// The connection lives as long as its driver is polled. The driver ends when the client closes the channel, when the
/// server ends the stream, or when the stream fails.
pub fn connect<S>(stream: S, inbound: Arc<dyn Inbound>, limits: Limits) -> Connected
where
    S: MessageStream + Send + 'static,
{
    let (connection, handle) = ClientConnection::new(inbound, limits);
    let handle = handle.with_transport(stream.transport());
    Connected { channel: Arc::new(handle), driver: Box::pin(drive(Pump::new(connection, stream))) }
}

async fn drive<S: MessageStream>(mut pump: Pump<ClientConnection, S>) -> Result<(), Error> {
    let end = pump.run().await;
    if let End::Write(_) = end {
        // A server that is gone may have answered first.
        pump.receive_ready().await;
    }
    // A client that has closed the connection does not fail because the server has closed it too.
    let result = if pump.connection.is_closed() { Ok(()) } else { end.into_result("server") };
    let why = result.as_ref().err().map_or_else(|| "the connection was closed".to_owned(), ToString::to_string);
    pump.connection.end_input(&why);
    result
}

/// A connection and its stream, as one future with two halves that take turns.
///
/// Each half goes as far as it can and stores its state in fields, never in a suspended future, so the loop can be
/// dropped and run again at any point without losing a message.
///
/// * Every message that was received is handed over, and every message that the connection gave is flushed before
///   [`End::Done`].
/// * Nothing is received while the connection does not want input, so memory is bounded by the [`Limits`] whatever the
///   peer does.
/// * Receiving never waits for sending, and sending never waits for receiving.
/// * Other tasks of the runtime get their turn after each [burst](Connection::burst).
pub struct Pump<C, S> {
    connection: C,
    stream: S,
    /// Whether the connection refused input when it was last asked.
    refused: bool,
    /// Whether other tasks got their turn before everything was received.
    interrupted: bool,
    input_over: bool,
    output_over: bool,
}

/// The reason why a [`Pump`] has stopped.
#[derive(Debug)]
pub enum End {
    /// The connection has no more to send, everything is delivered, and the stream is closed.
    Done,
    /// The peer sends no more. It is returned once: call [`Connection::end_input`], and run the pump again to deliver
    /// what is left.
    Eof,
    /// Receiving failed.
    Read(io::Error),
    /// Sending failed.
    Write(io::Error),
}

impl End {
    /// Returns the error for every end but [`End::Done`]; `peer` is `client` or `server`.
    ///
    /// # Errors
    /// Of kind [`ErrorKind::Closed`] if the peer is gone, and of kind [`ErrorKind::Transport`] for any other failure.
    pub fn into_result(self, peer: &str) -> Result<(), Error> {
        match self {
            Self::Done => Ok(()),
            Self::Eof => Err(Error::new(ErrorKind::Closed, format!("the {peer} closed the connection"))),
            Self::Read(error) => Err(lost(&format!("cannot read from the {peer}"), error)),
            Self::Write(error) => Err(lost(&format!("cannot write to the {peer}"), error)),
        }
    }
}

impl<C: Connection, S: MessageStream> Pump<C, S> {
    /// The number of times the halves take turns before other tasks run.
    const TURNS: usize = 32;
    /// The number of messages that [`Pump::receive_ready`] takes.
    const READY: usize = 8192;

    /// Creates a pump that has moved nothing yet.
    pub fn new(connection: C, stream: S) -> Self {
        Self { connection, stream, refused: false, interrupted: false, input_over: false, output_over: false }
    }

    /// Returns the connection.
    pub fn connection(&mut self) -> &mut C {
        &mut self.connection
    }

    /// Returns the stream.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Moves messages until there are none left to move. It is cancel safe, and can be called again.
    pub async fn run(&mut self) -> End {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Moves messages as [`Pump::run`] does, as far as possible now.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        // What other tasks had to send goes out before they get more to do.
        if std::mem::take(&mut self.interrupted)
            && let Err(end) = self.send(cx)
        {
            return Poll::Ready(end);
        }
        for _ in 0..Self::TURNS {
            match self.turn(cx) {
                Ok(true) if self.interrupted => break,
                Ok(true) => {}
                Ok(false) if self.output_over => {
                    let closed = ready!(self.stream.poll_close(cx));
                    return Poll::Ready(closed.map_or_else(End::Write, |()| End::Done));
                }
                Ok(false) => return Poll::Pending,
                Err(end) => return Poll::Ready(end),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Receives everything up to the end of the stream, without regard to backpressure: for a peer that is gone, whose
    /// last messages are still in a buffer of the system.
    pub async fn receive_rest(&mut self) {
        poll_fn(|cx| {
            while !self.input_over {
                match ready!(self.stream.poll_receive(cx)) {
                    Ok(Some(message)) => self.hand_over(message),
                    Ok(None) | Err(_) => self.input_over = true,
                }
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Receives what is here already, within limits, and does not wait.
    pub async fn receive_ready(&mut self) {
        poll_fn(|cx| {
            let _ = (0..Self::READY / self.connection.burst()).all(|_| matches!(self.receive(cx), Ok(1..)));
            Poll::Ready(())
        })
        .await;
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let received = self.receive(cx)?;
        self.interrupted = received == self.connection.burst();
        let sent = self.send(cx)?;
        Ok(received > 0 || sent)
    }

    /// Receives while the connection wants input; returns the number of messages.
    fn receive(&mut self, cx: &mut Context<'_>) -> Result<usize, End> {
        let burst = self.connection.burst();
        for received in 0..burst {
            self.refused = !self.connection.wants_input();
            if self.refused || self.input_over {
                return Ok(received);
            }
            match self.stream.poll_receive(cx) {
                Poll::Ready(Ok(Some(message))) => self.hand_over(message),
                Poll::Ready(Ok(None)) => {
                    self.input_over = true;
                    return Err(End::Eof);
                }
                Poll::Ready(Err(error)) => return Err(End::Read(error)),
                Poll::Pending => return Ok(received),
            }
        }
        Ok(burst)
    }

    fn hand_over(&mut self, message: Received) {
        match message {
            Received::Message(frame) => self.connection.receive(frame),
            Received::Oversized(message) => self.connection.receive_oversized(&message),
        }
    }

    /// Sends while the connection has messages and the stream has room; false if nothing could be done.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let (mut moved, mut full) = (false, false);
        while !self.output_over && !full {
            match self.stream.poll_ready(cx) {
                Poll::Ready(room) => room.map_err(End::Write)?,
                Poll::Pending => {
                    full = true;
                    continue;
                }
            }
            match self.connection.poll_send(cx) {
                Poll::Ready(Some(message)) => self.stream.send(message).map_err(End::Write)?,
                Poll::Ready(None) => self.output_over = true,
                Poll::Pending => break,
            }
            moved = true;
        }
        // Closing the stream flushes it.
        if !self.output_over {
            let flushed = self.stream.poll_flush(cx).map_err(End::Write)?.is_ready();
            if full {
                self.connection.poll_run(cx);
                moved |= flushed;
            }
        }
        // A call may end without a message of its own and still make room for input.
        Ok(moved || (self.refused && self.connection.wants_input()))
    }
}

impl<C: fmt::Debug, S> fmt::Debug for Pump<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pump").field("connection", &self.connection).finish_non_exhaustive()
    }
}

/// A peer that is gone is no fault of the transport; anything else is.
fn lost(what: &str, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::NotConnected
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::WriteZero => ErrorKind::Closed,
        _ => ErrorKind::Transport,
    };
    Error::new(kind, format!("{what}: {error}")).with_source(error)
}

#[cfg(test)]
mod tests;
