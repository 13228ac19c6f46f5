//! A session: the negotiated revision and capabilities, and what it stores.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_types::{LoggingLevel, RpcError, SetLevelParams, SubscribeParams};
use serde::{Deserialize, Serialize};

use crate::{
    limits::Limits,
    message::Params,
    server::{
        hub::{Filter, Hub, Subscription},
        outbox::LogGate,
    },
    service::{Description, Peer, Reply, ResultBody, Service},
    sync::lock,
    wire::{revision::Revision, to_json},
};

/// The outcome of a handshake.
pub(crate) struct Session {
    pub(crate) revision: Revision,
    pub(crate) peer: Arc<Peer>,
    level: Arc<Mutex<LoggingLevel>>,
    pub(crate) ready: bool,
    pub(crate) changes: Subscription,
    /// Whether the stored data changed since it was last returned.
    pub(crate) changed: bool,
}

/// The stored data of a session beyond its handshake.
#[derive(Deserialize, Serialize)]
struct Memory {
    level: LoggingLevel,
    uris: BTreeSet<String>,
}

/// What a request in a session leads to.
pub(crate) enum Legacy {
    Reply(Revision, Reply),
    Call(Revision, Arc<Peer>, LogGate),
}

impl Session {
    pub(crate) fn new(revision: Revision, peer: Arc<Peer>, hub: &Hub) -> Self {
        let level = Arc::new(Mutex::new(LoggingLevel::Info));
        let changes = hub.subscribe(Filter::new());
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

    /// What a request leads to: an answer at once, or a call of the service.
    pub(crate) fn request(
        &mut self,
        method: &str,
        params: &Params,
        service: &dyn Service,
        about: &Description,
        limits: &Limits,
    ) -> Result<Legacy, RpcError> {
        let empty = Ok(Legacy::Reply(self.revision, Reply::Complete(ResultBody::empty())));
        self.changed |= matches!(method, "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe");
        match method {
            "logging/setLevel" => {
                let SetLevelParams { level, .. } = params.parse()?;
                *lock(&self.level) = level;
                empty
            }
            "resources/subscribe" => {
                let SubscribeParams { uri, .. } = params.parse()?;
                if !service.has_resource(&uri) {
                    return Err(self.revision.resource_not_found(&uri));
                }
                let fits = self.changes.update(|interest| {
                    let fits = interest.uris.len() < limits.uris || interest.uris.contains(&uri);
                    if fits {
                        interest.uris.insert(uri);
                    }
                    fits
                });
                let most = limits.uris;
                if fits {
                    empty
                } else {
                    Err(RpcError::internal(format!("more than {most} subscriptions in a session")))
                }
            }
            "resources/unsubscribe" => {
                let SubscribeParams { uri, .. } = params.parse()?;
                self.changes.update(|interest| interest.uris.remove(&uri));
                empty
            }
            _ => {
                let logs = about.capabilities.logging.is_some();
                let level = if logs { LogGate::Session(self.level.clone()) } else { LogGate::Closed };
                Ok(Legacy::Call(self.revision, self.peer.clone(), level))
            }
        }
    }
}
