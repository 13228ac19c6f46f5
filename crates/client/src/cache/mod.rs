//! The response cache of clients.

mod entries;
mod flights;
mod memory;
mod seat;

use std::{fmt, sync::Arc};

pub(crate) use flights::{Begun, JoinOutcome, Lead};
pub(crate) use seat::{Seat, Ticket};

use memory::Memory;

/// A cache of results that the server allows to cache: its description, its lists, and resources.
///
/// Every client has one of its own, unless [`ClientBuilder::cache`](crate::ClientBuilder::cache) sets another. Clones
/// share their entries, and can be used by several clients. A result with the scope `public` is then shared by all of them
/// that connect to the same server and declare the same capabilities; one with the scope `private` is used by the client
/// that requested it, or by all clients [of the same principal](Cache::for_principal).
///
/// An entry is used until its `ttlMs` have passed (a day at most), until the server notifies of a change, or until it is
/// evicted: the limits are 1,000 entries and 16 MiB. Nothing is refreshed in the background, and no stale entry is used.
///
/// ```
/// # async fn example(server: std::sync::Arc<dyn couplet_core::Service>) -> Result<(), couplet_core::Error> {
/// use couplet_client::{Cache, Client};
///
/// let cache = Cache::new().for_server("weather");
/// let ann = Client::new("demo", "1.0.0").cache(cache.for_principal("ann")).connect(server.clone()).await?;
/// let bob = Client::new("demo", "1.0.0").cache(cache.for_principal("bob")).connect(server).await?;
/// // If the list is public, it is requested once.
/// assert_eq!(ann.tools().await?.len(), bob.tools().await?.len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Cache {
    memory: Arc<Memory>,
    server: Option<Arc<str>>,
    principal: Option<Arc<str>>,
}

impl Cache {
    const ANSWERS: usize = 1000;
    const BYTES: usize = 16 << 20;

    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::bounded(Self::ANSWERS, Self::BYTES)
    }

    /// Creates a cache with a maximum number of entries and of bytes in all. The least recently used is evicted first.
    pub fn bounded(answers: usize, bytes: usize) -> Self {
        Self { memory: Arc::new(Memory::new(answers, bytes)), server: None, principal: None }
    }

    /// Returns a handle for clients of one server, which shares the entries. Over HTTP the address identifies the server;
    /// elsewhere, such as for a child process, nothing is shared without a name.
    #[must_use]
    pub fn for_server(&self, name: impl Into<String>) -> Self {
        Self { server: Some(name.into().into()), ..self.clone() }
    }

    /// Returns a handle for clients of one principal, which shares private entries among them. They must have the same
    /// permissions. Without it, each connection has private entries of its own.
    #[must_use]
    pub fn for_principal(&self, name: impl Into<String>) -> Self {
        Self { principal: Some(name.into().into()), ..self.clone() }
    }

    /// Removes all entries, for all clients that share them.
    pub fn clear(&self) {
        self.memory.clear();
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("server", &self.server)
            .field("answers", &self.memory.len())
            .finish_non_exhaustive()
    }
}
