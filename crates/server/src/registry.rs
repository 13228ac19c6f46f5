//! What a server has registered: one kind of set for tools, resources and prompts.
//!
//! A set is copied when it changes, so a call never waits for a registration, and each copy keeps the pages that were
//! printed from it.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{ResultBody, Revision};
use couplet_types::RpcError;

use crate::definition::Definition;

/// A set that can change while it is used.
#[derive(Debug)]
pub(crate) struct Registry<D>(RwLock<Arc<Set<D>>>);

impl<D: Definition> Registry<D> {
    pub(crate) fn new() -> Self {
        Self(RwLock::new(Arc::new(Set::default())))
    }

    /// The set as it is now.
    pub(crate) fn get(&self) -> Arc<Set<D>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a definition.
    ///
    /// # Errors
    /// When there is one with the same name, naming both places.
    pub(crate) fn add(&self, definition: D) -> Result<(), String> {
        self.add_all([definition])
    }

    /// Adds many definitions, for the price of one; none if one of them cannot be added.
    ///
    /// # Errors
    /// When two have the same name, naming both places.
    pub(crate) fn add_all(&self, definitions: impl IntoIterator<Item = D>) -> Result<(), String> {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = set.copy();
        for definition in definitions {
            if let Some(other) = next.find(definition.key()) {
                return Err(format!(
                    "there are two {}s called `{}`: one registered at {}, one at {}",
                    D::WHAT,
                    definition.key(),
                    other.place(),
                    definition.place()
                ));
            }
            next.insert(definition);
        }
        *set = Arc::new(next);
        Ok(())
    }

    /// Puts a definition in the place of the one with the same name, or at the end; false if there was none.
    pub(crate) fn replace(&self, definition: D) -> bool {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = set.copy();
        let known = next.names.get(definition.key()).copied();
        match known {
            Some(serial) => drop(next.all.insert(serial, Arc::new(definition))),
            None => next.insert(definition),
        }
        *set = Arc::new(next);
        known.is_some()
    }

    /// Takes a definition out; false if there was none.
    pub(crate) fn remove(&self, key: &str) -> bool {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = set.copy();
        let removed = next.names.remove(key).and_then(|serial| next.all.remove(&serial)).is_some();
        if removed {
            *set = Arc::new(next);
        }
        removed
    }
}

/// The definitions in the order of their registration.
#[derive(Debug)]
pub(crate) struct Set<D> {
    all: BTreeMap<u64, Arc<D>>,
    names: HashMap<String, u64>,
    last: u64,
    first_pages: Pages,
}

/// The first page of each listing in each revision, printed.
type Pages = [[OnceLock<ResultBody>; Revision::COUNT]; 2];

impl<D> Default for Set<D> {
    fn default() -> Self {
        Self { all: BTreeMap::new(), names: HashMap::new(), last: 0, first_pages: Pages::default() }
    }
}

impl<D: Definition> Set<D> {
    pub(crate) fn find(&self, key: &str) -> Option<&Arc<D>> {
        self.all.get(self.names.get(key)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<D>> {
        self.all.values()
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|definition| definition.key())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One page of a listing of those for which `item` gives something. The first page is kept for the next time.
    ///
    /// # Errors
    /// -32602 for a cursor that was not made here.
    pub(crate) fn page<T>(
        &self,
        listing: Listing,
        cursor: Option<&str>,
        size: usize,
        revision: Revision,
        item: impl Fn(&D) -> Option<T>,
        print: impl Fn(Vec<T>, Option<String>) -> ResultBody,
    ) -> Result<ResultBody, RpcError> {
        if cursor.is_some() {
            return self.page_for_caller(listing, cursor, size, item, print);
        }
        let page = &self.first_pages[usize::from(listing.templates)][revision.index()];
        Ok(page.get_or_init(|| self.render(listing, 0, size, item, print)).clone())
    }

    /// The same for a listing that differs from caller to caller.
    ///
    /// # Errors
    /// -32602 for a cursor that was not made here.
    pub(crate) fn page_for_caller<T>(
        &self,
        listing: Listing,
        cursor: Option<&str>,
        size: usize,
        item: impl Fn(&D) -> Option<T>,
        print: impl Fn(Vec<T>, Option<String>) -> ResultBody,
    ) -> Result<ResultBody, RpcError> {
        let after = cursor.map_or(Ok(0), |cursor| listing.position(cursor))?;
        Ok(self.render(listing, after, size, item, print))
    }

    fn render<T>(
        &self,
        listing: Listing,
        after: u64,
        size: usize,
        item: impl Fn(&D) -> Option<T>,
        print: impl Fn(Vec<T>, Option<String>) -> ResultBody,
    ) -> ResultBody {
        let rest = self.all.range((Bound::Excluded(after), Bound::Unbounded));
        let mut items = rest.filter_map(|(serial, d)| Some((*serial, item(d)?)));
        let mut page = Vec::new();
        let mut last = after;
        for (serial, found) in items.by_ref().take(size.max(1)) {
            last = serial;
            page.push(found);
        }
        let next = items.next().map(|_| listing.cursor(last));
        print(page, next)
    }

    fn copy(&self) -> Self {
        Self { all: self.all.clone(), names: self.names.clone(), last: self.last, first_pages: Pages::default() }
    }

    fn insert(&mut self, definition: D) {
        self.last += 1;
        self.names.insert(definition.key().to_owned(), self.last);
        self.all.insert(self.last, Arc::new(definition));
    }
}

/// Which list is paged through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listing {
    name: &'static str,
    templates: bool,
}

impl Listing {
    pub(crate) const TOOLS: Self = Self { name: "tools", templates: false };
    pub(crate) const PROMPTS: Self = Self { name: "prompts", templates: false };
    pub(crate) const RESOURCES: Self = Self { name: "resources", templates: false };
    pub(crate) const TEMPLATES: Self = Self { name: "templates", templates: true };

    /// A cursor stays good when the list changes: it says after which registration to go on.
    fn cursor(self, after: u64) -> String {
        URL_SAFE_NO_PAD.encode(format!("{}:{after}", self.name))
    }

    fn position(self, cursor: &str) -> Result<u64, RpcError> {
        let read = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
            text.strip_prefix(self.name)?.strip_prefix(':')?.parse().ok()
        };
        read().ok_or_else(|| RpcError::invalid_params(format!("`cursor` is not one of the list of {}", self.name)))
    }
}
