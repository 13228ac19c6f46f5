//! One message per line on a pair of byte streams: lines that come in, and messages that go out many at a time.

use std::{
    collections::VecDeque,
    future::Future,
    io::{self, IoSlice},
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use couplet_core::{
    EncodedMessage,
    message::{
        buffers,
        line::{Line, Lines},
    },
    pump::{MessageStream, Received},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// The bytes of the peer.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// The bytes to the peer.
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// A callback for each message as it is on the wire.
#[cfg(feature = "child")]
pub(crate) type Tap = std::sync::Arc<dyn Fn(crate::Direction, &Bytes) + Send + Sync>;

/// A pair of byte streams with one message per line.
pub(crate) struct LineStream {
    input: Input,
    output: Output,
    #[cfg(feature = "child")]
    tap: Option<Tap>,
}

impl LineStream {
    /// `longest` is the number of bytes that a line may have.
    pub(crate) fn new(reader: Reader, writer: Writer, longest: usize) -> Self {
        Self {
            input: Input::new(reader, longest),
            output: Output::new(writer),
            #[cfg(feature = "child")]
            tap: None,
        }
    }

    /// Sets the callback for messages.
    #[cfg(feature = "child")]
    pub(crate) fn tapped(self, tap: Option<Tap>) -> Self {
        Self { tap, ..self }
    }

    /// Drops the writer, so that the peer sees the end of its input.
    #[cfg(feature = "child")]
    pub(crate) fn close_output(&mut self) {
        self.output = Output::new(Box::new(tokio::io::sink()));
    }

    /// Discards everything that the peer sends. It never ends.
    #[cfg(feature = "child")]
    pub(crate) async fn discard(&mut self) -> std::convert::Infallible {
        let _ = tokio::io::copy(&mut self.input.reader, &mut tokio::io::sink()).await;
        std::future::pending().await
    }
}

impl MessageStream for LineStream {
    #[inline]
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Received>>> {
        let line = ready!(self.input.poll_line(cx))?;
        Poll::Ready(Ok(line.map(|line| match line {
            Line::Message(frame) => {
                #[cfg(feature = "child")]
                if let Some(tap) = &self.tap {
                    tap(crate::Direction::Received, &frame);
                }
                Received::Message(frame)
            }
            Line::TooLong(message) => {
                tracing::debug!(length = message.length, "a line is above the limit and was dropped");
                Received::Oversized(message)
            }
        })))
    }

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.output.is_full() {
            self.output.write(cx)?;
        }
        if self.output.is_full() { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    #[inline]
    fn send(&mut self, message: EncodedMessage) -> io::Result<()> {
        #[cfg(feature = "child")]
        if let Some(tap) = &self.tap {
            tap(crate::Direction::Sent, &message.clone().into_bytes());
        }
        self.output.put(message);
        Ok(())
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.output.poll_flush(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.output.poll_flush(cx))?;
        Pin::new(&mut self.output.writer).poll_shutdown(cx)
    }
}

/// The reading half: bytes in, lines out.
struct Input {
    reader: Reader,
    lines: Lines,
    /// The reader has no more.
    eof: bool,
    /// The bytes that were read since the last line.
    unended: usize,
    /// The bytes that a line may have before it counts as endless.
    endless: usize,
}

impl Input {
    /// The least room for a read.
    const LEAST: usize = 4 << 10;
    /// The growth of the buffer.
    const CHUNK: usize = 64 << 10;
    /// A line above the limit is skipped, unless it is that many times as long and has no end.
    const ENDLESS: usize = 64;
    /// No shorter line counts as endless.
    const LEAST_ENDLESS: usize = 64 << 20;

    fn new(reader: Reader, longest: usize) -> Self {
        let endless = longest.saturating_mul(Self::ENDLESS).max(Self::LEAST_ENDLESS);
        Self { reader, lines: Lines::new(longest), eof: false, unended: 0, endless }
    }

    /// The next line; `None` after the last.
    fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
        loop {
            if let Some(line) = self.lines.next() {
                self.unended = 0;
                return Poll::Ready(Ok(Some(line)));
            }
            if self.eof {
                return Poll::Ready(Ok(self.lines.finish()));
            }
            if self.unended > self.endless {
                let what = format!("a line has more than {} bytes, and no end", self.endless);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, what)));
            }
            let buffer = self.lines.buffer();
            if buffer.capacity() - buffer.len() < Self::LEAST {
                buffers::grow(buffer, Self::CHUNK);
            }
            // The future holds nothing between polls, so it can be made anew each time.
            let read = pin!(self.reader.read_buf(buffer));
            let count = ready!(read.poll(cx))?;
            self.unended += count;
            self.eof = count == 0;
        }
    }
}

/// The writing half: messages in, bytes out.
struct Output {
    writer: Writer,
    /// Everything before the buffer: large messages, which are not copied, and the messages before them.
    chunks: VecDeque<Bytes>,
    buffer: BytesMut,
    /// The number of bytes in all.
    length: usize,
    /// Whether something was written and not flushed.
    dirty: bool,
}

impl Output {
    /// From here on the connection waits for the writer.
    const FULL: usize = 64 << 10;
    /// From here on a piece of a message is not copied.
    const LARGE: usize = 8 << 10;
    /// The number of chunks that are written at once.
    const SLICES: usize = 8;

    fn new(writer: Writer) -> Self {
        Self { writer, chunks: VecDeque::new(), buffer: BytesMut::new(), length: 0, dirty: false }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.length >= Self::FULL
    }

    /// Adds a message.
    fn put(&mut self, text: EncodedMessage) {
        self.length += text.len() + 1;
        for piece in text.into_pieces() {
            if piece.len() < Self::LARGE {
                self.buffer.extend_from_slice(&piece);
                continue;
            }
            if !self.buffer.is_empty() {
                self.chunks.push_back(self.buffer.split().freeze());
            }
            self.chunks.push_back(piece);
        }
        self.buffer.extend_from_slice(b"\n");
    }

    /// Writes as much as the writer takes.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        while self.length > 0 {
            let Poll::Ready(written) = self.poll_write(cx) else { return Ok(()) };
            match written? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.advance(count),
            }
            self.dirty = true;
        }
        Ok(())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let writer = Pin::new(&mut self.writer);
        if self.chunks.is_empty() {
            return writer.poll_write(cx, &self.buffer);
        }
        let mut slices = [IoSlice::new(&[]); Self::SLICES];
        let chunks = self.chunks.iter().map(|chunk| &chunk[..]).chain([&self.buffer[..]]);
        for (slice, chunk) in slices.iter_mut().zip(chunks) {
            *slice = IoSlice::new(chunk);
        }
        writer.poll_write_vectored(cx, &slices)
    }

    fn advance(&mut self, mut count: usize) {
        self.length -= count;
        while let Some(chunk) = self.chunks.front_mut() {
            if count < chunk.len() {
                return chunk.advance(count);
            }
            count -= chunk.len();
            self.chunks.pop_front();
        }
        self.buffer.advance(count);
    }

    /// Writes everything, then flushes the writer.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.write(cx)?;
        if self.length > 0 {
            return Poll::Pending;
        }
        if self.dirty {
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line above the limit is skipped as it arrives; one that never ends is an error at some point.
    #[tokio::test]
    async fn s19_a_line_without_an_end_is_an_error() {
        let mut input = Input::new(Box::new(tokio::io::repeat(b'x')), 100);
        input.endless = 1 << 20;
        let error = std::future::poll_fn(|cx| input.poll_line(cx)).await.unwrap_err();
        assert_eq!(error.to_string(), "a line has more than 1048576 bytes, and no end");
        let text = [&b"x".repeat(1 << 19)[..], b"\n", &b"x".repeat(1 << 20)[..], b"\n[]\n"].concat();
        let mut input = Input::new(Box::new(std::io::Cursor::new(text)), 100);
        input.endless = (1 << 20) + Input::CHUNK;
        for expected in [Some(1 << 19), Some(1 << 20), None] {
            match std::future::poll_fn(|cx| input.poll_line(cx)).await.unwrap().unwrap() {
                Line::TooLong(line) => assert_eq!(Some(line.length), expected),
                Line::Message(text) => assert_eq!((&text[..], None), (&b"[]"[..], expected)),
            }
        }
    }
}
