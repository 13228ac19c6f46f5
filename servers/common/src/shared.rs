//! What the replicas of a server share: a key, and with the feature `redis` a store.

#[cfg(feature = "redis")]
use std::sync::Arc;
use std::{error::Error, fmt};

use couplet::{http::server::HttpTransport, prelude::Server};
#[cfg(feature = "redis")]
use couplet::{
    http::server::Replica,
    redis::{Redis, RedisBus, RedisEvents, RedisOutcomes, RedisSessions, RedisTasks},
    tasks::Tasks,
};

use crate::key::StateKeyArgs;

/// The flags of what replicas share.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SharedArgs {
    /// The flag of the key.
    #[command(flatten)]
    pub key: StateKeyArgs,
    /// Redis or Valkey that all replicas use, such as redis://localhost:6379; needs --state-key-file
    #[cfg(feature = "redis")]
    #[arg(long, value_name = "URL", requires = "state_key_file")]
    pub store: Option<String>,
    /// URL at which the other replicas reach this one, such as http://10.0.0.7:3001/mcp; needs --store
    #[cfg(feature = "redis")]
    #[arg(long, value_name = "URL", requires = "store")]
    pub node_url: Option<String>,
}

impl SharedArgs {
    /// Reads the key and prepares the store, which is connected to with its first use.
    ///
    /// # Errors
    /// If the key cannot be read, or a URL is not one.
    pub fn open(&self) -> Result<Shared, Box<dyn Error>> {
        let key = self.key.read()?;
        // Without the key the flags are refused.
        #[cfg(feature = "redis")]
        let replica = match (&self.node_url, key) {
            (Some(url), Some(key)) => Some(Replica::new(url.clone(), key)?),
            _ => None,
        };
        Ok(Shared {
            key,
            #[cfg(feature = "redis")]
            redis: match (&self.store, key) {
                (Some(url), Some(key)) => Some(Redis::new(url, key)?),
                _ => None,
            },
            #[cfg(feature = "redis")]
            replica,
            warning: self.key.warning(),
        })
    }
}

/// What the replicas of a server share. The default is a server on its own.
#[derive(Clone, Default)]
pub struct Shared {
    key: Option<[u8; 32]>,
    #[cfg(feature = "redis")]
    redis: Option<Redis>,
    #[cfg(feature = "redis")]
    replica: Option<Replica>,
    warning: Option<String>,
}

impl Shared {
    /// Configures a server: the key of request state, and with a store the bus of changes and the outcomes of calls.
    pub fn configure<S: Clone + Send + Sync + 'static>(&self, server: Server<S>) -> Server<S> {
        let server = self.configure_calls(server);
        #[cfg(feature = "redis")]
        let server = self.redis.iter().fold(server, |server, redis| server.change_bus(RedisBus::new(redis)));
        server
    }

    /// Configures a server without the bus of changes, for a server whose replicas notice each change by themselves.
    pub fn configure_calls<S: Clone + Send + Sync + 'static>(&self, server: Server<S>) -> Server<S> {
        let server = self.key.into_iter().fold(server, |server, key| server.request_state_key(key));
        #[cfg(feature = "redis")]
        let server = self.redis.iter().fold(server, |server, redis| server.outcomes(RedisOutcomes::new(redis)));
        server
    }

    /// Returns the key of request state, if there is one, for a service that is not a [`Server`].
    #[must_use]
    pub fn request_state_key(&self) -> Option<[u8; 32]> {
        self.key
    }

    /// Returns tasks in the store, or in memory without one.
    #[cfg(feature = "redis")]
    pub fn tasks(&self) -> Tasks {
        self.redis.as_ref().map_or_else(Tasks::in_memory, |redis| Tasks::new(RedisTasks::new(redis)))
    }

    /// Configures the endpoint of a transport: with a store its sessions and events. [`serve`](crate::serve) does so.
    #[must_use]
    pub fn transport(&self, transport: HttpTransport) -> HttpTransport {
        #[cfg(feature = "redis")]
        if let Some(redis) = self.redis.clone() {
            let replica = self.replica.clone();
            return transport.endpoint(move |endpoint| {
                let (sessions, events) = (Arc::new(RedisSessions::new(&redis)), Arc::new(RedisEvents::new(&redis)));
                let endpoint = endpoint.sessions(sessions).events(events);
                replica.into_iter().fold(endpoint, |endpoint, replica| endpoint.replica(replica))
            });
        }
        transport
    }

    /// Returns a warning for the operator, if there is a reason.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        self.warning.clone()
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key is a secret.
        f.debug_struct("Shared").field("has_key", &self.key.is_some()).finish_non_exhaustive()
    }
}
