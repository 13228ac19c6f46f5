//! Standard input, read on a detached thread.
//!
//! A read of standard input cannot be interrupted. On a thread of the runtime it would keep a program from ending that
//! stops serving while its input stays open; on a thread of its own it ends with the process.

use std::{
    io::{self, Read},
    pin::Pin,
    task::{Context, Poll, ready},
    thread,
};

use bytes::{Buf, Bytes};
use tokio::{
    io::{AsyncRead, ReadBuf},
    sync::mpsc,
};

/// The size of a read, and the number of reads that may wait.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 2;

/// The standard input of this process.
pub(crate) struct Stdin {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Stdin {
    /// Starts the thread.
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(CHUNKS);
        thread::Builder::new().name("stdin".to_owned()).spawn(move || read(&sender))?;
        Ok(Self { chunks, rest: Bytes::new() })
    }
}

/// Reads until the end, or until the receiver is dropped.
fn read(sender: &mpsc::Sender<io::Result<Bytes>>) {
    let mut stdin = io::stdin().lock();
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let over = chunk.is_err();
        if sender.blocking_send(chunk).is_err() || over {
            return;
        }
    }
}

impl AsyncRead for Stdin {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.chunks.poll_recv(cx)) {
                Some(chunk) => self.rest = chunk?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = self.rest.len().min(buffer.remaining());
        buffer.put_slice(&self.rest[..count]);
        self.rest.advance(count);
        Poll::Ready(Ok(()))
    }
}
