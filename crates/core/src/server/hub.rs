//! The change bus: the application publishes changes, and subscribers whose filter matches receive them.
//!
//! A subscription is a set of undelivered changes, so a burst of equal changes is one notification, and a slow reader
//! costs no more memory than the subscription itself.

use std::{
    cmp::Ordering,
    collections::BTreeSet,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, Weak},
    task::Waker,
};

use couplet_types::RawJson;

use crate::{
    server::{bus::unpublished::Unpublished, relay::Passed, union::Union},
    sync::lock,
};

/// A change that clients can subscribe to.
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
    /// An event of an extension.
    Extension(Box<ExtensionEvent>),
}

/// An event of an extension. Of several undelivered events about one key, a subscriber receives only the latest.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtensionEvent {
    /// The member of the subscription filter, and the key that a client must have named there.
    pub topic: (String, String),
    /// The principal that may receive it: clients authenticated as another one do not.
    pub principal: Option<Arc<str>>,
    /// The method of the notification.
    pub method: String,
    /// The parameters of the notification: an object.
    pub params: RawJson,
}

impl ExtensionEvent {
    /// Creates an event about `key` for subscriptions that named it in the filter member `member`.
    pub fn new(
        member: impl Into<String>,
        key: impl Into<String>,
        method: impl Into<String>,
        params: impl Into<RawJson>,
    ) -> Self {
        let topic = (member.into(), key.into());
        Self { topic, principal: None, method: method.into(), params: params.into() }
    }

    /// Restricts the event to clients of this principal, and to unauthenticated ones.
    #[must_use]
    pub fn for_principal(mut self, principal: Option<Arc<str>>) -> Self {
        self.principal = principal;
        self
    }
}

impl From<ExtensionEvent> for Change {
    fn from(news: ExtensionEvent) -> Self {
        Self::Extension(Box::new(news))
    }
}

/// Equal events: the later one replaces the earlier one.
impl ExtensionEvent {
    fn identity(&self) -> (&(String, String), &str) {
        (&self.topic, &self.method)
    }
}

impl PartialEq for ExtensionEvent {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for ExtensionEvent {}

impl PartialOrd for ExtensionEvent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ExtensionEvent {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for ExtensionEvent {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// A topic of an extension that a client is subscribed to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Topic {
    /// The member of the subscription filter.
    pub member: String,
    /// The key that the client has named there.
    pub key: String,
    /// The principal of the client, if it was authenticated.
    pub principal: Option<Arc<str>>,
}

impl Topic {
    /// Creates a topic of unauthenticated clients.
    pub fn new(member: impl Into<String>, key: impl Into<String>) -> Self {
        Self { member: member.into(), key: key.into(), principal: None }
    }

    /// Sets the principal of the clients.
    #[must_use]
    pub fn for_principal(mut self, principal: Option<Arc<str>>) -> Self {
        self.principal = principal;
        self
    }
}

/// The change bus of one server. Clones are the same bus.
///
/// ```
/// use couplet_core::{Change, Hub, Filter};
///
/// let hub = Hub::new();
/// let subscription = hub.subscribe(Filter::new().tools().resource("file:///a"));
/// hub.send(Change::Tools);
/// hub.send(Change::Tools);
/// hub.send(Change::Updated("file:///b".into()));
/// assert_eq!(subscription.take(), Some(Change::Tools));
/// assert_eq!(subscription.take(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Hub(pub(crate) Arc<Mutex<Sinks>>);

/// The subscribers that a change is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of this process: the others have been notified.
    Here,
    /// Those of every replica.
    Replicas,
}

#[derive(Debug, Default)]
pub(crate) struct Sinks {
    all: Vec<Weak<Mutex<Sink>>>,
    /// The union of their filters.
    pub(crate) union: Union,
    /// The number of dropped subscriptions. They are removed in batches, which makes each cheap.
    ended: usize,
    /// The hubs that receive every change of this one.
    pub(crate) passed: Vec<Passed>,
    /// The hubs that forward to this one.
    pub(crate) sources: Vec<Weak<Mutex<Sinks>>>,
    /// The wakers for a changed union of filters.
    pub(crate) watchers: Vec<Waker>,
    /// The changes that wait for the bridge to other replicas, if there is one.
    pub(crate) unpublished: Option<Unpublished>,
}

impl Hub {
    /// Creates a hub without subscribers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes a change to the subscribers whose filter matches, here and on other replicas if there is a
    /// [bridge](Hub::bridge). It never blocks.
    pub fn send(&self, change: Change) {
        self.spread(&change, Reach::Replicas);
    }

    /// Delivers a change of another replica to the subscribers here.
    pub(crate) fn deliver(&self, change: Change) {
        self.spread(&change, Reach::Here);
    }

    pub(crate) fn spread(&self, change: &Change, reach: Reach) {
        let (woken, bridge, passed) = {
            let mut sinks = lock(&self.0);
            let open = sinks.all.iter().filter_map(Weak::upgrade);
            let woken: Vec<_> = open.filter_map(|sink| lock(&sink).offer(change)).collect();
            let unpublished = sinks.unpublished.as_mut().filter(|_| reach == Reach::Replicas);
            let bridge = unpublished.and_then(|waiting| waiting.add(change));
            (woken, bridge, sinks.passed.clone())
        };
        woken.into_iter().chain(bridge).for_each(Waker::wake);
        passed.iter().for_each(|passed| passed.send(change, reach));
    }

    /// Subscribes to changes. Dropping the subscription ends it.
    pub fn subscribe(&self, interest: Filter) -> Subscription {
        let sink = Arc::new(Mutex::new(Sink { interest, news: BTreeSet::new(), waker: None }));
        let is_changed = {
            let mut sinks = lock(&self.0);
            sinks.all.push(Arc::downgrade(&sink));
            sinks.union.replace(&Filter::new(), &lock(&sink).interest)
        };
        if is_changed {
            self.interest_changed();
        }
        Subscription { sink, hub: Arc::downgrade(&self.0) }
    }

    /// Returns whether both are the same bus.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the number of open subscriptions.
    pub fn len(&self) -> usize {
        lock(&self.0).all.iter().filter(|sink| sink.strong_count() > 0).count()
    }

    /// Returns whether there are no subscriptions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of messages that other replicas have not received yet, because the bus is slow or away: none if there
    /// is no [bridge](Self::bridge).
    pub fn unpublished(&self) -> usize {
        lock(&self.0).unpublished.as_ref().map_or(0, Unpublished::len)
    }
}

/// The changes that a subscription receives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
    /// The lists of resources and templates.
    pub resources: bool,
    /// Single resources, by URI.
    pub uris: BTreeSet<String>,
    /// Events of extensions, by filter member and key.
    pub topics: BTreeSet<(String, String)>,
    /// The principal of the subscriber, if it was authenticated.
    pub principal: Option<Arc<str>>,
}

impl Filter {
    /// Creates a filter that matches nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds changes of the list of tools.
    #[must_use]
    pub fn tools(mut self) -> Self {
        self.tools = true;
        self
    }

    /// Adds changes of the list of prompts.
    #[must_use]
    pub fn prompts(mut self) -> Self {
        self.prompts = true;
        self
    }

    /// Adds changes of the lists of resources and templates.
    #[must_use]
    pub fn resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// Adds updates of one resource.
    #[must_use]
    pub fn resource(mut self, uri: impl Into<String>) -> Self {
        self.uris.insert(uri.into());
        self
    }

    /// Adds events of an extension about a key in a member of the filter.
    #[must_use]
    pub fn topic(mut self, member: impl Into<String>, key: impl Into<String>) -> Self {
        self.topics.insert((member.into(), key.into()));
        self
    }

    fn covers(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Updated(uri) => self.uris.contains(uri),
            Change::Extension(news) => self.topics.contains(&news.topic) && self.principal == news.principal,
        }
    }
}

#[derive(Debug)]
struct Sink {
    interest: Filter,
    news: BTreeSet<Change>,
    waker: Option<Waker>,
}

impl Sink {
    /// Adds a change if the filter matches; returns the waker to wake once the hub is unlocked.
    fn offer(&mut self, change: &Change) -> Option<Waker> {
        let is_new = self.interest.covers(change) && self.news.replace(change.clone()).is_none();
        is_new.then(|| self.waker.take()).flatten()
    }
}

/// A subscription to a [`Hub`].
#[derive(Debug)]
pub struct Subscription {
    sink: Arc<Mutex<Sink>>,
    hub: Weak<Mutex<Sinks>>,
}

impl Subscription {
    /// Takes the next undelivered change.
    pub fn take(&self) -> Option<Change> {
        lock(&self.sink).news.pop_first()
    }

    /// Registers the waker for the next change. Register it before [`take`](Self::take), or a change in between wakes nothing.
    pub fn register(&self, waker: &Waker) {
        let mut sink = lock(&self.sink);
        if !sink.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            sink.waker = Some(waker.clone());
        }
    }

    /// Updates the filter of the subscription.
    pub fn update<R>(&self, change: impl FnOnce(&mut Filter) -> R) -> R {
        let hub = self.hub.upgrade();
        let mut sinks = hub.as_ref().map(|hub| lock(hub));
        let mut sink = lock(&self.sink);
        let before = sink.interest.clone();
        let result = change(&mut sink.interest);
        let Sink { interest, news, .. } = &mut *sink;
        news.retain(|c| interest.covers(c));
        let is_changed = sinks.as_mut().is_some_and(|sinks| sinks.union.replace(&before, interest));
        drop(sink);
        drop(sinks);
        if let Some(hub) = hub.filter(|_| is_changed) {
            Hub(hub).interest_changed();
        }
        result
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let mut sinks = lock(&hub);
        let interest = std::mem::take(&mut lock(&self.sink).interest);
        let is_changed = sinks.union.replace(&interest, &Filter::new());
        sinks.ended += 1;
        if sinks.ended * 2 > sinks.all.len() {
            let this = Arc::as_ptr(&self.sink);
            sinks.all.retain(|sink| sink.strong_count() > 0 && sink.as_ptr() != this);
            sinks.all.shrink_to_fit();
            sinks.ended = 0;
        }
        drop(sinks);
        if is_changed {
            Hub(hub).interest_changed();
        }
    }
}
