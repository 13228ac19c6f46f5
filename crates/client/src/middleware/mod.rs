//! Middleware: code around the messages of a client.
//!
//! It does not know how requests are encoded, nor how they travel.

mod next;

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bytes::Bytes;
use couplet_core::{BoxFuture, Dialect, Error, JsonText, Outcome, message::Params};
use couplet_types::{RawJson, RpcError};
use serde::Serialize;

pub use self::next::{ClientRequest, Next};
use crate::{
    notify::Notice,
    server_request::{ServerRequest, ServerRequestNext},
};

pub(crate) use self::next::run;

/// Middleware around the messages of a client: its requests, the server's requests, and notifications both ways. It is
/// added with [`ClientBuilder::middleware`](crate::ClientBuilder::middleware).
///
/// A function from a request and the rest of the chain to an outcome is middleware for requests. A type implements the
/// functions for the messages that it is about; the others pass.
///
/// # Order
///
/// The first middleware that was added is the outermost: it sees each message first, whichever side sent it, and each
/// response last. A message passes, from the outside to the inside:
///
/// | message | passes | then |
/// |---|---|---|
/// | a request of the client | [`Middleware::request`] | telemetry, the cache, validation of output, rounds, timeouts, the transport |
/// | a request of the server | [`Middleware::server_request`] | extensions (in a session), the callbacks of the client |
/// | a notification of the server | [`Middleware::notification`] | callbacks, subscriptions, [`Client::notifications`](crate::Client::notifications) |
/// | a notification of the client | [`Middleware::outgoing_notification`] | the transport |
///
/// A multi-round-trip request passes [`Middleware::request`] once; the input requests of its rounds pass
/// [`Middleware::server_request`], as those of a session do. A request that middleware runs several times is sent several
/// times, each time with the timeouts of one request.
///
/// What establishes a connection (`server/discover`, `initialize`), the request of a subscription and what a proxy forwards
/// ([`Client::forward`](crate::Client::forward)) pass no middleware; the changes of a subscription do. Cached results are
/// invalidated by a notification even if middleware drops it.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use couplet_client::{Client, ClientRequest, Middleware, Next, Notice, ServerRequest, ServerRequestNext};
/// use couplet_core::{BoxFuture, Error, JsonText, Outcome};
/// use couplet_types::RpcError;
///
/// /// Counts requests, refuses sampling, and drops log messages.
/// #[derive(Default)]
/// struct Careful {
///     requests: AtomicUsize,
/// }
///
/// impl Middleware for Careful {
///     fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
///         self.requests.fetch_add(1, Ordering::Relaxed);
///         next.run(request)
///     }
///
///     fn server_request(
///         &self,
///         request: ServerRequest,
///         next: ServerRequestNext,
///     ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
///         match &*request.method {
///             "sampling/createMessage" => Box::pin(async { Err(RpcError::new(-1, "the user refused")) }),
///             _ => next.run(request),
///         }
///     }
///
///     fn notification(&self, notification: Notice) -> Option<Notice> {
///         (notification.method != "notifications/message").then_some(notification)
///     }
/// }
///
/// let client = Client::new("demo", "1.0.0").middleware(Careful::default());
/// # drop(client);
/// ```
pub trait Middleware: Send + Sync + 'static {
    /// Handles a request of the client, usually by running the rest of the chain. Dropping the future cancels the request.
    fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
        next.run(request)
    }

    /// Handles a request of the server (elicitation, sampling, roots), usually by running the rest of the chain. A panic
    /// fails that request alone.
    fn server_request(
        &self,
        request: ServerRequest,
        next: ServerRequestNext,
    ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        next.run(request)
    }

    /// Handles a notification of the server: returns it, another one, or `None` to drop it. Progress of a request is a
    /// notification, too.
    ///
    /// It is called by the task that receives messages, so it must not block.
    fn notification(&self, notification: Notice) -> Option<Notice> {
        Some(notification)
    }

    /// Handles a notification of the client: returns it, another one, or `None` to drop it. Only sessions have them.
    fn outgoing_notification(&self, notification: Notice) -> Option<Notice> {
        Some(notification)
    }
}

impl<F, Fut> Middleware for F
where
    F: Fn(ClientRequest, Next) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Outcome, Error>> + Send + 'static,
{
    fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
        Box::pin(self(request, next))
    }
}

/// The middleware of a client, the outermost first.
pub(crate) type Chain = Arc<[Arc<dyn Middleware>]>;

/// Passes a notification of the server through the chain; `None` if it is dropped.
pub(crate) fn received(chain: &Chain, notice: Notice) -> Option<Notice> {
    pass(chain, notice, |middleware, notice| middleware.notification(notice))
}

/// Encodes a notification of the client after it passed the chain; `None` if it is dropped.
pub(crate) fn outgoing<P: Serialize>(chain: &Chain, dialect: &Dialect, method: &str, params: &P) -> Option<Bytes> {
    if chain.is_empty() {
        return Some(dialect.notification(method, params));
    }
    let params = RawJson::new(params).ok().and_then(|raw| Params::from_text(JsonText::from(&raw)).ok());
    let notice = Notice { method: method.to_owned(), params: params.unwrap_or_default() };
    let notice = pass(chain, notice, |middleware, notice| middleware.outgoing_notification(notice))?;
    Some(dialect.notification(&notice.method, &notice.params.text().to_raw()))
}

/// A notification whose middleware panics is dropped; the connection goes on.
fn pass(chain: &Chain, notice: Notice, handle: impl Fn(&dyn Middleware, Notice) -> Option<Notice>) -> Option<Notice> {
    chain.iter().try_fold(notice, |notice, middleware| {
        catch_unwind(AssertUnwindSafe(|| handle(&**middleware, notice))).unwrap_or_else(|_| {
            tracing::error!("the middleware for notifications panicked");
            None
        })
    })
}
