//! Records of the messages of a client.

use std::{fmt, sync::Arc, time::Duration};

use couplet_client::{ClientRequest, Middleware, Next, Notice, ServerRequest, ServerRequestNext};
use couplet_core::{BoxFuture, Error, JsonText, Outcome, message::Params};
use couplet_types::RpcError;
use tokio::time::Instant;

use crate::shape::shape;

/// Records the messages of a client: its requests, the server's requests, and notifications both ways.
///
/// Values of parameters are left out unless they are [asked for](ClientLog::values): they may be secrets. A request that is
/// cancelled is recorded, too.
///
/// ```
/// use couplet_client::Client;
/// use couplet_middleware::client::{ClientLog, ClientRecord};
///
/// let log = ClientLog::new(|record: &ClientRecord| {
///     println!("{:?} {} took {:?}", record.message, record.method, record.time);
/// });
/// let client = Client::new("demo", "1.0.0").middleware(log);
/// # drop(client);
/// ```
#[derive(Clone)]
pub struct ClientLog {
    record: Arc<dyn Fn(&ClientRecord) + Send + Sync>,
    values: bool,
}

/// One message.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientRecord {
    /// The kind of message.
    pub message: ClientMessage,
    /// The method.
    pub method: String,
    /// The name of the tool or prompt, or the URI of the resource.
    pub target: Option<String>,
    /// The shape of the parameters, such as `{name: string(4)}`; the parameters themselves with [`ClientLog::values`].
    pub params: String,
    /// The reason why a request failed; `None` for one that succeeded, and for notifications.
    pub error: Option<String>,
    /// The time until the response; next to nothing for notifications.
    pub time: Duration,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientMessage {
    /// A request of the client.
    Request,
    /// A request of the server.
    ServerRequest,
    /// A notification of the server.
    Notification,
    /// A notification of the client.
    OutgoingNotification,
}

impl ClientLog {
    /// Creates middleware that calls a function for each message. The function must not block.
    pub fn new(record: impl Fn(&ClientRecord) + Send + Sync + 'static) -> Self {
        Self { record: Arc::new(record), values: false }
    }

    /// Creates middleware that logs each message with `tracing`, at the level `info`, with the target `couplet::client`.
    pub fn tracing() -> Self {
        Self::new(|record| {
            tracing::info!(
                target: "couplet::client",
                message = ?record.message,
                method = record.method,
                name = record.target,
                params = record.params,
                error = record.error,
                ms = u64::try_from(record.time.as_millis()).unwrap_or(u64::MAX),
                "message"
            );
        })
    }

    /// Records the values of parameters, which may be secrets or long.
    #[must_use]
    pub fn values(mut self) -> Self {
        self.values = true;
        self
    }

    fn begin(&self, message: ClientMessage, method: &str, target: Option<String>, params: &Params) -> RecordedMessage {
        let text = params.text();
        let params = match self.values {
            true => text.as_str().to_owned(),
            false => shape(text),
        };
        let error = Some("cancelled".to_owned());
        let record = ClientRecord { message, method: method.to_owned(), target, params, error, time: Duration::ZERO };
        RecordedMessage { log: self.clone(), record, started: Instant::now() }
    }

    fn notified(&self, message: ClientMessage, notification: &Notice) {
        let mut running = self.begin(message, &notification.method, None, &notification.params);
        running.ended(&Ok::<_, Error>(()));
    }
}

/// A message that is recorded when this is dropped.
struct RecordedMessage {
    log: ClientLog,
    record: ClientRecord,
    started: Instant,
}

impl RecordedMessage {
    fn ended<T, E: fmt::Display>(&mut self, outcome: &Result<T, E>) {
        self.record.error = outcome.as_ref().err().map(ToString::to_string);
    }
}

impl Drop for RecordedMessage {
    fn drop(&mut self) {
        self.record.time = self.started.elapsed();
        (self.log.record)(&self.record);
    }
}

impl Middleware for ClientLog {
    fn request(&self, request: ClientRequest, next: Next) -> BoxFuture<'static, Result<Outcome, Error>> {
        let target = request.target().map(|target| target.into_owned());
        let mut running = self.begin(ClientMessage::Request, request.method(), target, &request.params);
        Box::pin(async move {
            let outcome = next.run(request).await;
            running.ended(&outcome);
            outcome
        })
    }

    fn server_request(
        &self,
        request: ServerRequest,
        next: ServerRequestNext,
    ) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        let mut running = self.begin(ClientMessage::ServerRequest, &request.method, None, &request.params);
        Box::pin(async move {
            let answer = next.run(request).await;
            running.ended(&answer);
            answer
        })
    }

    fn notification(&self, notification: Notice) -> Option<Notice> {
        self.notified(ClientMessage::Notification, &notification);
        Some(notification)
    }

    fn outgoing_notification(&self, notification: Notice) -> Option<Notice> {
        self.notified(ClientMessage::OutgoingNotification, &notification);
        Some(notification)
    }
}

impl fmt::Debug for ClientLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientLog").field("values", &self.values).finish_non_exhaustive()
    }
}
