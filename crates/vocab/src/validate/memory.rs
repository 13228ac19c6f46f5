//! Pending requests, so that a response is checked against its request.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::{Known, source::Unit};
use crate::check::Sender;

/// The maximum number of pending requests: a log may be endless, and requests may stay unanswered.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Memory {
    open: HashMap<Key, (String, bool)>,
    /// The keys in the order of the requests.
    order: VecDeque<Key>,
}

/// Sender, session and id of a request.
type Key = (Sender, String, String);

impl Memory {
    /// The request that a message responds to, if it is known.
    pub(super) fn asked(&mut self, unit: &Unit<'_>, value: &Value) -> Known {
        if value.get("result").is_none() || value.get("method").is_some() {
            return Known::Nothing;
        }
        let Some(key) = key(unit.requester(), unit, value) else { return Known::Nothing };
        match self.open.get(&key) {
            Some((method, false)) => Known::Method(method.clone()),
            Some((method, true)) => Known::Task(method.clone()),
            None => Known::Nothing,
        }
    }

    /// Stores a request, and removes the one that was answered.
    pub(super) fn remember(&mut self, unit: &Unit<'_>, value: &Value) {
        let Some(method) = value.get("method").and_then(Value::as_str) else {
            if let Some(key) = key(unit.requester(), unit, value) {
                self.open.remove(&key);
            }
            return;
        };
        let Some(key) = key(unit.sender, unit, value) else { return };
        let as_task = value.pointer("/params/task").is_some();
        self.open.insert(key.clone(), (method.to_owned(), as_task));
        self.order.push_back(key);
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.open.remove(&oldest);
            }
        }
    }
}

fn key(asker: Sender, unit: &Unit<'_>, value: &Value) -> Option<Key> {
    let id = value.get("id").filter(|id| id.is_string() || id.is_number())?;
    Some((asker, unit.session.clone().unwrap_or_default(), id.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unanswered_requests_are_dropped_in_the_end() {
        let (mut memory, unit) = (Memory::default(), Unit::new("", 1));
        let answer = |id: usize| json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        for id in 0..=MOST {
            memory.remember(&unit, &json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
        }
        assert_eq!((memory.open.len(), memory.order.len()), (MOST, MOST));
        assert!(matches!(memory.asked(&unit, &answer(0)), Known::Nothing));
        assert!(matches!(memory.asked(&unit, &answer(1)), Known::Method(_)));
        memory.remember(&unit, &answer(1));
        assert!(matches!(memory.asked(&unit, &answer(1)), Known::Nothing));
    }
}
