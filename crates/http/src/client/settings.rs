//! The settings of a session, to be restored in the next one if it is lost.

use std::collections::BTreeMap;

use couplet_core::Outgoing;
use couplet_types::{Request, SetLevel, Subscribe, Unsubscribe};

/// The requests that set the log level and the subscriptions of a session.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    level: Option<Outgoing>,
    /// By resource.
    subscriptions: BTreeMap<String, Outgoing>,
}

impl Settings {
    /// Stores a request that succeeded, if it is one of these.
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

    /// Returns the requests that are in force.
    pub(crate) fn all(&self) -> Vec<Outgoing> {
        self.level.iter().chain(self.subscriptions.values()).cloned().collect()
    }
}
