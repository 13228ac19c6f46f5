//! The rules for everything that a client receives, in one place for all transports: which request an answer or a
//! notification belongs to, which of the server's requests are answered, and what is reported.

use bytes::Bytes;
use couplet_types::{CancelledParams, RequestId, RpcError};

use super::{Answer, Outlet, Router, Source};
use crate::{
    client::{
        mailbox::{Event, Mailbox},
        requests::{ServerRequest, Slot, Turn},
    },
    error::{Error, ErrorKind},
    limits::too_large,
    message::{
        self, Body, Frame, Malformed, Message, Params,
        oversized::{Oversized, Skimmed},
        scan::JsonText,
    },
    server::running::BoxFuture,
    sync::lock,
    wire::{self, modern},
};

impl Router {
    /// Routes one frame. Returns the answer to the request that `source` is the response to, if it is in the frame.
    ///
    /// # Errors
    /// When the frame is that answer and cannot be parsed.
    pub fn receive(&self, frame: Bytes, source: Source<'_>, outlet: &mut dyn Outlet) -> Result<Option<Answer>, Error> {
        match message::read(frame, self.limits.bounds) {
            Ok(Frame::Single(message)) => Ok(self.message(message, source, outlet)),
            Ok(Frame::Batch(_)) if !self.dialect().is_some_and(|d| d.revision().allows_batches()) => {
                self.report("the server sent a batch, which is not allowed");
                Ok(None)
            }
            Ok(Frame::Batch(messages)) => {
                outlet.begin_batch();
                let mut answer = None;
                for message in messages {
                    match message {
                        Ok(message) => answer = self.message(message, source, outlet).or(answer),
                        Err(malformed) => self.malformed(&malformed, source, outlet)?,
                    }
                }
                Ok(answer)
            }
            Err(malformed) => self.malformed(&malformed, source, outlet).map(|()| None),
        }
    }

    /// Routes a message that is above the limit and was dropped: the request that it answered fails.
    pub fn receive_oversized(&self, message: &Oversized, outlet: &mut dyn Outlet) {
        let most = self.limits.message;
        let error = RpcError::invalid_request(too_large("the message", message.length, most));
        let failed = |what| Event::Failed(Error::new(ErrorKind::Protocol, too_large(what, message.length, most)));
        match &message.gist {
            Skimmed::Response(id) => drop(self.settle_sent(id, failed("the answer"))),
            Skimmed::Request(id) => self.refuse_unread(id, &error, Source::Connection, outlet),
            Skimmed::Unknown => {
                let only = lock(&self.state).exchanges.remove_only();
                match only {
                    Some(waiting) => waiting.mailbox.put(failed("a message that is probably the answer")),
                    None => {
                        let what = too_large("a message that was dropped", message.length, most);
                        lock(&self.state).exchanges.set_note(what);
                    }
                }
            }
            Skimmed::Notification | Skimmed::Noise => {}
        }
        self.inbound.malformed(&Malformed::new(None, error));
    }

    fn message(&self, message: Message, source: Source<'_>, outlet: &mut dyn Outlet) -> Option<Answer> {
        match message.body {
            Body::Request { id, method, params } => self.request(id, &method, &params, source, outlet),
            Body::Notification { method, params } => self.notification(&method, params, source),
            Body::Response { id, outcome } => return self.response(id, outcome, source),
        }
        None
    }

    fn response(&self, id: Option<RequestId>, outcome: Answer, source: Source<'_>) -> Option<Answer> {
        match (id, source.sent()) {
            (Some(id), Some(sent)) if id == *sent => return Some(outcome),
            // The server could not read which request it refuses; there is only one that it can be.
            (None, Some(_)) if outcome.is_err() => return Some(outcome),
            (Some(id), sent) => {
                let settled = sent.is_none() && self.settle_sent(&id, Event::Answer(outcome));
                // One that is late is no mistake: the request was cancelled, or sent again.
                if !settled && !lock(&self.state).exchanges.has_used(&id) {
                    self.report(format!("the server sent an answer to `{id}`, which was not asked"));
                }
            }
            (None, _) => {
                if let Err(error) = outcome {
                    self.inbound.malformed(&Malformed::new(None, error));
                }
            }
        }
        None
    }

    fn notification(&self, method: &str, params: Params, source: Source<'_>) {
        match method {
            "notifications/progress" => {
                let token: Result<RequestId, _> = params.read("progressToken");
                match token.ok().and_then(|token| self.mailbox(&token)) {
                    Some(mailbox) => mailbox.put(Event::Notification { method: method.to_owned(), params }),
                    // A request that became a task is answered, and goes on.
                    None => self.inbound.notification(method, params),
                }
            }
            "notifications/cancelled" => self.cancelled(&params, source),
            _ => match self.subscription(&params, source) {
                Some(id) => {
                    if let Some(mailbox) = self.mailbox(&id) {
                        self.inbound.overhear(method, &params);
                        mailbox.put(Event::Notification { method: method.to_owned(), params });
                    }
                }
                None => self.inbound.notification(method, params),
            },
        }
    }

    /// The subscription that a notification belongs to. In a session the key means nothing.
    fn subscription(&self, params: &Params, source: Source<'_>) -> Option<RequestId> {
        match source {
            Source::Response { key, subscription: true, .. } => Some(RequestId::Number(key)),
            Source::Connection => modern::subscription_of(params).filter(|_| self.is_stateless(source)),
            Source::Response { .. } | Source::SessionResponse { .. } => None,
        }
    }

    /// In a session the server cancels one of its requests; in a stateless revision it ends a subscription.
    fn cancelled(&self, params: &Params, source: Source<'_>) {
        if let Source::Response { key, .. } = source {
            return self.settle(key, Event::Ended);
        }
        // One that cannot be parsed, or that is late, is ignored.
        if let Ok(CancelledParams { request_id: Some(id), .. }) = params.parse() {
            if self.is_stateless(source) {
                self.settle_sent(&id, Event::Ended);
            } else {
                self.requests.cancel(&id);
            }
        }
    }

    fn request(&self, id: RequestId, method: &str, params: &Params, source: Source<'_>, outlet: &mut dyn Outlet) {
        // A server of a stateless revision must not send requests, and a client must not answer them.
        if self.is_stateless(source) {
            return self.report(format!("the server sent the request `{method}`"));
        }
        match self.requests.begin(id, &self.limits) {
            Turn::Answer(slot, cancelled) => {
                let answer: BoxFuture<'static, Answer> = match method {
                    "ping" => Box::pin(std::future::ready(Ok(JsonText::empty_object()))),
                    _ => self.inbound.request(method, params),
                };
                outlet.serve(ServerRequest::new(slot, cancelled, answer, self.limits.max_sent()));
            }
            Turn::Refuse(slot) => {
                let error = RpcError::internal("too many requests at the same time; ask again later");
                refuse(slot, &error, outlet);
            }
            Turn::Ignore => {}
        }
    }

    /// An unreadable request is refused, an unreadable answer is the end of its request.
    fn malformed(&self, malformed: &Malformed, source: Source<'_>, outlet: &mut dyn Outlet) -> Result<(), Error> {
        self.inbound.malformed(malformed);
        if let Skimmed::Request(id) = &*malformed.gist {
            self.refuse_unread(id, &malformed.error, source, outlet);
            return Ok(());
        }
        let Some(id) = malformed.id.as_ref().or(malformed.answers()) else { return Ok(()) };
        let what = format!("the server's answer could not be read: {}", malformed.error.message);
        let error = Error::new(ErrorKind::Protocol, what);
        if source.sent() == Some(id) {
            return Err(error);
        }
        self.settle_sent(id, Event::Failed(error));
        Ok(())
    }

    /// Refuses a request of the server that could not be parsed, where a server may send requests.
    fn refuse_unread(&self, id: &RequestId, error: &RpcError, source: Source<'_>, outlet: &mut dyn Outlet) {
        if self.is_stateless(source) {
            return;
        }
        if let Turn::Answer(slot, _) | Turn::Refuse(slot) = self.requests.begin(id.clone(), &self.limits) {
            refuse(slot, error, outlet);
        }
    }

    /// Ends the request that was sent under an id last; false if there is none.
    fn settle_sent(&self, id: &RequestId, event: Event) -> bool {
        let waiting = lock(&self.state).exchanges.remove_sent(id);
        waiting.inspect(|waiting| waiting.mailbox.put(event)).is_some()
    }

    fn mailbox(&self, id: &RequestId) -> Option<Mailbox> {
        lock(&self.state).exchanges.mailbox(id)
    }

    fn is_stateless(&self, source: Source<'_>) -> bool {
        source.is_stateless() || lock(&self.state).dialect.as_ref().is_some_and(|d| !d.has_sessions())
    }

    fn report(&self, what: impl Into<String>) {
        self.inbound.malformed(&Malformed::new(None, RpcError::invalid_request(what)));
    }
}

fn refuse(slot: Slot, error: &RpcError, outlet: &mut dyn Outlet) {
    outlet.refuse(wire::error(Some(&slot.id), None, error), slot);
}
