//! An input that ends when a future is ready.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, ReadBuf};

use crate::streams::Reader;

/// The future that ends an input.
pub(crate) type Signal = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An input that is at its end as soon as a future is ready. Bytes that were read before still count.
pub(crate) struct Until {
    reader: Reader,
    /// `None` once it was ready.
    signal: Option<Signal>,
}

impl Until {
    pub(crate) fn new(reader: Reader, signal: Signal) -> Self {
        Self { reader, signal: Some(signal) }
    }
}

impl AsyncRead for Until {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let over = self.signal.as_mut().is_none_or(|signal| signal.as_mut().poll(cx).is_ready());
        if over {
            self.signal = None;
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.reader).poll_read(cx, buffer)
    }
}
