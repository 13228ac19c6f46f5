//! The two halves of a connection: lines that come in, and messages that go out many at a time.

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
    message::line::{Line, Lines},
};
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
    /// What goes before the buffer: large messages, which are not copied, and what came before them.
    chunks: VecDeque<Bytes>,
    buffer: BytesMut,
    /// How much there is in all.
    length: usize,
    /// Something was written and not flushed.
    dirty: bool,
    /// Nothing more will come.
    pub(crate) over: bool,
}

impl Output {
    /// From here on the machine waits for the writer.
    const FULL: usize = 64 << 10;
    /// From here on a piece of a message is not copied.
    const LARGE: usize = 8 << 10;
    /// How many chunks are written at once.
    const SLICES: usize = 8;

    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, chunks: VecDeque::new(), buffer: BytesMut::new(), length: 0, dirty: false, over: false }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.length >= Self::FULL
    }

    /// Adds a message.
    pub(crate) fn put(&mut self, text: EncodedMessage) {
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

    /// Writes as much as goes; whether anything did.
    pub(crate) fn write(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut wrote = false;
        while self.length > 0 {
            let Poll::Ready(written) = self.poll_write(cx) else { return Ok(wrote) };
            match written? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => self.advance(count),
            }
            (wrote, self.dirty) = (true, true);
        }
        Ok(wrote)
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

    /// Flushes what was written, and closes the writer after the last message. It is ready only then, or on an error.
    pub(crate) fn poll_settle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.length > 0 {
            return Poll::Pending;
        }
        if self.dirty {
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.dirty = false;
        }
        if self.over { Pin::new(&mut self.writer).poll_shutdown(cx) } else { Poll::Pending }
    }
}
