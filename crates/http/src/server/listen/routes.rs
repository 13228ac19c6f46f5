//! Further endpoints of a listener, at paths of their own.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use crate::server::endpoint::Endpoint;

/// Further endpoints of a listener by path, which may change while it serves. Clones are the same.
///
/// Each endpoint has its own hosts, authorization, limits, sessions and metrics. Paths are compared as they are. They
/// are looked up after the path of the listener's own endpoint and before `/health`, `/ready` and the metrics. A
/// shutdown of the listener drains all of them.
///
/// ```
/// use couplet_http::{listen, server::{Endpoint, Routes}};
/// use couplet_server::Server;
///
/// let routes = Routes::new();
/// routes.insert("/mcp/admin", Endpoint::new(Server::<()>::new("admin", "1.0.0").build()));
/// let transport = listen("127.0.0.1:8080").routes(&routes);
/// # drop(transport);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Routes(Arc<RwLock<Table>>);

#[derive(Debug, Default)]
struct Table {
    endpoints: BTreeMap<String, Endpoint>,
    /// Whether a listener serves them.
    is_serving: bool,
    is_draining: bool,
}

impl Routes {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Serves an endpoint at a path, which must not be that of the listener's own. The one that was there before does not
    /// serve new requests from then on: they get 503, its streams end, its running calls finish.
    ///
    /// ```
    /// use couplet_http::server::{Endpoint, Routes};
    /// use couplet_server::Server;
    ///
    /// let routes = Routes::new();
    /// let endpoint = |name| Endpoint::new(Server::<()>::new(name, "1.0.0").build());
    /// routes.insert("/mcp/notes", endpoint("notes"));
    /// routes.insert("/mcp/notes", endpoint("notes-2")); // replaces the first one
    /// assert!(routes.remove("/mcp/notes") && !routes.remove("/mcp/notes"));
    /// ```
    pub fn insert(&self, path: impl Into<String>, endpoint: Endpoint) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if table.is_serving {
            endpoint.run_background();
        }
        if table.is_draining {
            endpoint.begin_drain();
        }
        if let Some(before) = table.endpoints.insert(path.into(), endpoint) {
            before.shut_down();
        }
    }

    /// Removes the endpoint at a path, which does not serve new requests from then on. Returns whether there was one.
    /// Further requests to the path get 404.
    pub fn remove(&self, path: &str) -> bool {
        let removed = self.0.write().unwrap_or_else(PoisonError::into_inner).endpoints.remove(path);
        removed.inspect(Endpoint::shut_down).is_some()
    }

    pub(super) fn find(&self, path: &str) -> Option<Endpoint> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).endpoints.get(path).cloned()
    }

    pub(super) fn start(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).is_serving = true;
        self.all().iter().for_each(Endpoint::run_background);
    }

    pub(super) fn begin_drain(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).is_draining = true;
        self.all().iter().for_each(Endpoint::begin_drain);
    }

    pub(super) fn shut_down(&self, grace: Duration) {
        self.all().iter().for_each(|endpoint| endpoint.shut_down_within(grace));
    }

    pub(super) async fn finish_calls(&self) {
        for endpoint in self.all() {
            endpoint.finish_calls().await;
        }
    }

    pub(super) async fn end(&self) {
        for endpoint in self.all() {
            endpoint.release_sessions().await;
        }
    }

    pub(super) fn all(&self) -> Vec<Endpoint> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).endpoints.values().cloned().collect()
    }
}
