//! A connection in HTTP/2, and its streams: one for each request.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use couplet_core::{Error, ErrorKind};
use h2::{
    RecvStream,
    client::{Builder, SendRequest},
};
use http::{Request, Response};
use hyper_util::rt::TokioIo;

use super::{
    super::{
        failure::NotHttp2,
        fetch::Body,
        hyper::{MAX_HEADER_LIST, root},
        plain::PlainError,
        proxy,
    },
    Server,
    pulse::{self, Pulse},
};

/// The number of requests at a time on one connection, unless the server allows fewer.
const STREAMS: usize = 100;
/// The bytes of a response that may arrive before they are read. A connection has room for those of all streams, so that a
/// response that is not read holds up no other.
const WINDOW: u32 = 256 << 10;

/// A connection that is open, or has ended without notice.
pub(super) struct Http2Connection {
    handle: SendRequest<Bytes>,
    streams: Streams,
}

/// The number of streams that there have been on a connection. There is a clone for each stream that is in use.
pub(super) type Streams = Arc<AtomicUsize>;

/// The clones without a stream: those of the connection and of its task.
pub(super) const IDLE_CLONES: usize = 2;

impl Http2Connection {
    /// Begins HTTP/2, with a first stream. Requests wait until the server has sent its settings.
    pub(super) async fn new(io: proxy::Stream, server: Weak<Server>) -> Result<(Self, Http2Stream), PlainError> {
        let (handle, mut connection) = Builder::new()
            .enable_push(false)
            .initial_max_send_streams(0)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW * STREAMS as u32)
            .max_header_list_size(MAX_HEADER_LIST)
            .handshake(TokioIo::new(io.without_vectored_writes()))
            .await
            .map_err(|error| PlainError::NotHttp2(NotHttp2(error)))?;
        let streams = Streams::default();
        let pulse = Pulse::new(connection.ping_pong(), streams.clone());
        tokio::spawn(pulse::drive(connection, pulse, server));
        let connection = Self { handle, streams };
        let stream = connection.next();
        Ok((connection, stream))
    }

    /// Takes a stream, if there is room for one.
    pub(super) fn stream(&self) -> Option<Http2Stream> {
        let in_use = Arc::strong_count(&self.streams).saturating_sub(IDLE_CLONES);
        let room = match self.handle.current_max_send_streams() {
            // Not known yet.
            0 => STREAMS,
            most => most.min(STREAMS),
        };
        (in_use < room).then(|| self.next())
    }

    fn next(&self) -> Http2Stream {
        self.streams.fetch_add(1, Ordering::Relaxed);
        Http2Stream { handle: self.handle.clone(), streams: self.streams.clone() }
    }

    pub(super) fn has(&self, streams: &Streams) -> bool {
        Arc::ptr_eq(&self.streams, streams)
    }
}

/// A stream for a request.
pub(super) struct Http2Stream {
    handle: SendRequest<Bytes>,
    pub(super) streams: Streams,
}

impl Http2Stream {
    /// Waits until a request can be sent.
    ///
    /// # Errors
    /// When the connection has ended, and nothing was sent.
    pub(super) async fn ready(&mut self) -> Result<(), PlainError> {
        let ready = poll_fn(|cx| self.handle.poll_ready(cx)).await;
        ready.map_err(|error| self.failed(error))
    }

    /// Sends a request, and waits for the head of the response. Dropping the future or the body cancels the request.
    pub(super) async fn send(mut self, request: Request<()>, body: Bytes) -> Result<Response<Body>, PlainError> {
        match self.exchange(request, body).await {
            Ok(response) => Ok(response.map(|body| Body::new(Pieces { body, _streams: self.streams }))),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn exchange(&mut self, request: Request<()>, body: Bytes) -> Result<Response<RecvStream>, h2::Error> {
        let has_body = !body.is_empty();
        let (response, mut sender) = self.handle.send_request(request, !has_body)?;
        if has_body {
            // What the server does not accept yet waits here; it is in memory already.
            sender.send_data(body, true)?;
        }
        response.await
    }

    fn failed(&self, error: h2::Error) -> PlainError {
        match self.handle.current_max_send_streams() {
            // The server has not sent what each server sends first.
            0 => PlainError::NotHttp2(NotHttp2(error)),
            _ => PlainError::Http2(error),
        }
    }
}

/// The pieces of a body. The stream is in use until they are dropped.
struct Pieces {
    body: RecvStream,
    _streams: Streams,
}

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let read = match ready!(self.body.poll_data(cx)) {
            None => return Poll::Ready(None),
            Some(read) => read.and_then(|piece| {
                self.body.flow_control().release_capacity(piece.len())?;
                Ok(piece)
            }),
        };
        Poll::Ready(Some(read.map_err(|error| {
            let what = format!("the response broke off: {}", root(&error));
            Error::new(ErrorKind::Transport, what).with_source(error)
        })))
    }
}
