//! The server's requests that a client is answering.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use couplet_types::{RequestId, RpcError};
use futures_channel::oneshot;

use crate::{
    limits::{Limits, too_large},
    message::scan::JsonText,
    server::running::BoxFuture,
    sync::lock,
    wire,
};

/// The requests that are being answered, each with the sender that cancels it. Clones are the same table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests(Arc<Mutex<HashMap<RequestId, Option<oneshot::Sender<()>>>>>);

/// What is done with a request of the server.
pub(crate) enum Turn {
    /// It is answered; the receiver is ready when the server cancels it.
    Answer(Slot, oneshot::Receiver<()>),
    /// Too many requests are being answered.
    Refuse(Slot),
    /// It is being answered already, or too many refusals wait to be sent.
    Ignore,
}

impl Requests {
    /// Takes a slot for a request, if one is free.
    pub(crate) fn begin(&self, id: RequestId, limits: &Limits) -> Turn {
        let mut requests = lock(&self.0);
        let open = requests.len();
        if requests.contains_key(&id) || open >= limits.running.saturating_add(limits.queue) {
            return Turn::Ignore;
        }
        let (cancel, cancelled) = oneshot::channel();
        requests.insert(id.clone(), Some(cancel));
        let slot = Slot { id, requests: self.clone() };
        if open < limits.running { Turn::Answer(slot, cancelled) } else { Turn::Refuse(slot) }
    }

    /// Cancels a request. Its slot is free as soon as its future is dropped.
    pub(crate) fn cancel(&self, id: &RequestId) {
        let cancel = lock(&self.0).get_mut(id).and_then(Option::take);
        if let Some(cancel) = cancel {
            let _ = cancel.send(());
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

/// The slot of one request among those that are being answered. It is free again when this is dropped.
#[derive(Debug)]
#[must_use = "the slot is free when this is dropped"]
pub struct Slot {
    pub(crate) id: RequestId,
    requests: Requests,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let entry = lock(&self.requests.0).remove(&self.id);
        drop(entry);
    }
}

/// A request of the server that is being answered: a future of the message to send, or of `None` if the server has
/// cancelled the request.
///
/// It occupies a slot until it is dropped. A transport whose answers wait after this future is ready should keep it
/// until the answer is sent, so that they count against the limit.
#[must_use = "a request that is dropped is not answered"]
pub struct ServerRequest {
    slot: Slot,
    answer: BoxFuture<'static, Result<JsonText, RpcError>>,
    cancelled: oneshot::Receiver<()>,
    longest: usize,
}

impl ServerRequest {
    pub(crate) fn new(
        slot: Slot,
        cancelled: oneshot::Receiver<()>,
        answer: BoxFuture<'static, Result<JsonText, RpcError>>,
        longest: usize,
    ) -> Self {
        Self { slot, answer, cancelled, longest }
    }
}

impl Future for ServerRequest {
    type Output = Option<Bytes>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if Pin::new(&mut self.cancelled).poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let answer = ready!(self.answer.as_mut().poll(cx));
        let text = wire::plain_answer(&self.slot.id, &answer);
        if text.len() <= self.longest {
            return Poll::Ready(Some(text));
        }
        let error = RpcError::internal(too_large("the answer", text.len(), self.longest));
        Poll::Ready(Some(wire::error(Some(&self.slot.id), None, &error)))
    }
}

impl fmt::Debug for ServerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRequest").field("id", &self.slot.id).finish_non_exhaustive()
    }
}
