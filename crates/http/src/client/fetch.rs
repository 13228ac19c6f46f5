//! What moves a request to a server and its answer back.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use couplet_core::{BoxFuture, Error, ErrorKind};
use futures_core::Stream;
use http::{Request, Response};

/// Something that sends HTTP requests. Wrap one in another to sign requests, to count them or to refuse some.
///
/// It must not follow redirects: whoever asks decides what may be sent where.
pub trait HttpClient: Send + Sync + 'static {
    /// Sends a request. It ends as soon as the head of the response is there; dropping it takes the request back.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>>;

    /// Whether requests wait for a person, who takes longer than any server may: no deadline passes meanwhile.
    fn is_held_up(&self) -> bool {
        false
    }
}

/// Something that lets a client in where a server wants to know who asks: it puts a client around another one.
pub trait Authorize: Send + Sync + 'static {
    /// Puts a client for a server around the one that sends its requests. The address is as the program gave it.
    ///
    /// # Errors
    /// When this cannot work for the server.
    fn authorize(&self, server: &str, client: Arc<dyn HttpClient>) -> Result<Arc<dyn HttpClient>, Error>;
}

/// The body of a response, as it comes in. Dropping it ends the response.
pub struct Body(Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>);

impl Body {
    /// A body that comes in pieces.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Self {
        Self(Box::pin(pieces))
    }

    /// A body without content.
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// When the connection broke.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| self.0.as_mut().poll_next(cx)).await.transpose()
    }

    /// Everything, if it is not longer than `limit`.
    ///
    /// # Errors
    /// When it is, or when the connection broke.
    pub async fn read(mut self, limit: usize) -> Result<Bytes, Error> {
        let mut all = BytesMut::new();
        while let Some(piece) = self.next().await? {
            if all.len() + piece.len() > limit {
                let what = format!("the server's response is longer than {limit} bytes");
                return Err(Error::new(ErrorKind::Protocol, what));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
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
