//! The notifications of a running call: progress and log messages.

use std::{
    fmt,
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_types::{
    ElicitationCompleteParams, LogParams, LoggingLevel, Notification, Progress, ProgressParams, ProgressToken, RawJson,
    RequestId,
};
use serde::Serialize;

use crate::{
    message::{Params, scan::JsonText},
    server::{
        queue::{EntryKind, Queue},
        running::BoxFuture,
    },
    sync::lock,
    wire::{notification, project::Project, revision::Revision, to_json},
};

/// Sends notifications of a running call to its client. Clones share one channel, which closes when the call is answered.
#[derive(Clone)]
pub struct Outbox(Arc<OutboxInner>);

struct OutboxInner {
    queue: Queue,
    call: RequestId,
    revision: Revision,
    token: Option<ProgressToken>,
    level: LogGate,
    reached: Mutex<Option<f64>>,
    open: AtomicBool,
    /// Whether it stays open after the response.
    lasting: bool,
    sink: Option<Box<dyn NotificationSink>>,
    edited: Option<Edited>,
}

/// Changes the parameters of a notification, given its method.
type Edit = dyn Fn(&str, RawJson) -> RawJson + Send + Sync;

/// The outbox behind one that changes notifications.
struct Edited {
    of: Outbox,
    edit: Arc<Edit>,
}

/// Receives the notifications of a call in place of the client: see [`Outbox::with_sink`].
pub trait NotificationSink: Send + Sync + 'static {
    /// Receives progress.
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>) -> BoxFuture<'static, ()>;

    /// Receives a log message; the default drops it.
    fn log(&self, level: LoggingLevel, logger: Option<String>, data: RawJson) -> BoxFuture<'static, ()> {
        let _ = (level, logger, data);
        Box::pin(std::future::ready(()))
    }
}

/// The log level of a client.
#[derive(Clone, Debug)]
pub(crate) enum LogGate {
    /// No log messages.
    Closed,
    /// From this level on.
    From(LoggingLevel),
    /// From the current level of the session.
    Session(Arc<Mutex<LoggingLevel>>),
}

impl LogGate {
    fn passes(&self, level: LoggingLevel) -> bool {
        match self {
            Self::Closed => false,
            Self::From(least) => level >= *least,
            Self::Session(least) => level >= *lock(least),
        }
    }
}

impl Outbox {
    pub(crate) fn new(
        queue: Queue,
        call: RequestId,
        revision: Revision,
        token: Option<ProgressToken>,
        level: LogGate,
    ) -> Self {
        let (reached, open) = (Mutex::new(None), AtomicBool::new(true));
        Self(Arc::new(OutboxInner {
            queue,
            call,
            revision,
            token,
            level,
            reached,
            open,
            lasting: false,
            sink: None,
            edited: None,
        }))
    }

    /// Returns an outbox that changes the parameters of each notification before it is sent, such as the names in them:
    /// for a service that runs another one under other names.
    #[must_use]
    pub fn edited(&self, edit: impl Fn(&str, RawJson) -> RawJson + Send + Sync + 'static) -> Self {
        self.copy(self.0.lasting, None, Some(Edited { of: self.clone(), edit: Arc::new(edit) }))
    }

    /// Returns an outbox that stays open for the session, for a call that outlives its response.
    #[must_use]
    pub fn lasting(&self) -> Self {
        self.copy(true, None, self.0.edited.as_ref().map(Edited::lasting))
    }

    /// Returns an outbox that sends to `sink` instead of the client.
    #[must_use]
    pub fn with_sink(&self, sink: impl NotificationSink) -> Self {
        self.copy(false, Some(Box::new(sink)), None)
    }

    fn copy(&self, lasting: bool, sink: Option<Box<dyn NotificationSink>>, edited: Option<Edited>) -> Self {
        let OutboxInner { queue, call, revision, token, level, .. } = &*self.0;
        let (queue, call, token, level) = (queue.clone(), call.clone(), token.clone(), level.clone());
        let (reached, open) = (Mutex::new(None), AtomicBool::new(true));
        Self(Arc::new(OutboxInner {
            queue,
            call,
            revision: *revision,
            token,
            level,
            reached,
            open,
            lasting,
            sink,
            edited,
        }))
    }

    /// Returns the progress token of the request.
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.0.token.as_ref()
    }

    /// Returns the id of the request.
    pub fn request(&self) -> &RequestId {
        &self.0.call
    }

    /// Returns whether the client asked for progress.
    pub fn wants_progress(&self) -> bool {
        self.0.token.is_some()
    }

    /// Returns whether the client receives log messages of a level.
    pub fn wants_log(&self, level: LoggingLevel) -> bool {
        self.0.level.passes(level)
    }

    /// Sends progress, if the client asked for it. A value that does not exceed the last one is dropped.
    pub async fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        if let Some(sink) = self.sink() {
            return sink.progress(progress, total, message).await;
        }
        let Some(token) = self.0.token.clone() else { return };
        if !self.advances_to(progress) {
            return;
        }
        let mut params = ProgressParams::new(token, progress);
        params.total = total;
        params.message = message;
        self.notify(Progress::METHOD, params).await;
    }

    /// Sends progress as it was received from a server of the same revision, with the token of this request in place of its
    /// own: for a proxy. It is dropped where [`Outbox::progress`] would drop it, and if it is not valid.
    pub async fn relay_progress(&self, params: &Params) {
        if self.sink().is_some() || !is_plain(params) {
            if let Ok(ProgressParams { progress, total, message, .. }) = params.parse() {
                self.progress(progress, total, message).await;
            }
            return;
        }
        let (Some(token), Ok(progress)) = (&self.0.token, params.read("progress")) else { return };
        if !self.advances_to(progress) {
            return;
        }
        let Ok(params) = params.with("progressToken", &JsonText::trusted(to_json(token).into())) else { return };
        match &self.0.edited {
            None => self.push(Progress::METHOD, params.text().as_bytes()).await,
            Some(_) => self.send(Progress::METHOD, params.text().as_bytes().to_vec()).await,
        }
    }

    /// Notes the progress, if it exceeds the last one.
    fn advances_to(&self, progress: f64) -> bool {
        let mut reached = lock(&self.0.reached);
        let advances = progress.is_finite() && reached.is_none_or(|reached| progress > reached);
        if advances {
            *reached = Some(progress);
        }
        advances
    }

    /// Sends a log message, if the client receives its level.
    pub async fn log(&self, level: LoggingLevel, logger: Option<String>, data: RawJson) {
        if let Some(sink) = self.sink() {
            return sink.log(level, logger, data).await;
        }
        if self.wants_log(level) {
            let mut params = LogParams::new(level, data);
            params.logger = logger;
            self.notify("notifications/message", params).await;
        }
    }

    /// Notifies the client that a URL elicitation has completed (2025-11-25 only; a no-op elsewhere).
    pub async fn elicitation_complete(&self, elicitation_id: impl Into<String>) {
        if self.0.revision.has_elicitation_ids() {
            let params = ElicitationCompleteParams::new(elicitation_id);
            self.notify("notifications/elicitation/complete", params).await;
        }
    }

    /// Lets the client disconnect and resume the stream after `come_back_after`, so that a long call holds no connection
    /// open. A no-op on transports without resumable streams.
    pub fn release(&self, come_back_after: Duration) {
        if self.0.revision.primes_streams() && !self.is_call_over() {
            let after = come_back_after.as_millis().try_into().unwrap_or(u64::MAX);
            self.0.queue.push(EntryKind::Release(self.0.call.clone(), after), Bytes::new());
        }
    }

    /// Returns whether the channel is closed.
    pub fn is_closed(&self) -> bool {
        self.is_call_over() || self.0.queue.is_closed()
    }

    /// Returns whether the call is over: it was answered, or its client cancelled it. A connection that was lost does not
    /// end a call that goes on without it.
    pub fn is_call_over(&self) -> bool {
        match &self.0.edited {
            Some(edited) => edited.of.is_call_over(),
            None => !self.0.open.load(Ordering::Acquire),
        }
    }

    /// Returns whether both send to the same client: on one connection, or in one session.
    pub fn leads_to_same(&self, other: &Self) -> bool {
        self.0.queue.is_same(&other.0.queue)
    }

    /// Sends a notification that belongs to the call. It waits while the client reads too slowly (backpressure).
    pub async fn notify<P: Serialize + Project>(&self, method: &str, mut params: P) {
        if self.sink().is_some() {
            return;
        }
        params.project(self.0.revision);
        self.send(method, to_json(&params)).await;
    }

    fn sink(&self) -> Option<&dyn NotificationSink> {
        let behind = || self.0.edited.as_ref().and_then(|edited| edited.of.sink());
        self.0.sink.as_deref().or_else(behind)
    }

    /// Sends a notification with serialized parameters, changed by each outbox on the way.
    async fn send(&self, method: &str, mut params: Vec<u8>) {
        let mut outbox = self;
        while let Some(edited) = &outbox.0.edited {
            params = edited.apply(method, params);
            outbox = &edited.of;
        }
        outbox.push(method, &params).await;
    }

    async fn push(&self, method: &str, params: &[u8]) {
        let text = notification(method, params);
        let kind = if self.0.lasting { EntryKind::Free } else { EntryKind::Notification(self.0.call.clone()) };
        poll_fn(|cx| {
            if !self.0.open.load(Ordering::Acquire) {
                return std::task::Poll::Ready(false);
            }
            self.0.queue.poll_push(cx, &kind, &text)
        })
        .await;
    }

    /// Closes the channel: the call was answered or cancelled.
    pub(crate) fn close(&self) {
        self.0.open.store(false, Ordering::Release);
    }
}

/// Whether the members of progress have their types, on one line.
fn is_plain(params: &Params) -> bool {
    let begins = |key, is_it: fn(u8) -> bool| {
        params.get(key).is_none_or(|value| value.as_bytes().first().is_some_and(|first| is_it(*first)))
    };
    let is_number = |first: u8| first == b'-' || first.is_ascii_digit();
    !params.may_break() && begins("total", is_number) && begins("message", |first| first == b'"')
}

impl Edited {
    fn lasting(&self) -> Self {
        Self { of: self.of.lasting(), edit: self.edit.clone() }
    }

    /// The changed parameters. Parameters are serialized here, so they can be parsed.
    fn apply(&self, method: &str, params: Vec<u8>) -> Vec<u8> {
        match serde_json::from_slice::<RawJson>(&params) {
            Ok(raw) => to_json(&(self.edit)(method, raw)),
            Err(_) => params,
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("token", &self.0.token).field("level", &self.0.level).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_with_other_types_is_not_relayed_as_it_is() {
        let is_plain = |text: &'static str| is_plain(&Params::from_text(JsonText::new(text).unwrap()).unwrap());
        for text in [r#"{"progress":1}"#, r#"{"progress":1,"total":-2.50,"message":"m","x":null}"#] {
            assert!(is_plain(text), "{text}");
        }
        for text in [
            r#"{"progress":1,"total":null}"#,
            r#"{"progress":1,"message":7}"#,
            r#"{"total":"2"}"#,
            "{\"progress\":\n1}",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
