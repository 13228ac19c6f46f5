//! A cache of compiled schemas.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    budget::Budget,
    schema::{Schema, SchemaError},
};

/// A bounded cache of compiled schemas, keyed by their text. Schemas that do not compile are cached as errors. When the
/// cache is full, the oldest entry is evicted.
///
/// ```
/// use couplet_schema::Cache;
///
/// let cache = Cache::new(100);
/// assert!(cache.get(r#"{"type":"string"}"#)?.check("5").is_err());
/// # Ok::<(), couplet_schema::SchemaError>(())
/// ```
#[derive(Debug)]
pub struct Cache {
    most: usize,
    budget: Budget,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    compiled: HashMap<Arc<str>, Result<Schema, SchemaError>>,
    order: VecDeque<Arc<str>>,
}

impl Cache {
    /// Creates a cache of at most `most` schemas, each compiled within the default [`Budget`]. At least one is cached.
    pub fn new(most: usize) -> Self {
        Self::with_budget(most, Budget::default())
    }

    /// Creates a cache of at most `most` schemas, each compiled within `budget`.
    pub fn with_budget(most: usize, budget: Budget) -> Self {
        Self { most: most.max(1), budget, entries: Mutex::default() }
    }

    /// Returns the schema with this text, compiling it on the first call.
    ///
    /// # Errors
    /// If the schema does not compile; see [`Schema::new`].
    pub fn get(&self, text: &str) -> Result<Schema, SchemaError> {
        if let Some(known) = self.lock().compiled.get(text) {
            return known.clone();
        }
        let schema = Schema::with_budget(text, &self.budget);
        // A text beyond the size limit is rejected by its length alone: caching it saves nothing.
        if text.len() <= self.budget.size {
            self.lock().keep(text, schema.clone(), self.most);
        }
        schema
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn keep(&mut self, text: &str, schema: Result<Schema, SchemaError>, most: usize) {
        let text: Arc<str> = text.into();
        if self.compiled.insert(text.clone(), schema).is_none() {
            self.order.push_back(text);
        }
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.compiled.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_makes_room() {
        let cache = Cache::new(2);
        let texts = [r#"{"type":"string"}"#, r#"{"type":"nonsense"}"#, r#"{"type":"null"}"#];
        texts.iter().for_each(|text| drop(cache.get(text)));
        assert!(cache.get(texts[1]).is_err());
        let entries = cache.lock();
        let mut kept: Vec<_> = entries.compiled.keys().map(|text| &**text).collect();
        kept.sort_unstable();
        assert_eq!(kept, [texts[1], texts[2]]);
        assert_eq!(entries.order.len(), 2);
    }
}
