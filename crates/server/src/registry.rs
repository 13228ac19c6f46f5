//! The registered tools, resources and prompts of a server.
//!
//! A set is copied on write, so that a call never waits for a registration. Each copy caches the first pages that were
//! serialized from it.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{ResultBody, Revision};
use couplet_types::RpcError;

use crate::definition::{Definition, registered_twice};

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
    /// If there is one with the same name, with both places.
    pub(crate) fn add(&self, definition: D) -> Result<(), String> {
        self.add_all([definition])
    }

    /// Adds definitions with one copy of the set; none of them if one cannot be added.
    ///
    /// # Errors
    /// If two have the same name, with both places.
    pub(crate) fn add_all(&self, definitions: impl IntoIterator<Item = D>) -> Result<(), String> {
        let mut set = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = set.copy();
        for definition in definitions {
            if let Some(other) = next.find(definition.key()) {
                return Err(registered_twice(&**other, &definition));
            }
            next.insert(definition);
        }
        *set = Arc::new(next);
        Ok(())
    }

    /// Replaces the definition with the same name, or appends one. Returns whether one was replaced.
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

    /// Removes a definition. Returns whether there was one.
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

/// The first page of each listing in each revision, serialized.
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

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Serializes one page of the definitions for which `item` returns something. The first page is cached.
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
        write: impl Fn(Vec<T>, Option<String>) -> ResultBody,
    ) -> Result<ResultBody, RpcError> {
        if cursor.is_some() {
            return self.page_for_caller(listing, cursor, size, item, write);
        }
        let page = &self.first_pages[usize::from(listing.templates)][revision.index()];
        Ok(page.get_or_init(|| self.render(listing, 0, size, item, write)).clone())
    }

    /// Serializes one page of a listing that differs between callers, without a cache.
    ///
    /// # Errors
    /// -32602 for a cursor that was not made here.
    pub(crate) fn page_for_caller<T>(
        &self,
        listing: Listing,
        cursor: Option<&str>,
        size: usize,
        item: impl Fn(&D) -> Option<T>,
        write: impl Fn(Vec<T>, Option<String>) -> ResultBody,
    ) -> Result<ResultBody, RpcError> {
        let after = cursor.map_or(Ok(0), |cursor| listing.position(cursor))?;
        Ok(self.render(listing, after, size, item, write))
    }

    fn render<T>(
        &self,
        listing: Listing,
        after: u64,
        size: usize,
        item: impl Fn(&D) -> Option<T>,
        write: impl Fn(Vec<T>, Option<String>) -> ResultBody,
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
        write(page, next)
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

/// A list that is paged through.
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

    /// A cursor stays valid when the list changes: it names the registration that the next page begins after.
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
