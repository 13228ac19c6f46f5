//! Where a message of the server goes.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{
    BoxFuture, Error, ErrorKind, Event, JsonText, encode_answer,
    message::{self, Body, Frame, Malformed, Message, Params},
};
use couplet_types::{Cancelled, CancelledParams, Notification, Ping, Progress, Request, RequestId, RpcError};

use super::shared::{Answer, Shared, Turn, unless};

/// What a message came on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// The response to a request that stands alone.
    Alone {
        key: i64,
        sent: &'a RequestId,
        /// Whether everything on it is for whoever asked.
        subscription: bool,
    },
    /// The response to a request of a session.
    Request { sent: &'a RequestId },
    /// A stream that belongs to no request.
    Session,
}

impl Source<'_> {
    fn sent(&self) -> Option<&RequestId> {
        match self {
            Self::Alone { sent, .. } | Self::Request { sent } => Some(sent),
            Self::Session => None,
        }
    }

    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Self::Alone { .. })
    }
}

impl Shared {
    /// Takes what came in. Returns the answer to the request that it came for, if that is in it.
    pub(crate) fn receive(self: &Arc<Self>, frame: Bytes, source: Source<'_>) -> Result<Option<Answer>, Error> {
        match message::read(frame, self.limits.bounds) {
            Ok(Frame::Single(message)) => Ok(self.message(message, source)),
            Ok(Frame::Batch(_)) if !self.takes_batches() => {
                let error = RpcError::invalid_request("the server sent a batch, which is not allowed");
                self.inbound.malformed(&Malformed::new(None, error));
                Ok(None)
            }
            Ok(Frame::Batch(messages)) => {
                let mut answer = None;
                for message in messages {
                    match message {
                        Ok(message) => answer = self.message(message, source).or(answer),
                        Err(malformed) => self.malformed(&malformed, source)?,
                    }
                }
                Ok(answer)
            }
            Err(malformed) => self.malformed(&malformed, source).map(|()| None),
        }
    }

    fn takes_batches(&self) -> bool {
        self.dialect().is_some_and(|d| d.revision().allows_batches())
    }

    /// An answer that cannot be read is the end of the request.
    fn malformed(&self, malformed: &Malformed, source: Source<'_>) -> Result<(), Error> {
        self.inbound.malformed(malformed);
        let Some(id) = &malformed.id else { return Ok(()) };
        let what = format!("the server's answer could not be read: {}", malformed.error.message);
        let error = Error::new(ErrorKind::Protocol, what);
        if source.sent() == Some(id) {
            return Err(error);
        }
        self.settle_sent(id, Event::Failed(error));
        Ok(())
    }

    fn message(self: &Arc<Self>, message: Message, source: Source<'_>) -> Option<Answer> {
        match message.body {
            Body::Request { id, method, params } => self.question(id, &method, &params, source),
            Body::Notification { method, params } => self.notification(&method, params, source),
            Body::Response { id, outcome } => match (id, source.sent()) {
                (Some(id), Some(sent)) if id == *sent => return Some(outcome),
                // The server could not read which request it refuses; there is only one that it can be.
                (None, Some(_)) if outcome.is_err() => return Some(outcome),
                (Some(id), None) if self.settle_sent(&id, Event::Answer(outcome.clone())) => {}
                (Some(id), _) => {
                    let error = RpcError::invalid_request(format!("the server answers `{id}`, which nobody asked"));
                    self.inbound.malformed(&Malformed::new(None, error));
                }
                (None, _) => {
                    if let Err(error) = outcome {
                        self.inbound.malformed(&Malformed::new(None, error));
                    }
                }
            },
        }
        None
    }

    fn notification(&self, method: &str, params: Params, source: Source<'_>) {
        match (method, source) {
            (Progress::METHOD, _) => {
                let token: Result<RequestId, _> = params.read("progressToken");
                match token.ok().and_then(|t| self.mailbox(&t)) {
                    Some(mailbox) => mailbox.put(Event::Notification { method: method.to_owned(), params }),
                    // A request that became a task is answered, and goes on.
                    None => self.inbound.notification(method, params),
                }
            }
            (Cancelled::METHOD, Source::Alone { key, .. }) => self.settle(key, Event::Ended),
            (Cancelled::METHOD, _) => {
                // One that cannot be read, or that comes too late, is ignored.
                if let Ok(CancelledParams { request_id: Some(id), .. }) = params.parse()
                    && let Some(stop) = self.asked(&id)
                {
                    stop.notify_one();
                }
            }
            (_, Source::Alone { key, subscription: true, .. }) => {
                if let Some(mailbox) = self.mailbox(&RequestId::Number(key)) {
                    self.inbound.overhear(method, &params);
                    mailbox.put(Event::Notification { method: method.to_owned(), params });
                }
            }
            _ => self.inbound.notification(method, params),
        }
    }

    fn question(self: &Arc<Self>, id: RequestId, method: &str, params: &Params, source: Source<'_>) {
        // A server of the stateless era must not ask, and a client must not answer.
        if source.is_alone() {
            let error = RpcError::invalid_request(format!("the server sent the request `{method}`"));
            return self.inbound.malformed(&Malformed::new(None, error));
        }
        let (stop, answer) = match (self.ask(&id), method) {
            (Turn::Answer(stop), Ping::METHOD) => (stop, ready(Ok(JsonText::empty_object()))),
            (Turn::Answer(stop), _) => (stop, self.inbound.request(method, params)),
            (Turn::Refuse, _) => {
                let error = RpcError::internal("too many requests at the same time; ask again later");
                (Arc::default(), ready(Err(error)))
            }
            (Turn::Ignore, _) => return tracing::debug!(method, "a request of the server is ignored"),
        };
        let shared = self.clone();
        self.spawn(async move {
            if let Some(answer) = unless(&stop, answer).await {
                shared.tell(encode_answer(&id, &answer)).await;
                // Only now: answers that wait to be sent count, too.
                shared.asked(&id);
            }
        });
    }
}

fn ready(answer: Answer) -> BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(answer))
}
