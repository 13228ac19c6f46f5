//! The ring: the newest events, up to a number and a size.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use super::{Batch, Event, Happening};

#[derive(Debug)]
pub(super) struct Ring {
    events: VecDeque<Arc<Event>>,
    /// The number of the last event.
    last: u64,
    bytes: usize,
    most_events: usize,
    most_bytes: usize,
}

impl Ring {
    pub(super) const EVENTS: usize = 10_000;
    pub(super) const BYTES: usize = 64 << 20;
    /// The number and the size of the events in a batch.
    const BATCH: (usize, usize) = (256, 4 << 20);

    pub(super) fn new(most_events: usize, most_bytes: usize) -> Self {
        Self { events: VecDeque::new(), last: 0, bytes: 0, most_events, most_bytes }
    }

    /// Adds an event, drops the oldest ones that have no room, and returns its number.
    pub(super) fn push(&mut self, time: Duration, target: &Arc<str>, happening: Happening) -> u64 {
        self.last += 1;
        let event = Event { seq: self.last, time, target: target.clone(), happening };
        self.bytes += event.size();
        self.events.push_back(Arc::new(event));
        while self.events.len() > 1 && (self.events.len() > self.most_events || self.bytes > self.most_bytes) {
            if let Some(oldest) = self.events.pop_front() {
                self.bytes -= oldest.size();
            }
        }
        self.last
    }

    pub(super) fn read(&self, after: u64) -> Batch {
        // A number of another process, from before a restart.
        let after = if after > self.last { 0 } else { after };
        let first = self.events.front().map_or(self.last + 1, |event| event.seq);
        let lost = first.saturating_sub(after + 1);
        let (most, mut room) = Self::BATCH;
        let mut events = Vec::new();
        for event in self.events.iter().skip(self.index(after + 1)).take(most) {
            events.push(event.clone());
            room = room.saturating_sub(event.size());
            if room == 0 {
                break;
            }
        }
        let after = events.last().map_or(after.max(first - 1), |event| event.seq);
        Batch { lost, events, after }
    }

    pub(super) fn get(&self, seq: u64) -> Option<&Arc<Event>> {
        self.events.get(self.index(seq)).filter(|event| event.seq == seq)
    }

    pub(super) fn all(&self, keep: impl Fn(&Event) -> bool) -> Vec<Arc<Event>> {
        self.events.iter().filter(|event| keep(event)).cloned().collect()
    }

    /// The position of a number, or of the first one after it. Numbers have no gaps.
    fn index(&self, seq: u64) -> usize {
        let first = self.events.front().map_or(0, |event| event.seq);
        usize::try_from(seq.saturating_sub(first)).unwrap_or(usize::MAX)
    }
}
