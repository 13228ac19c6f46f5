//! Stateless subscriptions of a connection, from the request to its end.

use std::task::{Context, Poll};

use couplet_types::{
    Cancelled, CancelledParams, Notification, RequestId, RpcError, SubscriptionAcknowledged, SubscriptionFilter,
};

use super::{Place, ServerConnection};
use crate::{
    message::Params,
    server::{
        hub::{Filter, Subscription},
        queue::EntryKind,
        running::BoxFuture,
    },
    service::{Description, Peer, Refusals, Reply},
    wire::{self, modern, revision::Revision},
};

/// A `subscriptions/listen` that is open, or about to be.
pub(super) struct Listen {
    pub(super) id: RequestId,
    pub(super) revision: Revision,
    pub(super) changes: Subscription,
    /// The work of the service until the subscription is acknowledged.
    opening: Option<Opening>,
}

struct Opening {
    honoured: SubscriptionFilter,
    work: BoxFuture<'static, Refusals>,
}

impl Listen {
    /// Whether it was acknowledged: no change is sent before.
    pub(super) fn is_open(&self) -> bool {
        self.opening.is_none()
    }

    /// The filter to acknowledge, once the service has confirmed it.
    ///
    /// # Errors
    /// If the service has refused all of it.
    fn poll_opening(&mut self, cx: &mut Context<'_>) -> Poll<Result<SubscriptionFilter, RpcError>> {
        let Some(opening) = &mut self.opening else { return Poll::Pending };
        let Poll::Ready(refused) = opening.work.as_mut().poll(cx) else { return Poll::Pending };
        let mut honoured = std::mem::take(&mut opening.honoured);
        self.opening = None;
        honoured.resource_subscriptions.iter_mut().for_each(|uris| uris.retain(|uri| !refused.contains_key(uri)));
        let is_empty = self.changes.update(|interest| {
            interest.uris.retain(|uri| !refused.contains_key(uri));
            let nothing = Filter { principal: interest.principal.clone(), ..Filter::new() };
            *interest == nothing
        });
        match refused.into_values().next() {
            Some(error) if is_empty => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(honoured)),
        }
    }
}

impl ServerConnection {
    pub(super) fn listen(
        &mut self,
        id: &RequestId,
        revision: Revision,
        params: &Params,
        peer: &Peer,
        about: &Description,
    ) -> Result<(), RpcError> {
        let (mut honoured, mut interest) = modern::listen(params, revision, peer, about, self.limits.uris)?;
        if self.listens.len() >= self.limits.subscriptions {
            let most = self.limits.subscriptions;
            return Err(RpcError::internal(format!("there are already {most} subscriptions on this connection")));
        }
        // Decided once for each resource: a service may record its decisions.
        interest.uris.retain(|uri| self.service.may_subscribe(uri, self.asker.0.as_deref()));
        honoured.resource_subscriptions.iter_mut().for_each(|uris| uris.retain(|uri| interest.uris.contains(uri)));
        interest.principal = self.asker.0.as_ref().map(|caller| caller.principal().clone());
        let uris = interest.uris.clone();
        let changes = self.service.hub().subscribe(interest);
        let work = if uris.is_empty() { None } else { self.service.subscribing(&uris) };
        let opening = match work {
            Some(work) => Some(Opening { honoured, work }),
            None => {
                self.acknowledge(id, &honoured);
                None
            }
        };
        self.requests.insert(id.clone(), Place::Listening);
        self.listens.push(Listen { id: id.clone(), revision, changes, opening });
        Ok(())
    }

    fn acknowledge(&self, id: &RequestId, honoured: &SubscriptionFilter) {
        let text = wire::notification(SubscriptionAcknowledged::METHOD, &modern::acknowledged(id, honoured));
        self.queue.push(EntryKind::Notification(id.clone()), text);
    }

    /// Acknowledges the subscriptions that the service has confirmed.
    #[inline]
    pub(super) fn poll_listens(&mut self, cx: &mut Context<'_>) {
        let mut at = 0;
        while at < self.listens.len() {
            match self.listens[at].poll_opening(cx) {
                Poll::Ready(Ok(honoured)) => self.acknowledge(&self.listens[at].id, &honoured),
                Poll::Ready(Err(error)) => {
                    let Listen { id, revision, .. } = self.listens.remove(at);
                    self.answer(revision, id, &Reply::Error(error), None);
                    continue;
                }
                Poll::Pending => {}
            }
            at += 1;
        }
    }

    /// The result of the subscription, and then the notification that some clients wait for instead.
    pub(super) fn end_listen(&mut self, listen: Listen) {
        let reply = Reply::Complete(modern::listen_ended(&listen.id));
        self.answer(listen.revision, listen.id.clone(), &reply, None);
        let params = wire::to_json(&CancelledParams::new(listen.id));
        self.queue.push(EntryKind::Free, wire::notification(Cancelled::METHOD, &params));
    }
}
