//! Forwarding changes from one hub to another, for mounted servers.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, Weak},
    task::Waker,
};

use crate::{
    server::hub::{Change, Filter, Hub, Reach, Sinks, Topic},
    sync::lock,
};

/// Translates changes between two hubs.
pub trait Relay: Send + Sync + 'static {
    /// Translates a change for the outer hub; `None` drops it.
    fn outward(&self, change: &Change) -> Option<Change>;

    /// Translates a resource URI for the inner hub; `None` if it is not there.
    fn inward(&self, uri: &str) -> Option<String>;

    /// Translates a topic of an extension for the inner hub; `None` if it is not there, which is the default.
    fn inward_topic(&self, topic: &Topic) -> Option<Topic> {
        let _ = topic;
        None
    }
}

/// A hub that receives the changes of this one.
#[derive(Clone)]
pub(crate) struct Passed {
    to: Weak<Mutex<Sinks>>,
    relay: Arc<dyn Relay>,
}

impl Passed {
    pub(crate) fn send(&self, change: &Change, reach: Reach) {
        if let (Some(hub), Some(change)) = (self.to.upgrade(), self.relay.outward(change)) {
            Hub(hub).spread(&change, reach);
        }
    }

    /// Adds the filters of that hub, translated.
    fn add_interest(&self, all: &mut Filter) {
        let Some(hub) = self.to.upgrade() else { return };
        let there = Hub(hub).interest();
        all.tools |= there.tools;
        all.prompts |= there.prompts;
        all.resources |= there.resources;
        all.uris.extend(there.uris.iter().filter_map(|uri| self.relay.inward(uri)));
    }
}

impl fmt::Debug for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passed").finish_non_exhaustive()
    }
}

impl Hub {
    /// Forwards the changes of another hub to this one, for as long as this one exists.
    ///
    /// ```
    /// use couplet_core::{Change, Hub, Filter, Relay};
    ///
    /// /// Resources are called the same; lists do not matter.
    /// struct Same;
    ///
    /// impl Relay for Same {
    ///     fn outward(&self, change: &Change) -> Option<Change> {
    ///         matches!(change, Change::Updated(_)).then(|| change.clone())
    ///     }
    ///     fn inward(&self, uri: &str) -> Option<String> {
    ///         Some(uri.to_owned())
    ///     }
    /// }
    ///
    /// let (outer, inner) = (Hub::new(), Hub::new());
    /// outer.relay(&inner, Same);
    /// let subscription = outer.subscribe(Filter::new().resource("a://b"));
    /// assert!(inner.interest().uris.contains("a://b"));
    /// inner.send(Change::Updated("a://b".into()));
    /// assert_eq!(subscription.take(), Some(Change::Updated("a://b".into())));
    /// ```
    pub fn relay(&self, from: &Hub, relay: impl Relay) {
        {
            let mut sinks = lock(&self.0);
            sinks.sources.retain(|source| source.strong_count() > 0);
            sinks.sources.push(Arc::downgrade(&from.0));
        }
        let passed = Passed { to: Arc::downgrade(&self.0), relay: Arc::new(relay) };
        let mut sinks = lock(&from.0);
        sinks.passed.retain(|passed| passed.to.strong_count() > 0);
        sinks.passed.push(passed);
    }

    /// Returns the union of all filters, here and of the hubs that this one forwards to.
    pub fn interest(&self) -> Filter {
        let (mut all, passed) = {
            let sinks = lock(&self.0);
            (sinks.union.filter(), sinks.passed.clone())
        };
        passed.iter().for_each(|passed| passed.add_interest(&mut all));
        all
    }

    /// Returns the topics of extensions in all filters, here and of the hubs that this one forwards to.
    ///
    /// ```
    /// use couplet_core::{Filter, Hub, Topic};
    ///
    /// let hub = Hub::new();
    /// let subscription = hub.subscribe(Filter::new().topic("taskIds", "17"));
    /// assert!(hub.topics().contains(&Topic::new("taskIds", "17")));
    /// drop(subscription);
    /// assert!(hub.topics().is_empty());
    /// ```
    pub fn topics(&self) -> BTreeSet<Topic> {
        let (mut all, passed) = {
            let sinks = lock(&self.0);
            (sinks.union.topics(), sinks.passed.clone())
        };
        for passed in passed {
            let Some(hub) = passed.to.upgrade() else { continue };
            all.extend(Hub(hub).topics().iter().filter_map(|topic| passed.relay.inward_topic(topic)));
        }
        all
    }

    /// Registers a waker for the next change of [`Hub::interest`] or [`Hub::topics`].
    pub fn watch_interest(&self, waker: &Waker) {
        let mut sinks = lock(&self.0);
        if !sinks.watchers.iter().any(|known| known.will_wake(waker)) {
            sinks.watchers.push(waker.clone());
        }
    }

    /// Wakes the tasks that wait for a changed union of filters, also those of inner hubs.
    pub(crate) fn interest_changed(&self) {
        let (watchers, sources) = {
            let mut sinks = lock(&self.0);
            (std::mem::take(&mut sinks.watchers), sinks.sources.clone())
        };
        watchers.into_iter().for_each(Waker::wake);
        sources.iter().filter_map(Weak::upgrade).for_each(|hub| Hub(hub).interest_changed());
    }
}
