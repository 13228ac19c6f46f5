//! The change bus: an application says what changed, and every subscriber that asked for it is told.
//!
//! A subscriber keeps a set of what it has yet to be told, so a burst of equal changes is one notification, and a
//! slow reader costs no more memory than the subscription itself.

use std::{
    cmp::Ordering,
    collections::BTreeSet,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex, Weak},
    task::Waker,
};

use couplet_types::RawJson;

use crate::{server::relay::Passed, sync::lock};

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
    /// What an extension tells.
    Extension(Box<ExtensionEvent>),
}

/// What an extension tells those who asked for it: of several about one thing, only the latest is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtensionEvent {
    /// The member of the filter by which clients ask for it, and what they must have named there.
    pub topic: (String, String),
    /// Who may hear of it: only clients that were authenticated as the same, or not at all.
    pub principal: Option<Arc<str>>,
    /// The notification.
    pub method: String,
    /// Its parameters: an object.
    pub params: RawJson,
}

impl ExtensionEvent {
    /// ExtensionEvent about `key` for whoever named it in the member `member` of a filter.
    pub fn new(
        member: impl Into<String>,
        key: impl Into<String>,
        method: impl Into<String>,
        params: impl Into<RawJson>,
    ) -> Self {
        let topic = (member.into(), key.into());
        Self { topic, principal: None, method: method.into(), params: params.into() }
    }

    /// Only for clients that were authenticated as this, or not at all.
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

/// What makes two the same: the later one replaces the earlier one.
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

/// The bus of one server. Clones are the same bus.
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
    pub(crate) fn interest(&self) -> Filter {
        let mut all = Filter::new();
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
    pub fn subscribe(&self, interest: Filter) -> Subscription {
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
pub struct Filter {
    /// The list of tools.
    pub tools: bool,
    /// The list of prompts.
    pub prompts: bool,
    /// The lists of resources and templates.
    pub resources: bool,
    /// Single resources, by URI.
    pub uris: BTreeSet<String>,
    /// What extensions tell, by the member of the filter and what is named there.
    pub topics: BTreeSet<(String, String)>,
    /// Who is interested, if somebody was authenticated.
    pub principal: Option<Arc<str>>,
}

impl Filter {
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

    /// Also in what an extension tells about something that is named in a member of the filter.
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
    fn offer(&mut self, change: &Change) {
        if self.interest.covers(change)
            && self.news.replace(change.clone()).is_none()
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
    pub fn update<R>(&self, change: impl FnOnce(&mut Filter) -> R) -> R {
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
        lock(&self.sink).interest = Filter::new();
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
