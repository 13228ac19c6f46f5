//! The data flow of sessions.

use std::{
    collections::HashMap,
    hash::{Hash, Hasher},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use couplet_core::sync::lock;

use super::{Flow, Labels};

/// The owner of a data flow: a session of a principal, or the principal alone where calls are stateless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowKey {
    /// The principal of the authenticated caller.
    pub principal: Option<Arc<str>>,
    /// The session; `None` where calls are stateless.
    pub session: Option<Arc<str>>,
}

impl Hash for FlowKey {
    /// A session has one principal, which need not be hashed.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.session.as_ref().or(self.principal.as_ref()).map_or(&[], |key| key.as_bytes()));
    }
}

/// The labels of everything that each session has done.
///
/// ```
/// use std::time::Instant;
/// use couplet_host::policy::{Flow, FlowKey, FlowTracker, Labels};
///
/// let (tracker, session, now) = (FlowTracker::default(), FlowKey::default(), Instant::now());
/// tracker.record(&session, Labels::PRIVATE, now);
/// tracker.record(&session, Labels::UNTRUSTED, now);
/// assert_eq!(tracker.would_complete(&session, Labels::PRIVATE, now), Flow::Clear);
/// assert_eq!(tracker.would_complete(&session, Labels::SENDS, now), Flow::Trifecta);
/// // A session without a call for this long is over, and so is the conversation of a stateless caller.
/// let later = now + FlowTracker::IDLE;
/// assert_eq!(tracker.would_complete(&session, Labels::SENDS, later), Flow::Clear);
/// ```
///
/// The number of sessions is bounded. The labels of a session that is evicted apply to the others until it would have been
/// over, so that eviction never hides a leak.
#[derive(Debug)]
pub struct FlowTracker {
    most: usize,
    state: Mutex<Flows>,
}

#[derive(Debug, Default)]
struct Flows {
    flows: HashMap<FlowKey, Tracked>,
    /// The labels of evicted sessions, and the last use of any of them.
    floor: Option<(Labels, Instant)>,
    clock: u64,
}

/// The flow of one session.
#[derive(Clone, Copy, Debug)]
struct Tracked {
    labels: Labels,
    /// The order of uses, which is finer than time.
    order: u64,
    used: Instant,
}

impl Default for FlowTracker {
    fn default() -> Self {
        Self::new(10_000)
    }
}

impl FlowTracker {
    /// The time without a call after which a session is over.
    pub const IDLE: Duration = Duration::from_secs(4 * 60 * 60);

    /// Creates a tracker for at most this many sessions.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), state: Mutex::default() }
    }

    /// Returns the flow that a call of a tool with these labels would lead to. Any call shows that the session goes on.
    pub fn would_complete(&self, key: &FlowKey, labels: Labels, now: Instant) -> Flow {
        self.check(key, labels, now).0
    }

    /// The same, and whether the session has all these labels already, so that the call need not be recorded.
    pub(crate) fn check(&self, key: &FlowKey, labels: Labels, now: Instant) -> (Flow, bool) {
        let mut state = lock(&self.state);
        let recorded = state.used(key, now).map(|flow| flow.labels);
        let before = recorded.unwrap_or_else(|| state.floor(now));
        drop(state);
        let is_new = before != Labels::ALL || labels.has(Labels::SENDS);
        let flow = if before | labels == Labels::ALL && is_new { Flow::Trifecta } else { Flow::Clear };
        (flow, recorded.is_some_and(|recorded| recorded.has(labels)))
    }

    /// Records a call of a tool with these labels, before it is sent.
    pub fn record(&self, key: &FlowKey, labels: Labels, now: Instant) {
        if labels.is_empty() {
            return;
        }
        let mut state = lock(&self.state);
        if let Some(flow) = state.used(key, now) {
            flow.labels |= labels;
            return;
        }
        let labels = labels | state.floor(now);
        if state.flows.len() >= self.most {
            state.evict(self.most, now);
        }
        let order = state.clock;
        state.flows.insert(key.clone(), Tracked { labels, order, used: now });
    }

    /// Returns the labels of everything that a session has done.
    pub fn labels(&self, key: &FlowKey, now: Instant) -> Labels {
        lock(&self.state).labels(key, now)
    }

    /// Returns the number of sessions with labels.
    pub fn len(&self) -> usize {
        lock(&self.state).flows.len()
    }

    /// Returns whether no session has a label.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes a session that has ended.
    pub fn end(&self, key: &FlowKey) {
        lock(&self.state).flows.remove(key);
    }
}

impl Flows {
    fn labels(&self, key: &FlowKey, now: Instant) -> Labels {
        let known = self.flows.get(key).filter(|flow| !is_over(flow.used, now));
        known.map_or_else(|| self.floor(now), |flow| flow.labels)
    }

    /// A session that is used now, if it has labels.
    fn used(&mut self, key: &FlowKey, now: Instant) -> Option<&mut Tracked> {
        self.clock += 1;
        let floor = self.floor(now);
        let flow = self.flows.get_mut(key)?;
        if is_over(flow.used, now) {
            flow.labels = floor;
        }
        (flow.order, flow.used) = (self.clock, now);
        Some(flow)
    }

    fn floor(&self, now: Instant) -> Labels {
        self.floor.filter(|(_, used)| !is_over(*used, now)).map_or(Labels::NONE, |(labels, _)| labels)
    }

    /// Removes the sessions that are over, or else evicts the sixteenth that was used least recently, so that eviction is
    /// cheap per session.
    fn evict(&mut self, most: usize, now: Instant) {
        self.flows.retain(|_, flow| !is_over(flow.used, now));
        if self.flows.len() < most {
            return;
        }
        let mut uses: Vec<u64> = self.flows.values().map(|flow| flow.order).collect();
        let at = (most / 16).min(uses.len() - 1);
        let (_, &mut limit, _) = uses.select_nth_unstable(at);
        let (mut floor, mut last) = (self.floor(now), None);
        self.flows.retain(|_, flow| {
            let stays = flow.order > limit;
            if !stays {
                floor |= flow.labels;
                last = last.max(Some(flow.used));
            }
            stays
        });
        self.floor = last.map(|last| (floor, last));
    }
}

fn is_over(used: Instant, now: Instant) -> bool {
    now.saturating_duration_since(used) >= FlowTracker::IDLE
}
