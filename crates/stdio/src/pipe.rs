//! A server or a client on any pair of byte streams.

use std::{fmt, sync::Arc};

use couplet_core::{BoxFuture, Connect, Connected, Error, ErrorKind, Inbound, Limits, Service, Transport, pump};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::streams::{LineStream, Reader, Writer};

/// Creates a transport on a pair of byte streams with one message per line: a Unix socket, a TCP connection, an
/// in-memory pipe.
///
/// On one end a server is served, on the other a client connects. A pipe can be used once.
///
/// ```
/// use std::sync::Arc;
/// use couplet_core::{Connect, Connected, Error, Inbound, Limits, Service, Transport};
/// use couplet_stdio::pipe;
///
/// async fn both(service: Arc<dyn Service>, inbound: Arc<dyn Inbound>) -> Result<(), Error> {
///     let (near, far) = tokio::io::duplex(4096);
///     let (reader, writer) = tokio::io::split(far);
///     let server = tokio::spawn(pipe(reader, writer).serve(service, Limits::default()));
///
///     let (reader, writer) = tokio::io::split(near);
///     let Connected { channel, driver } = pipe(reader, writer).connect(inbound, Limits::default()).await?;
///     channel.close();
///     driver.await?;
///     server.await.expect("the server does not panic")
/// }
/// ```
pub fn pipe(reader: impl AsyncRead + Send + Unpin + 'static, writer: impl AsyncWrite + Send + Unpin + 'static) -> Pipe {
    Pipe { streams: Some((Box::new(reader), Box::new(writer))) }
}

/// A transport on a pair of byte streams; created by [`pipe`].
pub struct Pipe {
    streams: Option<(Reader, Writer)>,
}

impl Pipe {
    fn take(&mut self, longest: usize) -> Result<LineStream, Error> {
        let (reader, writer) =
            self.streams.take().ok_or_else(|| Error::new(ErrorKind::Closed, "the pipe was used before"))?;
        Ok(LineStream::new(reader, writer, longest))
    }
}

impl Transport for Pipe {
    fn serve(mut self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { pump::serve(self.take(limits.message)?, service, limits).await })
    }
}

impl Connect for Pipe {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move { Ok(pump::connect(self.take(limits.message)?, inbound, limits)) })
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe").field("used", &self.streams.is_none()).finish_non_exhaustive()
    }
}
