//! The change bus: an application says what changed, and every subscriber that asked for it is told.
//!
//! A subscriber keeps a set of what it has yet to be told, so a burst of equal changes is one notification, and a
//! slow reader costs no more memory than the subscription itself.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, Weak},
    task::Waker,
};

use crate::{relay::Passed, sync::lock};

/// Something that clients can be told about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of templates.
    Resources,
    /// The content of one resource.
    Updated(String),
}

/// The bus of one server. Clones are the same bus.
///
/// ```
/// use couplet_core::{Change, Hub, Interest};
///
/// let hub = Hub::new();
/// let subscription = hub.subscribe(Interest::new().tools().resource("file:///a"));
/// hub.send(Change::Tools);
/// hub.send(Change::Tools);
/// hub.send(Change::Updated("file:///b".into()));
/// assert_eq!(subscription.take(), Some(Change::Tools));
/// assert_eq!(subscription.take(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hub(pub(crate) Arc<Mutex<Sinks>>);

#[derive(Debug, Default)]
pub(crate) struct Sinks {
    all: Vec<Weak<Mutex<Sink>>>,
    /// How many of them nobody holds any more. They are taken out together, so that each costs little.
    ended: usize,
    /// Where everything is told on.
    pub(crate) passed: Vec<Passed>,
    /// The buses that tell on to this one.
    pub(crate) sources: Vec<Weak<Mutex<Sinks>>>,
    /// Whom to wake when the interest of the subscribers changes.
    pub(crate) watchers: Vec<Waker>,
}

impl Sinks {
    /// What the subscribers want to hear of, all together.
    pub(crate) fn interest(&self) -> Interest {
        let mut all = Interest::new();
        for sink in self.all.iter().filter_map(Weak::upgrade) {
            let sink = lock(&sink);
            all.tools |= sink.interest.tools;
            all.prompts |= sink.interest.prompts;
            all.resources |= sink.interest.resources;
            all.uris.extend(sink.interest.uris.iter().cloned());
        }
        all
    }
}

impl Hub {
    /// A bus that nobody listens to yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells every subscriber that asked for it.
    pub fn send(&self, change: Change) {
        let passed = {
            let sinks = lock(&self.0);
            for sink in sinks.all.iter().filter_map(Weak::upgrade) {
                lock(&sink).offer(&change);
            }
            sinks.passed.clone()
        };
        passed.iter().for_each(|passed| passed.send(&change));
    }

    /// Starts to collect changes. Dropping the subscription ends it.
    pub fn subscribe(&self, interest: Interest) -> Subscription {
        let sink = Arc::new(Mutex::new(Sink { interest, news: BTreeSet::new(), waker: None }));
        lock(&self.0).all.push(Arc::downgrade(&sink));
        self.interest_changed();
        Subscription { sink, hub: Arc::downgrade(&self.0) }
    }

    /// How many subscriptions are open.
    pub fn len(&self) -> usize {
        lock(&self.0).all.iter().filter(|sink| sink.strong_count() > 0).count()
    }

    /// Whether nobody listens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a subscriber wants to hear of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interest {
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
    /// The lists of resources and templates.
    pub resources: bool,
    /// Single resources, by URI.
    pub uris: BTreeSet<String>,
}

impl Interest {
    /// In nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also in the list of tools.
    #[must_use]
    pub fn tools(mut self) -> Self {
        self.tools = true;
        self
    }

    /// Also in the list of prompts.
    #[must_use]
    pub fn prompts(mut self) -> Self {
        self.prompts = true;
        self
    }

    /// Also in the lists of resources and templates.
    #[must_use]
    pub fn resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// Also in the content of one resource.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.uris.insert(uri.into());
        self
    }

    fn covers(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Updated(uri) => self.uris.contains(uri),
        }
    }
}

#[derive(Debug)]
struct Sink {
    interest: Interest,
    news: BTreeSet<Change>,
    waker: Option<Waker>,
}

impl Sink {
    fn offer(&mut self, change: &Change) {
        if self.interest.covers(change)
            && self.news.insert(change.clone())
            && let Some(waker) = self.waker.take()
        {
            waker.wake();
        }
    }
}

/// One subscriber's side of the bus.
#[derive(Debug)]
pub struct Subscription {
    sink: Arc<Mutex<Sink>>,
    hub: Weak<Mutex<Sinks>>,
}

impl Subscription {
    /// The next change that was not yet told.
    pub fn take(&self) -> Option<Change> {
        lock(&self.sink).news.pop_first()
    }

    /// Whom to wake at the next change.
    pub fn register(&self, waker: &Waker) {
        lock(&self.sink).waker = Some(waker.clone());
    }

    /// Changes what the subscriber wants to hear of.
    pub fn update<R>(&self, change: impl FnOnce(&mut Interest) -> R) -> R {
        let result = {
            let mut sink = lock(&self.sink);
            let result = change(&mut sink.interest);
            let Sink { interest, news, .. } = &mut *sink;
            news.retain(|c| interest.covers(c));
            result
        };
        if let Some(hub) = self.hub.upgrade() {
            Hub(hub).interest_changed();
        }
        result
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        lock(&self.sink).interest = Interest::new();
        let mut sinks = lock(&hub);
        sinks.ended += 1;
        if sinks.ended * 2 > sinks.all.len() {
            let this = Arc::as_ptr(&self.sink);
            sinks.all.retain(|sink| sink.strong_count() > 0 && sink.as_ptr() != this);
            sinks.all.shrink_to_fit();
            sinks.ended = 0;
        }
        drop(sinks);
        Hub(hub).interest_changed();
    }
}
