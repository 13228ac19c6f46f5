//! Answers that are kept for as long as the server allows.

mod flights;
mod memory;
mod seat;
mod shelf;

use std::{fmt, sync::Arc};

pub(crate) use flights::{Begun, Lead, News};
pub(crate) use seat::{Seat, Ticket};

use memory::Memory;

/// Where answers are kept that the server says may be: what it is, its lists, and resources that were read.
///
/// Every client has one of its own, unless [`ClientBuilder::cache`](crate::ClientBuilder::cache) says otherwise. Clones
/// are the same memory, and can be handed to several clients. What a server calls `public` is then shared by all of them
/// that talk to the same server and declare the same capabilities; what it calls `private` stays with the client that
/// asked, or with those that [speak for the same principal](Cache::for_principal).
///
/// An answer is used until its `ttlMs` have passed (a day at most), until the server tells of a change, or until there
/// is no room: 1,000 answers and 16 MiB. Nothing is asked for in the background, and nothing old is ever used.
///
/// ```
/// # async fn example(server: std::sync::Arc<dyn couplet_core::Service>) -> Result<(), couplet_core::Error> {
/// use couplet_client::{Cache, Client};
///
/// let cache = Cache::new().for_server("weather");
/// let ann = Client::new("demo", "1.0.0").cache(cache.for_principal("ann")).connect(server.clone()).await?;
/// let bob = Client::new("demo", "1.0.0").cache(cache.for_principal("bob")).connect(server).await?;
/// // If the list is public, the server is asked once.
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

    /// A cache with nothing in it.
    pub fn new() -> Self {
        Self::bounded(Self::ANSWERS, Self::BYTES)
    }

    /// A cache for so many answers of so many bytes in all. What was not used for longest makes room.
    pub fn bounded(answers: usize, bytes: usize) -> Self {
        Self { memory: Arc::new(Memory::new(answers, bytes)), server: None, principal: None }
    }

    /// The same memory, for clients of one server. Over HTTP the address says which one it is; elsewhere, such as for a
    /// program that is started, nothing is shared without a name.
    #[must_use]
    pub fn for_server(&self, name: impl Into<String>) -> Self {
        Self { server: Some(name.into().into()), ..self.clone() }
    }

    /// The same memory, for clients that speak for one principal, with the same rights: they share what is private.
    /// Without this, each connection is on its own.
    #[must_use]
    pub fn for_principal(&self, name: impl Into<String>) -> Self {
        Self { principal: Some(name.into().into()), ..self.clone() }
    }

    /// Forgets everything, for all who share the memory.
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
