//! The target of an upstream, which each start connects to again.

use std::sync::Arc;

use couplet_core::{BoxFuture, Connect, Connected, Error, Inbound, Limits};
use tokio::sync::Mutex;

use super::flood::Guard;

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
        Box::pin(async move {
            let guard = Guard::default();
            let connected = self.connect.lock().await.connect(guard.inbound(inbound), limits).await?;
            Ok(guard.watch(connected))
        })
    }

    fn server(&self) -> Option<String> {
        self.server.clone()
    }
}
