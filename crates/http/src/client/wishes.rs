//! What a client asked of a session, to be asked of the next one if it is lost.

use std::collections::BTreeMap;

use couplet_core::Outgoing;
use couplet_types::{Request, SetLevel, Subscribe, Unsubscribe};

/// Requests that changed what the server tells on its own.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    level: Option<Outgoing>,
    /// By resource.
    subscriptions: BTreeMap<String, Outgoing>,
}

impl Wishes {
    /// Remembers a request that was granted, if it is one of these.
    pub(crate) fn note(&mut self, request: &Outgoing) {
        let uri = || request.param("uri").map(|uri| uri.as_str().to_owned());
        match request.method {
            SetLevel::METHOD => self.level = Some(request.clone()),
            Subscribe::METHOD => self.subscriptions.extend(uri().map(|uri| (uri, request.clone()))),
            Unsubscribe::METHOD => {
                uri().and_then(|uri| self.subscriptions.remove(&uri));
            }
            _ => {}
        }
    }

    /// What is still wished.
    pub(crate) fn all(&self) -> Vec<Outgoing> {
        self.level.iter().chain(self.subscriptions.values()).cloned().collect()
    }
}
