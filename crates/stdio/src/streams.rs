//! The two halves of a connection: lines that come in, and messages that go out many at a time.

use std::{
    future::Future,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use couplet_core::line::{Line, Lines};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

/// Where bytes come from.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;
/// Where bytes go.
pub(crate) type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The reading half: bytes in, lines out.
pub(crate) struct Input {
    pub(crate) reader: Reader,
    lines: Lines,
    /// The reader has no more.
    eof: bool,
    /// The machine knows.
    pub(crate) over: bool,
}

impl Input {
    /// A read asks for at least this much.
    const LEAST: usize = 4 << 10;
    /// The buffer grows by this much.
    const CHUNK: usize = 64 << 10;

    pub(crate) fn new(reader: Reader, longest: usize) -> Self {
        Self { reader, lines: Lines::new(longest), eof: false, over: false }
    }

    /// The next line; `None` after the last.
    pub(crate) fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Line>>> {
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

/// The writing half: messages in, bytes out.
pub(crate) struct Output {
    writer: Writer,
    buffer: BytesMut,
    /// Something was written and not flushed.
    dirty: bool,
    /// Nothing more will come.
    pub(crate) over: bool,
}

impl Output {
    /// From here on the machine waits for the writer.
    const FULL: usize = 64 << 10;
    /// A larger buffer, left by a large message, is not kept.
    const KEPT: usize = 1 << 20;

    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, buffer: BytesMut::new(), dirty: false, over: false }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.buffer.len() >= Self::FULL
    }

    /// Adds a message.
    pub(crate) fn put(&mut self, text: &[u8]) {
        self.buffer.reserve(text.len() + 1);
        self.buffer.extend_from_slice(text);
        self.buffer.extend_from_slice(b"\n");
    }

    /// Writes as much as goes; whether anything did.
    pub(crate) fn write(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
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

    /// Flushes what was written, and closes the writer after the last message. It is ready only then, or on an error.
    pub(crate) fn poll_settle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.buffer.is_empty() {
            return Poll::Pending;
        }
        if self.dirty {
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.dirty = false;
        }
        if self.over { Pin::new(&mut self.writer).poll_shutdown(cx) } else { Poll::Pending }
    }
}
