//! A server or a client on any pair of byte streams.

use std::{fmt, io, sync::Arc};

use couplet_core::{
    BoxFuture, ClientConnection, Connect, Connected, Error, ErrorKind, Inbound, Limits, ServerConnection, Service,
    Transport,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    leash::{Closing, Leash},
    pump::{End, Pump},
    streams::{Reader, Writer},
};

/// A pair of byte streams with one message per line: a Unix socket, a TCP connection, an in-memory pipe.
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

/// A pair of byte streams; made by [`pipe`].
pub struct Pipe {
    streams: Option<(Reader, Writer)>,
}

impl Pipe {
    fn take(&mut self) -> Result<(Reader, Writer), Error> {
        self.streams.take().ok_or_else(|| Error::new(ErrorKind::Closed, "the pipe was used before"))
    }
}

impl Transport for Pipe {
    fn serve(mut self, service: Arc<dyn Service>, limits: Limits) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move {
            let (reader, writer) = self.take()?;
            let longest = limits.message;
            let mut pump = Pump::new(ServerConnection::new(service, limits), reader, writer, longest);
            match pump.run().await {
                End::Done | End::Eof => Ok(()),
                End::Read(error) => Err(lost("cannot read from the client", error)),
                End::Write(error) => Err(lost("cannot write to the client", error)),
            }
        })
    }
}

impl Connect for Pipe {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let (reader, writer) = self.take()?;
            let longest = limits.message;
            let (link, handle) = ClientConnection::new(inbound, limits);
            let (channel, closing) = Leash::new(handle, None);
            let driver = Box::pin(drive(Pump::new(link, reader, writer, longest), closing));
            Ok(Connected { channel, driver })
        })
    }
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe").field("used", &self.streams.is_none()).finish_non_exhaustive()
    }
}

async fn drive(mut pump: Pump<ClientConnection>, closing: Closing) -> Result<(), Error> {
    let end = pump.run().await;
    if let End::Write(_) = end {
        // A server that is gone may have answered first.
        pump.read_ready().await;
    }
    let result = match end {
        End::Done => Ok(()),
        // Whoever hangs up does not mind that the other side did too.
        _ if closing.is_closed() => Ok(()),
        End::Eof => Err(Error::new(ErrorKind::Closed, "the server closed the connection")),
        End::Read(error) => Err(lost("cannot read from the server", error)),
        End::Write(error) => Err(lost("cannot write to the server", error)),
    };
    let why = result.as_ref().err().map_or_else(|| "the connection was closed".to_owned(), ToString::to_string);
    pump.machine.end_input(&why);
    result
}

/// A peer that is gone is no fault of the transport; anything else is.
pub(crate) fn lost(what: &str, error: io::Error) -> Error {
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
