//! What the replicas of a server share: a key, and with the feature `redis` a store.

#[cfg(feature = "redis")]
use std::sync::Arc;
use std::{error::Error, fmt};

use couplet::{core::Sealer, http::server::HttpTransport, prelude::Server};
#[cfg(feature = "redis")]
use couplet::{
    http::server::Replica,
    redis::{Keys, Redis, RedisBuilder, RedisBus, RedisEvents, RedisOutcomes, RedisSessions, RedisTasks},
    tasks::Tasks,
};

use crate::key::{StateKeyArgs, StateKeys};

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
    /// Prefix of all keys in the store; servers that share a store need different ones (default: couplet:)
    #[cfg(feature = "redis")]
    #[arg(long, value_name = "PREFIX", requires = "store")]
    pub store_prefix: Option<String>,
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
        let keys = self.key.read()?;
        // Without a key the flags are refused.
        Ok(Shared {
            #[cfg(feature = "redis")]
            redis: match (&self.store, &keys) {
                (Some(url), Some(keys)) => Some(redis(url, self.store_prefix.as_deref(), keys)?),
                _ => None,
            },
            #[cfg(feature = "redis")]
            replica: match (&self.node_url, &keys) {
                (Some(url), Some(keys)) => Some(replica(url, keys)?),
                _ => None,
            },
            keys,
            warning: self.key.warning(),
        })
    }
}

#[cfg(feature = "redis")]
fn redis(url: &str, prefix: Option<&str>, keys: &StateKeys) -> Result<Redis, couplet::Error> {
    prefix.into_iter().fold(Redis::builder(url, sealing(keys)), RedisBuilder::prefix).build()
}

#[cfg(feature = "redis")]
fn sealing(keys: &StateKeys) -> Keys {
    keys.others().iter().fold(Keys::new(keys.current()), |sealing, key| sealing.also_opens(*key))
}

#[cfg(feature = "redis")]
fn replica(url: &str, keys: &StateKeys) -> Result<Replica, couplet::Error> {
    let replica = Replica::new(url, keys.current())?;
    Ok(keys.others().iter().fold(replica, |replica, key| replica.also_accepts(*key)))
}

/// What the replicas of a server share. The default is a server on its own.
#[derive(Clone, Default)]
pub struct Shared {
    keys: Option<StateKeys>,
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
        let server = self.sealer().into_iter().fold(server, |server, sealer| server.request_state_key(sealer));
        #[cfg(feature = "redis")]
        let server = self.redis.iter().fold(server, |server, redis| server.outcomes(RedisOutcomes::new(redis)));
        server
    }

    /// Returns the sealer of request state, if there is a key, for a service that is not a [`Server`].
    #[must_use]
    pub fn sealer(&self) -> Option<Sealer> {
        self.keys.as_ref().map(StateKeys::sealer)
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
        f.debug_struct("Shared").field("has_key", &self.keys.is_some()).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "redis"))]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        shared: SharedArgs,
    }

    /// What a program does with these flags and two keys.
    fn open(flags: &[&str]) -> Result<Shared, String> {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("keys");
        std::fs::write(&file, format!("{}\n{}\n", "02".repeat(32), "01".repeat(32))).expect("it can be written");
        let key = ["program", "--state-key-file", file.to_str().expect("it is text")];
        let arguments = key.iter().chain(flags);
        let program = <Program as clap::Parser>::try_parse_from(arguments).map_err(|error| error.to_string())?;
        program.shared.open().map_err(|error| error.to_string())
    }

    #[test]
    fn the_store_has_a_prefix_and_all_keys() {
        let store = ["--store", "redis://localhost"];
        for (flags, expected) in [
            (&store[..], r#"prefix: "couplet:""#),
            (&[&store[..], &["--store-prefix", "notes:"]].concat(), r#"prefix: "notes:""#),
        ] {
            let shared = open(flags).expect("these are flags");
            let shown = format!("{:?}", shared.redis.expect("there is a store"));
            assert!(shown.contains(expected), "{shown}");
            let sealing = sealing(&shared.keys.expect("there are keys"));
            assert_eq!(format!("{sealing:?}"), "Keys { count: 2, .. }");
        }
        for (flags, says) in [
            (&["--store-prefix", "notes:"][..], "--store <URL>"),
            (&[&store[..], &["--store-prefix", "{notes}"]].concat(), "expected a prefix without braces"),
        ] {
            let error = open(flags).expect_err(says);
            assert!(error.contains(says), "{error}");
        }
    }
}
