//! The interface to HTTP clients.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use couplet_core::{BoxFuture, Error, ErrorKind, message::buffers};
use futures_core::Stream;
use http::{Request, Response};

/// An HTTP client. Wrap one in another to sign requests, to count them or to refuse some.
///
/// It must not follow redirects: the transport does, and sends private headers to their own origin only.
pub trait HttpClient: Send + Sync + 'static {
    /// Sends a request. The future is ready with the head of the response; dropping it cancels the request.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>>;

    /// Returns whether requests wait for a person, such as one who logs in; deadlines are suspended meanwhile.
    fn is_held_up(&self) -> bool {
        false
    }
}

/// A middleware that authorizes requests, such as one that gets a token: it wraps an HTTP client in another one.
pub trait Authorize: Send + Sync + 'static {
    /// Wraps the HTTP client for a server. `server` is the URL as the program gave it.
    ///
    /// # Errors
    /// When requests to this server cannot be authorized.
    fn authorize(&self, server: &str, client: Arc<dyn HttpClient>) -> Result<Arc<dyn HttpClient>, Error>;
}

/// The body of a response, as a stream. Dropping it ends the response.
pub struct Body(Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>);

impl Body {
    /// Creates a body from a stream of its pieces.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Self {
        Self(Box::pin(pieces))
    }

    /// Creates a body without content.
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// Waits for the next piece; `None` at the end.
    ///
    /// # Errors
    /// When the connection broke.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| self.0.as_mut().poll_next(cx)).await.transpose()
    }

    /// Reads the whole body, up to `limit` bytes.
    ///
    /// # Errors
    /// When it is longer, or when the connection broke.
    pub async fn read(self, limit: usize) -> Result<Bytes, Error> {
        self.read_sized(limit, 0).await
    }

    /// Reads the whole body, up to `limit` bytes, which is probably `expected` bytes long. A body of one piece is not
    /// copied.
    pub(crate) async fn read_sized(mut self, limit: usize, expected: usize) -> Result<Bytes, Error> {
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(piece) = self.next().await? {
            let length = first.len() + all.len() + piece.len();
            if length > limit {
                let what = format!("the server's response is longer than {limit} bytes");
                return Err(Error::new(ErrorKind::Protocol, what));
            }
            if length == piece.len() {
                first = piece;
                continue;
            }
            if !first.is_empty() {
                all = buffers::with_room(length.max(expected.min(limit)));
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            if all.capacity() - all.len() < piece.len() {
                buffers::grow(&mut all, piece.len());
            }
            all.extend_from_slice(&piece);
        }
        Ok(if all.is_empty() { first } else { buffers::freeze(all) })
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::new(Once(Some(bytes)))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").finish_non_exhaustive()
    }
}

struct Once(Option<Bytes>);

impl Stream for Once {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.take().filter(|b| !b.is_empty()).map(Ok))
    }
}
