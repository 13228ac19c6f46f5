//! A cache of tool results.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{BoxFuture, Call, Reply, ResultBody, sync::lock};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use tokio::time::Instant;

use crate::names::{caller, target};

/// A cache of results of read-only tools, in the memory of this process.
///
/// A tool is cached if it is annotated as `read_only`, here or in a mounted server, or named with
/// [`ResponseCache::tool`]. Results belong to their
/// caller unless [shared](ResponseCache::shared). Failed tools, errors and results that needed the user's input are not
/// cached. Calls that run at the same time do not wait for each other.
///
/// ```
/// use std::time::Duration;
///
/// use couplet_middleware::ResponseCache;
/// use couplet_server::Server;
///
/// let cache = ResponseCache::new(Duration::from_secs(60)).max_entries(1_000).except("now");
/// let server: Server = Server::new("app", "1.0.0").middleware(cache.clone());
/// // After a change of the data:
/// cache.clear();
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct ResponseCache {
    ttl: Duration,
    max_entries: usize,
    max_bytes: usize,
    shared: bool,
    named: HashSet<String>,
    excluded: HashSet<String>,
    entries: Arc<Mutex<Entries>>,
}

#[derive(Debug, Default)]
struct Entries {
    all: HashMap<Key, Entry>,
    /// Increases when the cache is cleared, so that a call that began before stores nothing.
    generation: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    caller: String,
    revision: &'static str,
    tool: String,
    arguments: String,
}

#[derive(Debug)]
struct Entry {
    body: ResultBody,
    stored: Instant,
}

impl ResponseCache {
    /// Creates a cache with a time to live; at most 1,000 results of at most 1 MB each.
    pub fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            max_entries: 1_000,
            max_bytes: 1_000_000,
            shared: false,
            named: HashSet::new(),
            excluded: HashSet::new(),
            entries: Arc::default(),
        }
    }

    /// Sets how many results are stored. The oldest one gives way.
    #[must_use]
    pub fn max_entries(mut self, entries: usize) -> Self {
        self.max_entries = entries;
        self
    }

    /// Sets the size of the largest result that is stored, together with its arguments.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Shares results between all callers. Use it only if results do not depend on the caller.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self
    }

    /// Caches a tool that is not annotated as read-only.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.named.insert(name.into());
        self
    }

    /// Does not cache a tool, although it is read-only.
    #[must_use]
    pub fn except(mut self, name: impl Into<String>) -> Self {
        self.excluded.insert(name.into());
        self
    }

    /// Removes all results. A call that is running stores nothing.
    pub fn clear(&self) {
        let mut entries = lock(&self.entries);
        entries.generation += 1;
        entries.all.clear();
    }

    async fn key(&self, call: &Call, next: &Next) -> Option<Key> {
        let tool = target(call).filter(|tool| !self.excluded.contains(tool))?;
        if !self.named.contains(&tool) && !next.tool(call).await?.is_read_only() {
            return None;
        }
        let caller = if self.shared { String::new() } else { caller(call) };
        let arguments = call.arguments();
        Some(Key { caller, revision: call.peer.version.as_str(), tool, arguments: arguments.as_str().to_owned() })
    }

    fn find(&self, key: &Key) -> (Option<ResultBody>, u64) {
        let entries = lock(&self.entries);
        let fresh = entries.all.get(key).filter(|entry| entry.stored.elapsed() < self.ttl);
        (fresh.map(|entry| entry.body.clone()), entries.generation)
    }

    fn store(&self, key: Key, body: &ResultBody, generation: u64) {
        if body.is_failed_tool() || self.max_entries == 0 || body.size() + key.arguments.len() > self.max_bytes {
            return;
        }
        let mut entries = lock(&self.entries);
        if entries.generation != generation {
            return;
        }
        if entries.all.len() >= self.max_entries && !entries.all.contains_key(&key) {
            let ttl = self.ttl;
            entries.all.retain(|_, entry| entry.stored.elapsed() < ttl);
            if entries.all.len() >= self.max_entries {
                let oldest = entries.all.iter().min_by_key(|(_, entry)| entry.stored).map(|(key, _)| key.clone());
                oldest.map(|oldest| entries.all.remove(&oldest));
            }
        }
        entries.all.insert(key, Entry { body: body.clone(), stored: Instant::now() });
    }
}

impl Middleware for ResponseCache {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if call.known() != Some(RequestMethod::CallTool) {
            return next.run(call);
        }
        let (cache, inputs) = (self.clone(), call.inputs.clone());
        Box::pin(async move {
            let Some(key) = cache.key(&call, &next).await else { return next.run(call).await };
            let (found, generation) = cache.find(&key);
            if let Some(body) = found {
                return Reply::Complete(body);
            }
            let reply = next.run(call).await;
            if let Reply::Complete(body) = &reply
                && !inputs.are_used()
            {
                cache.store(key, body, generation);
            }
            reply
        })
    }
}
