//! The servers that a URL names, and how operations reach them.

#[cfg(feature = "cluster")]
mod cluster;
mod node;
#[cfg(feature = "sentinel")]
mod sentinel;
mod servers;
#[cfg(feature = "cluster")]
mod slots;
mod target;
#[cfg(feature = "tls")]
mod tls;

use std::time::Duration;

use couplet_core::Error;
use redis::{AsyncConnectionConfig, Value};
use tokio::time::Instant;

#[cfg(feature = "cluster")]
use cluster::Cluster;
use node::Node;
pub(crate) use servers::Servers;
pub(crate) use target::Connection;

/// Whether an operation may be sent a second time, after a connection that broke before its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Executed twice, it has the effect and the answer of once.
    Safe,
    /// An error says that it may have been executed.
    Never,
}

/// The shared connections: one for each server.
pub(crate) struct Link {
    address: String,
    timeout: Duration,
    kind: LinkKind,
}

enum LinkKind {
    One(Node),
    #[cfg(feature = "cluster")]
    Cluster(Cluster),
}

impl Link {
    pub(crate) fn new(servers: Servers, timeout: Duration) -> Self {
        let address = servers.to_string();
        let kind = match servers {
            Servers::One(target) => LinkKind::One(Node::new(*target, timeout)),
            #[cfg(feature = "cluster")]
            Servers::Cluster(seeds) => LinkKind::Cluster(Cluster::new(seeds, timeout)),
        };
        Self { address, timeout, kind }
    }

    /// The address without user name and password.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends commands in one go to the server that has a key, and returns their answers. Without a key any server can
    /// answer.
    pub(crate) async fn send(
        &self,
        commands: &redis::Pipeline,
        key: Option<&str>,
        repeat: Repeat,
    ) -> Result<Vec<Value>, Error> {
        let deadline = Instant::now() + self.timeout;
        match &self.kind {
            LinkKind::One(node) => {
                let _ = key;
                node.send(commands, repeat, deadline).await
            }
            #[cfg(feature = "cluster")]
            LinkKind::Cluster(cluster) => cluster.send(commands, key, repeat, deadline).await,
        }
    }

    /// Whether the keys are on several servers.
    pub(crate) fn is_cluster(&self) -> bool {
        !matches!(self.kind, LinkKind::One(_))
    }

    /// Divides keys, by their positions, into those that commands may be sent to in one go.
    pub(crate) async fn together(&self, keys: &[&str]) -> Result<Vec<Vec<usize>>, Error> {
        match &self.kind {
            LinkKind::One(_) => Ok(vec![(0..keys.len()).collect()]),
            #[cfg(feature = "cluster")]
            LinkKind::Cluster(cluster) => cluster.together(keys, Instant::now() + self.timeout).await,
        }
    }

    /// Opens a connection of its own, for subscriptions.
    pub(crate) async fn dedicated(&self, config: AsyncConnectionConfig) -> Result<Connection, Error> {
        match &self.kind {
            LinkKind::One(node) => node.dedicated(config).await,
            #[cfg(feature = "cluster")]
            LinkKind::Cluster(cluster) => cluster.dedicated(config).await,
        }
    }
}
