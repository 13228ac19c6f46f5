//! The data flow of sessions.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use couplet_core::sync::lock;

use super::{Flow, Labels};

/// The owner of a data flow: a session of a principal, or the principal alone where calls are stateless.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// The principal of the authenticated caller.
    pub principal: Option<Arc<str>>,
    /// The session; `None` where calls are stateless.
    pub session: Option<Arc<str>>,
}

/// The labels of everything that each session has done.
///
/// ```
/// use couplet_host::policy::{Flow, FlowKey, FlowTracker, Labels};
///
/// let (tracker, session) = (FlowTracker::default(), FlowKey::default());
/// tracker.record(&session, Labels::PRIVATE);
/// tracker.record(&session, Labels::UNTRUSTED);
/// assert_eq!(tracker.would_complete(&session, Labels::PRIVATE), Flow::Clear);
/// assert_eq!(tracker.would_complete(&session, Labels::SENDS), Flow::Trifecta);
/// ```
///
/// The number of sessions is bounded. The labels of a session that is evicted apply to every later one, so that eviction
/// never hides a leak.
#[derive(Debug)]
pub struct FlowTracker {
    most: usize,
    state: Mutex<Flows>,
}

#[derive(Debug, Default)]
struct Flows {
    flows: HashMap<FlowKey, (Labels, u64)>,
    /// The labels of evicted sessions.
    floor: Labels,
    clock: u64,
}

impl Default for FlowTracker {
    fn default() -> Self {
        Self::new(10_000)
    }
}

impl FlowTracker {
    /// Creates a tracker for at most this many sessions.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), state: Mutex::default() }
    }

    /// Returns the flow that a call of a tool with these labels would lead to.
    pub fn would_complete(&self, key: &FlowKey, labels: Labels) -> Flow {
        let before = self.labels(key);
        let is_new = before != Labels::ALL || labels.has(Labels::SENDS);
        if before | labels == Labels::ALL && is_new { Flow::Trifecta } else { Flow::Clear }
    }

    /// Records a call of a tool with these labels, before it is sent.
    pub fn record(&self, key: &FlowKey, labels: Labels) {
        if labels.is_empty() {
            return;
        }
        let mut state = lock(&self.state);
        state.clock += 1;
        let (clock, floor) = (state.clock, state.floor);
        if let Some((known, used)) = state.flows.get_mut(key) {
            *known |= labels;
            *used = clock;
            return;
        }
        if state.flows.len() >= self.most {
            state.evict(self.most);
        }
        state.flows.insert(key.clone(), (labels | floor, clock));
    }

    /// Returns the labels of everything that a session has done.
    pub fn labels(&self, key: &FlowKey) -> Labels {
        let state = lock(&self.state);
        state.flows.get(key).map_or(state.floor, |(labels, _)| *labels)
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
    /// Evicts the sixteenth that was used least recently, so that eviction is cheap per session.
    fn evict(&mut self, most: usize) {
        let mut uses: Vec<u64> = self.flows.values().map(|(_, used)| *used).collect();
        let at = (most / 16).min(uses.len() - 1);
        let (_, &mut limit, _) = uses.select_nth_unstable(at);
        let mut floor = self.floor;
        self.flows.retain(|_, (labels, used)| {
            let stays = *used > limit;
            if !stays {
                floor |= *labels;
            }
            stays
        });
        self.floor = floor;
    }
}
