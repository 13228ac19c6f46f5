//! The target of an upstream, which each start connects to again.

use std::sync::Arc;

use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, Limits};
use tokio::sync::Mutex;

/// A target that is shared by all starts. The mutex serializes attempts to connect.
#[derive(Clone)]
pub(super) struct SharedTarget {
    connect: Arc<Mutex<Box<dyn Connect>>>,
    server: Option<String>,
}

impl SharedTarget {
    pub(super) fn new(target: Box<dyn Connect>) -> Self {
        Self { server: target.server(), connect: Arc::new(Mutex::new(target)) }
    }
}

impl Connect for SharedTarget {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move { self.connect.lock().await.connect(inbound, limits).await })
    }

    fn server(&self) -> Option<String> {
        self.server.clone()
    }
}
