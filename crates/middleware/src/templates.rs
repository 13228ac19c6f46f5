//! The resource templates of a service, cached for each caller, so that a read needs no list.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use couplet_core::{Filter, Service, Subscription, sync::lock};
use couplet_types::UriTemplate;
use tokio::time::Instant;

/// The time after which templates are listed again, since a part of a service may notify of no changes.
const MAX_AGE: Duration = Duration::from_secs(60);

/// The most callers whose templates are cached, and the most templates of one.
const MAX_CALLERS: usize = 1_000;
const MAX_TEMPLATES: usize = 1_000;

/// The templates of a service, as they were listed for each caller.
#[derive(Default)]
pub(crate) struct Templates {
    /// The changes of the service's lists, from the first read on.
    changes: OnceLock<Subscription>,
    cached: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    /// Increases with each change, so that a list that was requested before is not stored.
    generation: u64,
    lists: HashMap<String, (Instant, Arc<[Template]>)>,
}

/// A template, parsed.
pub(crate) struct Template {
    pub(crate) text: String,
    parsed: Option<UriTemplate>,
}

impl Template {
    pub(crate) fn new(text: String) -> Self {
        let parsed = UriTemplate::parse(&text).ok();
        Self { text, parsed }
    }

    pub(crate) fn matches(&self, uri: &str) -> bool {
        self.parsed.as_ref().is_some_and(|parsed| parsed.matches(uri).is_some())
    }
}

impl Templates {
    /// Returns the templates of a caller, if they are known, and the generation of a list that is requested now.
    pub(crate) fn get(&self, service: &Arc<dyn Service>, caller: &str) -> (Option<Arc<[Template]>>, u64) {
        let changes = self.changes.get_or_init(|| service.hub().subscribe(Filter::new().resources()));
        let mut cached = lock(&self.cached);
        if changes.take().is_some() {
            cached.generation += 1;
            cached.lists.clear();
        }
        let known = cached.lists.get(caller).filter(|(since, _)| since.elapsed() < MAX_AGE);
        (known.map(|(_, templates)| templates.clone()), cached.generation)
    }

    /// Stores the templates of a caller, if they have not changed meanwhile and the service notifies of changes.
    pub(crate) fn store(&self, service: &Arc<dyn Service>, caller: String, templates: &Arc<[Template]>, of: u64) {
        let resources = &service.describe().capabilities.resources;
        let notifies = resources.as_ref().is_none_or(|resources| resources.list_changed == Some(true));
        let mut cached = lock(&self.cached);
        if !notifies || cached.generation != of || templates.len() > MAX_TEMPLATES {
            return;
        }
        if cached.lists.len() >= MAX_CALLERS {
            cached.lists.retain(|_, (since, _)| since.elapsed() < MAX_AGE);
        }
        if cached.lists.len() < MAX_CALLERS {
            cached.lists.insert(caller, (Instant::now(), templates.clone()));
        }
    }
}
