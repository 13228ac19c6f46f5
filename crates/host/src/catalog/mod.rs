//! The definitions of an upstream: all pages of its lists, last known good.
//!
//! A [`Catalog`] is a snapshot. It is fetched when the server starts, when the server notifies of changes, and when a
//! time to live expires. A list that cannot be fetched stays as it was. Definitions are slices of the server's messages,
//! byte for byte; for callers of another revision they are [converted](Definition::projected) once.
//!
//! Everything is bounded: 256 pages, 10,000 entries and 32 MiB per list, 256 KiB per definition. A list beyond that is
//! truncated and a definition is dropped, with a [report](Catalog::reports).
//!
//! ```
//! # async fn example(files: couplet_host::upstream::Upstream) {
//! use std::time::Duration;
//! use couplet_host::catalog::List;
//!
//! // Starts the server if its lists are not known yet, and otherwise waits for nothing.
//! let catalog = files.first_catalog(Duration::from_secs(1)).await;
//! for tool in catalog.list(List::Tools).iter() {
//!     tracing::info!("{}: {}", tool.raw(), tool.text().as_str());
//! }
//! # }
//! ```
//!
//! This module must not know names, policies or views.

mod definition;
mod fetch;
mod lists;
mod page;

use std::{collections::HashMap, sync::Arc, time::Duration};

use couplet_core::{Error, Revision};
use couplet_types::ServerCapabilities;
use tokio::time::Instant;

pub use definition::Definition;
pub use lists::List;

pub(crate) use fetch::{FetchLimits, Fetched, fetch};
pub(crate) use lists::ListSet;

use fetch::Listing;

/// The shortest time to live that is respected.
const SHORTEST: Duration = Duration::from_secs(30);
/// The time after which lists are fetched again that must not be cached, and of whose changes there is no notification.
const UNCACHED: Duration = Duration::from_secs(300);

/// The lists of an upstream as they were last fetched, with its instructions and capabilities.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    entries: [ListEntry; List::COUNT],
    instructions: Option<Arc<str>>,
    capabilities: Arc<ServerCapabilities>,
    revision: Option<Revision>,
    generation: u64,
    fetched: Option<Instant>,
}

/// One list, and how the last attempt to fetch it ended.
#[derive(Clone, Debug, Default)]
struct ListEntry {
    definitions: Arc<[Definition]>,
    reports: Arc<[String]>,
    ttl: Option<Duration>,
    error: Option<Error>,
}

/// How current a catalog is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The last attempt to fetch the lists succeeded.
    Fresh,
    /// The last attempt failed; some lists are older.
    Stale,
    /// No list was ever fetched.
    Never,
}

impl Catalog {
    /// The catalog of a server that was never reached.
    pub(crate) fn never() -> Self {
        Self::default()
    }

    /// Returns the definitions of a list, in the server's order.
    pub fn list(&self, list: List) -> &Arc<[Definition]> {
        &self.entries[list.index()].definitions
    }

    /// Returns the server's instructions.
    pub fn instructions(&self) -> Option<&Arc<str>> {
        self.instructions.as_ref()
    }

    /// Returns the server's capabilities.
    pub fn capabilities(&self) -> &Arc<ServerCapabilities> {
        &self.capabilities
    }

    /// Returns the revision of the definitions; `None` if there are none yet.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }

    /// Returns a number that grows with each change of the lists, the instructions or the capabilities.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns how current the lists are.
    pub fn freshness(&self) -> Freshness {
        match (self.fetched, self.error()) {
            (None, _) => Freshness::Never,
            (Some(_), Some(_)) => Freshness::Stale,
            (Some(_), None) => Freshness::Fresh,
        }
    }

    /// Returns why a list could not be fetched, if the last attempt failed.
    pub fn error(&self) -> Option<&Error> {
        self.entries.iter().find_map(|entry| entry.error.as_ref())
    }

    /// Returns the time since a list was last fetched; `None` if none ever was.
    pub fn age(&self) -> Option<Duration> {
        self.fetched.map(|at| at.elapsed())
    }

    /// Returns what is wrong with the lists: definitions that were dropped, lists that were truncated. At most 32 for
    /// each list.
    pub fn reports(&self) -> Vec<String> {
        self.entries.iter().flat_map(|entry| entry.reports.iter().cloned()).collect()
    }

    /// Returns the time after which the lists expire, if the server limits it.
    pub fn ttl(&self) -> Option<Duration> {
        self.entries.iter().filter_map(|entry| entry.ttl).min()
    }

    /// The time after which the lists should be fetched again. A server that notifies of changes does not have to be asked
    /// because it forbids caching.
    pub(crate) fn expiry(&self) -> Option<Duration> {
        let expiries = List::ALL.into_iter().filter_map(|list| match self.entries[list.index()].ttl? {
            Duration::ZERO if list.notifies(&self.capabilities) => None,
            Duration::ZERO => Some(UNCACHED),
            ttl => Some(ttl.max(SHORTEST)),
        });
        expiries.min()
    }

    /// Returns whether a list was ever fetched.
    pub fn is_fetched(&self) -> bool {
        self.fetched.is_some()
    }

    /// Whether an attempt to fetch the lists has ended, well or not.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_fetched() || self.error().is_some()
    }

    /// The lists that could not be fetched.
    pub(crate) fn failed(&self) -> ListSet {
        let failed = List::ALL.into_iter().filter(|list| self.entries[list.index()].error.is_some());
        failed.fold(ListSet::NONE, |all, list| all | list.into())
    }

    /// The catalog after an attempt to fetch some lists.
    pub(crate) fn refreshed(&self, fetched: Fetched) -> Self {
        let mut new = self.clone();
        let mut differs = self.fetched.is_none();
        for (list, result) in fetched.lists {
            let entry = &mut new.entries[list.index()];
            match result {
                Ok(listing) => {
                    new.fetched = Some(fetched.at);
                    differs |= entry.replace(listing);
                }
                Err(error) => entry.error = Some(error),
            }
        }
        differs &= new.fetched.is_some();
        differs |= new.instructions.as_deref() != fetched.instructions.as_deref();
        differs |= *new.capabilities != fetched.capabilities;
        differs |= new.revision.map(Revision::index) != Some(fetched.revision.index());
        if differs {
            new.generation += 1;
            new.instructions = fetched.instructions.map(Into::into);
            new.capabilities = Arc::new(fetched.capabilities);
            new.revision = Some(fetched.revision);
        }
        new
    }
}

impl ListEntry {
    /// Replaces the list, and returns whether it differs. Unchanged definitions stay the same, with what is cached for
    /// them.
    fn replace(&mut self, listing: Listing) -> bool {
        let Listing { definitions, reports, ttl } = listing;
        (self.reports, self.ttl, self.error) = (reports.into(), ttl, None);
        if self.definitions.iter().eq(&definitions) {
            return false;
        }
        let known: HashMap<_, _> = self.definitions.iter().map(|definition| (definition.raw(), definition)).collect();
        let reused = definitions.into_iter().map(|new| match known.get(new.raw()) {
            Some(old) if **old == new => (*old).clone(),
            _ => new,
        });
        self.definitions = reused.collect();
        true
    }
}
