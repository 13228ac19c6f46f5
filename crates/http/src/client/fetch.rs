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
/// It must not follow redirects: the transport does, and sends private headers to their own origin only. It must not
/// buffer the body either: event streams go on for as long as the connection does, so a timeout may be for the head of
/// the response only.
///
/// [`HyperClient`](super::HyperClient) is the default. This one counts the requests of another, and the one below it
/// answers without a network, as a test would have it:
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// use bytes::Bytes;
/// use couplet_client::Client;
/// use couplet_core::{BoxFuture, Error};
/// use couplet_http::{client::{Body, HttpClient}, connect};
/// use http::{Request, Response, StatusCode};
///
/// struct Counting<C>(C, Arc<AtomicUsize>);
///
/// impl<C: HttpClient> HttpClient for Counting<C> {
///     fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
///         self.1.fetch_add(1, Ordering::Relaxed);
///         self.0.send(request)
///     }
/// }
///
/// struct Forbidding;
///
/// impl HttpClient for Forbidding {
///     fn send(&self, _: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
///         let mut response = Response::new(Body::empty());
///         *response.status_mut() = StatusCode::FORBIDDEN;
///         Box::pin(std::future::ready(Ok(response)))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let count = Arc::new(AtomicUsize::new(0));
/// let http = Counting(Forbidding, count.clone());
/// let target = connect("https://example.com/mcp").client(Arc::new(http));
/// let error = Client::new("demo", "1.0.0").connect(target).await.unwrap_err();
/// assert_eq!(error.kind(), couplet_core::ErrorKind::Auth);
/// assert_eq!(count.load(Ordering::Relaxed), 1);
/// # }
/// ```
pub trait HttpClient: Send + Sync + 'static {
    /// Sends a request. The future is ready with the head of the response; dropping it cancels the request.
    ///
    /// Statuses are no errors: 401 and 503 are responses like 200.
    ///
    /// # Errors
    /// When there is no response. An error of kind [`Transport`](ErrorKind::Transport) may be tried again where that is
    /// safe; others end what was asked for.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>>;

    /// Returns whether requests wait for a person, such as one who logs in; deadlines are suspended meanwhile.
    fn is_held_up(&self) -> bool {
        false
    }
}

/// A middleware that authorizes requests, such as one that gets a token: it wraps an HTTP client in another one.
///
/// The wrapper sees every request and response of the connection, so it can refresh a token when a response is 401, and
/// send the request once more. It must send tokens to the server's own origin only: redirects lead to others, too.
///
/// ```
/// use std::sync::{Arc, RwLock};
/// use bytes::Bytes;
/// use couplet_core::{BoxFuture, Error, ErrorKind};
/// use couplet_http::{client::{Authorize, Body, HttpClient}, connect};
/// use http::{HeaderValue, Request, Response, Uri, header::AUTHORIZATION};
///
/// /// A token that another part of the program renews.
/// #[derive(Clone)]
/// struct Renewed(Arc<RwLock<HeaderValue>>);
///
/// struct WithToken {
///     token: Renewed,
///     server: Uri,
///     inner: Arc<dyn HttpClient>,
/// }
///
/// impl Authorize for Renewed {
///     fn authorize(&self, server: &str, client: Arc<dyn HttpClient>) -> Result<Arc<dyn HttpClient>, Error> {
///         let server = server.parse().map_err(|_| Error::new(ErrorKind::Config, "not a URL"))?;
///         Ok(Arc::new(WithToken { token: self.clone(), server, inner: client }))
///     }
/// }
///
/// impl HttpClient for WithToken {
///     fn send(&self, mut request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
///         let to = request.uri();
///         if (to.scheme(), to.authority()) == (self.server.scheme(), self.server.authority()) {
///             let token = self.token.0.read().unwrap().clone();
///             request.headers_mut().insert(AUTHORIZATION, token);
///         }
///         self.inner.send(request)
///     }
/// }
///
/// let token = Renewed(Arc::new(RwLock::new(HeaderValue::from_static("Bearer 1"))));
/// let target = connect("https://example.com/mcp").authorize(token);
/// # drop(target);
/// ```
pub trait Authorize: Send + Sync + 'static {
    /// Wraps the HTTP client for a server. `server` is the URL as the program gave it.
    ///
    /// # Errors
    /// When requests to this server cannot be authorized.
    fn authorize(&self, server: &str, client: Arc<dyn HttpClient>) -> Result<Arc<dyn HttpClient>, Error>;
}

/// The body of a response, as a stream. Dropping it ends the response, and closes its connection if there is more to
/// come.
///
/// ```
/// use bytes::Bytes;
/// use couplet_core::ErrorKind;
/// use couplet_http::client::Body;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), couplet_core::Error> {
/// let mut body = Body::from(Bytes::from_static(b"hello"));
/// assert_eq!(body.next().await?.as_deref(), Some(&b"hello"[..]));
/// assert_eq!(body.next().await?, None);
///
/// let error = Body::from(Bytes::from_static(b"hello")).read(4).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Protocol);
/// # Ok(())
/// # }
/// ```
pub struct Body(Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>);

impl Body {
    /// Creates a body from a stream of its pieces, which ends with the first error.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Self {
        Self(Box::pin(pieces))
    }

    /// Creates a body without content.
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// Waits for the next piece; `None` at the end. Dropping the future loses nothing.
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
