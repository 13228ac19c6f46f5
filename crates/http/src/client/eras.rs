//! A cache of the transports that servers speak, so that the next connection need not negotiate again.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use couplet_core::sync::lock;
use http::Uri;
use tokio::time::Instant;

/// A cache of the servers that need a handshake, and over which transport. Clones are the same cache.
///
/// The clones of an [`HttpTarget`](super::HttpTarget) have one in common; hand one to other targets, too, with
/// [`HttpTarget::eras`](super::HttpTarget::eras). The key is the whole address without
/// the query, because one origin can serve several servers. A stateless server is probed in any case, so it is not
/// cached.
///
/// An entry that turns out to be wrong is removed, and every entry expires after a day: servers are upgraded. At most
/// 1,000 servers are cached; the oldest entry gives way.
///
/// ```
/// use couplet_http::{client::EraCache, connect};
///
/// // A program that connects to many servers for a short time each.
/// let eras = EraCache::new();
/// let target = |url: &str| connect(url).eras(&eras);
/// let targets = [target("https://a.example/mcp"), target("https://b.example/mcp")];
/// # drop(targets);
/// ```
#[derive(Clone, Default)]
pub struct EraCache(Arc<Mutex<HashMap<String, Entry>>>);

/// The way in which a session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// With a message whose answer opens a session.
    Message,
    /// By opening a stream that names the endpoint for messages.
    Stream,
}

#[derive(Clone, Copy)]
struct Entry {
    greeting: Greeting,
    since: Instant,
}

impl EraCache {
    /// The number of servers in the cache.
    const MOST: usize = 1000;
    const FRESH: Duration = Duration::from_secs(24 * 60 * 60);

    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes and returns the entry of a server. It is put back when it has worked again.
    pub(crate) fn take(&self, server: &Uri) -> Option<Greeting> {
        let entry = self.known().remove(&key(server))?;
        (entry.since.elapsed() < Self::FRESH).then_some(entry.greeting)
    }

    pub(crate) fn put(&self, server: &Uri, greeting: Greeting) {
        let mut known = self.known();
        let oldest = known.iter().min_by_key(|(_, entry)| entry.since).map(|(server, _)| server.clone());
        if let Some(oldest) = oldest.filter(|_| known.len() >= Self::MOST) {
            known.remove(&oldest);
        }
        known.insert(key(server), Entry { greeting, since: Instant::now() });
    }

    pub(crate) fn forget(&self, server: &Uri) {
        self.known().remove(&key(server));
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        lock(&self.0)
    }
}

impl fmt::Debug for EraCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EraCache").field("servers", &self.known().len()).finish()
    }
}

/// A server's address, without the query, which may be a secret.
fn key(server: &Uri) -> String {
    let origin = server.authority().map(|a| a.as_str().to_ascii_lowercase()).unwrap_or_default();
    format!("{}://{origin}{}", server.scheme_str().unwrap_or_default(), server.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(text: &str) -> Uri {
        text.parse().expect("an address")
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_is_bounded_and_the_oldest_goes_first() {
        let eras = EraCache::new();
        for n in 0..=EraCache::MOST {
            eras.put(&server(&format!("https://a/{n}")), Greeting::Message);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(eras.known().len(), EraCache::MOST);
        assert_eq!(eras.take(&server("https://a/0")), None);
        assert_eq!(eras.take(&server("https://a/1")), Some(Greeting::Message));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_taken_or_old_is_gone() {
        let (eras, a) = (EraCache::new(), server("https://A/x?secret=1"));
        eras.put(&a, Greeting::Stream);
        assert!(!format!("{eras:?}").contains("secret") && !eras.known().keys().any(|k| k.contains("secret")));
        assert_eq!(eras.clone().take(&server("https://a/x?secret=2")), Some(Greeting::Stream));
        assert_eq!(eras.take(&a), None);
        eras.put(&a, Greeting::Message);
        tokio::time::advance(EraCache::FRESH).await;
        assert_eq!(eras.take(&a), None);
    }
}
