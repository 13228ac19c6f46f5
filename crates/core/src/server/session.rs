//! A session: the negotiated revision and capabilities, and what it stores.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_types::{LoggingLevel, RequestMethod, RpcError, SetLevelParams, SubscribeParams};
use serde::{Deserialize, Serialize};

use crate::{
    limits::Limits,
    message::Params,
    server::{
        hub::{Filter, Hub, Subscription},
        outbox::LogGate,
        running::BoxFuture,
    },
    service::{Description, Peer, Refusals, Reply, ResultBody, Service, caller::Caller},
    sync::lock,
    wire::{revision::Revision, to_json},
};

/// The outcome of a handshake.
pub(crate) struct Session {
    pub(crate) revision: Revision,
    pub(crate) peer: Arc<Peer>,
    level: Arc<Mutex<LoggingLevel>>,
    pub(crate) ready: bool,
    pub(crate) changes: Arc<Subscription>,
    /// Whether the stored data changed since it was last returned.
    pub(crate) changed: bool,
}

/// The answer to a request about the session itself.
pub(crate) enum Answer {
    Now(ResultBody),
    /// The answer of the service, which the session waits for.
    Later(BoxFuture<'static, Reply>),
}

/// The stored data of a session beyond its handshake.
#[derive(Deserialize, Serialize)]
struct Memory {
    level: LoggingLevel,
    uris: BTreeSet<String>,
}

impl Session {
    pub(crate) fn new(revision: Revision, peer: Arc<Peer>, hub: &Hub) -> Self {
        let level = Arc::new(Mutex::new(LoggingLevel::Info));
        let changes = Arc::new(hub.subscribe(Filter::new()));
        Self { revision, peer, level, ready: false, changes, changed: false }
    }

    /// Returns the stored data, if it has changed.
    pub(crate) fn changed_memory(&mut self) -> Option<Bytes> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let uris = self.changes.update(|interest| interest.uris.clone());
        Some(to_json(&Memory { level: *lock(&self.level), uris }).into())
    }

    /// Restores stored data.
    pub(crate) fn restore_memory(&mut self, memory: &[u8]) {
        // It is ours: what cannot be read is no memory.
        let Ok(Memory { level, uris }) = serde_json::from_slice(memory) else { return };
        *lock(&self.level) = level;
        self.changes.update(|interest| interest.uris = uris);
    }

    /// Completes the handshake: the client receives changes from now on.
    pub(crate) fn open(&mut self, about: &Description) {
        self.ready = true;
        let capabilities = &about.capabilities;
        self.changes.update(|interest| {
            interest.tools = capabilities.tools.as_ref().is_some_and(|c| c.list_changed == Some(true));
            interest.prompts = capabilities.prompts.as_ref().is_some_and(|c| c.list_changed == Some(true));
            interest.resources = capabilities.resources.as_ref().is_some_and(|c| c.list_changed == Some(true));
        });
    }

    /// Answers a request about the session itself; `None` for one that the service answers.
    ///
    /// # Errors
    /// If the parameters are invalid, the resource does not exist, or there are too many subscriptions.
    pub(crate) fn answer(
        &mut self,
        method: RequestMethod,
        params: &Params,
        service: &dyn Service,
        caller: Option<&Caller>,
        limits: &Limits,
    ) -> Result<Option<Answer>, RpcError> {
        match method {
            RequestMethod::SetLevel => {
                self.changed = true;
                let SetLevelParams { level, .. } = params.parse()?;
                *lock(&self.level) = level;
            }
            RequestMethod::Subscribe => {
                self.changed = true;
                let SubscribeParams { uri, .. } = params.parse()?;
                // The decision comes first: a service may record that of a resource which it hides.
                if !service.may_subscribe(&uri, caller) || !service.has_resource(&uri) {
                    return Err(self.revision.resource_not_found(&uri));
                }
                self.subscribe(uri.clone(), limits.uris)?;
                if let Some(work) = service.subscribing(&BTreeSet::from([uri.clone()])) {
                    return Ok(Some(Answer::Later(Box::pin(confirmed(work, uri, self.changes.clone())))));
                }
            }
            RequestMethod::Unsubscribe => {
                self.changed = true;
                let SubscribeParams { uri, .. } = params.parse()?;
                self.changes.update(|interest| interest.uris.remove(&uri));
            }
            _ => return Ok(None),
        }
        Ok(Some(Answer::Now(ResultBody::empty())))
    }

    fn subscribe(&self, uri: String, most: usize) -> Result<(), RpcError> {
        let fits = self.changes.update(|interest| {
            let fits = interest.uris.len() < most || interest.uris.contains(&uri);
            if fits {
                interest.uris.insert(uri);
            }
            fits
        });
        if fits { Ok(()) } else { Err(RpcError::internal(format!("more than {most} subscriptions in a session"))) }
    }

    /// The filter for log messages of calls in this session.
    pub(crate) fn log_gate(&self, about: &Description) -> LogGate {
        if about.capabilities.logging.is_some() { LogGate::Session(self.level.clone()) } else { LogGate::Closed }
    }
}

/// The reply to a subscription once the service has confirmed it. Without a confirmation there is no subscription.
async fn confirmed(work: BoxFuture<'static, Refusals>, uri: String, changes: Arc<Subscription>) -> Reply {
    match work.await.remove(&uri) {
        None => Reply::Complete(ResultBody::empty()),
        Some(error) => {
            changes.update(|interest| interest.uris.remove(&uri));
            Reply::Error(error)
        }
    }
}
