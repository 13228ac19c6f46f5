//! Connections with timeouts for peers that do not send or do not read.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// The first bytes of a connection in HTTP/2.
const HTTP2: &[u8] = b"PRI ";

/// So many bytes tell which version of HTTP is spoken. From then on it is hyper that looks at the time.
const TELLING: usize = 24;

/// A byte stream on which a write fails if it makes no progress for a while, and a read if nothing comes at first.
#[derive(Debug)]
pub(crate) struct TimeoutStream<T> {
    inner: T,
    timeout: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    /// The time that is left for the first bytes, and how many have come.
    beginning: Option<(Pin<Box<Sleep>>, usize)>,
    /// Whether the connection is in HTTP/2.
    is_http2: bool,
}

impl<T> TimeoutStream<T> {
    pub(crate) fn new(inner: T, beginning: Duration, timeout: Duration) -> Self {
        Self { inner, timeout, waiting: None, beginning: Some((Box::pin(sleep(beginning)), 0)), is_http2: false }
    }

    fn watch<R>(&mut self, cx: &mut Context<'_>, done: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if done.is_ready() {
            self.waiting = None;
            return done;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        waiting.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for TimeoutStream<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let done = Pin::new(&mut this.inner).poll_read(cx, buf);
        let Some((timer, seen)) = &mut this.beginning else { return done };
        if done.is_pending() {
            return timer.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        this.is_http2 |= *seen == 0 && buf.filled()[before..].starts_with(HTTP2);
        *seen += buf.filled().len() - before;
        if *seen >= TELLING {
            this.beginning = None;
        }
        done
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, done)
    }

    /// In HTTP/2 small responses are copied together and written at once. With vectored writes each has one of its own.
    fn is_write_vectored(&self) -> bool {
        !self.is_http2 && self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch(cx, done)
    }
}
