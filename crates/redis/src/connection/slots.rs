//! Which node of a cluster has a key.

use std::collections::BTreeMap;

use redis::{FromRedisValue, Value};

/// The number of slots of every cluster.
const COUNT: u16 = 16_384;

/// The slot of a key: a checksum of its hash tag, or of all of it without one.
pub(super) fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    crc16(tag.filter(|tag| !tag.is_empty()).unwrap_or(key).as_bytes()) % COUNT
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| match crc & 0x8000 {
            0 => crc << 1,
            _ => crc << 1 ^ 0x1021,
        })
    })
}

/// The primaries of a cluster by their slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    /// By the last slot of a range: its first one, and the node.
    ranges: BTreeMap<u16, (u16, NodeAddress)>,
}

/// The host and port of a node.
pub(super) type NodeAddress = (String, u16);

impl Slots {
    /// Parses the answer to `CLUSTER SLOTS`; `None` if it is not one. A node without a name has the host that was asked.
    pub(super) fn parse(answer: Value, asked: &str) -> Option<Self> {
        let mut ranges = BTreeMap::new();
        for range in Vec::<Vec<Value>>::from_redis_value(answer).ok()? {
            let mut range = range.into_iter();
            let first = u16::from_redis_value(range.next()?).ok()?;
            let last = u16::from_redis_value(range.next()?).ok()?;
            let mut primary = Vec::<Value>::from_redis_value(range.next()?).ok()?.into_iter();
            let host = Option::<String>::from_redis_value(primary.next()?).ok()?;
            let host = host.filter(|host| !matches!(&**host, "" | "?")).unwrap_or_else(|| asked.to_owned());
            let port = u16::from_redis_value(primary.next()?).ok()?;
            ranges.insert(last, (first, (host, port)));
        }
        Some(Self { ranges })
    }

    /// The node that has a slot.
    pub(super) fn owner(&self, slot: u16) -> Option<&NodeAddress> {
        let (_, (first, node)) = self.ranges.range(slot..).next()?;
        (*first <= slot).then_some(node)
    }

    /// All nodes, each once.
    pub(super) fn nodes(&self) -> Vec<NodeAddress> {
        let mut nodes: Vec<_> = self.ranges.values().map(|(_, node)| node.clone()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// The address in an error that redirects. Without a host it is the one that was asked.
pub(super) fn address(text: &str, asked: &str) -> Option<NodeAddress> {
    let (host, port) = text.rsplit_once(':')?;
    let host = if host.is_empty() { asked } else { host };
    Some((host.trim_start_matches('[').trim_end_matches(']').to_owned(), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_slots_of_the_specification() {
        for (key, expected) in [
            ("123456789", 0x31c3),
            ("foo", 12_182),
            ("user1000", slot("{user1000}.following")),
            ("user1000", slot("a{user1000}b{c}")),
            ("{", slot("x{{}y")),
        ] {
            assert_eq!(slot(key), expected, "{key}");
        }
        assert_ne!(slot("foo{}{bar}"), slot("bar"), "an empty tag is none");
    }

    #[test]
    fn a_slot_has_the_node_of_its_range() {
        let node = |host: Value, port| Value::Array(vec![host, Value::Int(port), Value::BulkString(b"id".to_vec())]);
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let range = |first, last, node| Value::Array(vec![Value::Int(first), Value::Int(last), node]);
        let answer = Value::Array(vec![
            range(5461, 10_922, node(text("b"), 7001)),
            range(0, 5460, node(Value::Nil, 7000)),
            range(10_924, 16_383, node(text("b"), 7001)),
        ]);
        let slots = Slots::parse(answer, "asked").unwrap();
        for (slot, expected) in [
            (0, Some(("asked", 7000))),
            (5460, Some(("asked", 7000))),
            (5461, Some(("b", 7001))),
            (10_923, None),
            (16_383, Some(("b", 7001))),
        ] {
            assert_eq!(slots.owner(slot).map(|(host, port)| (host.as_str(), *port)), expected, "{slot}");
        }
        assert_eq!(slots.nodes().len(), 2);
        assert_eq!(Slots::parse(Value::Int(1), "asked"), None);
        assert_eq!(Slots::parse(Value::Array(vec![Value::Array(vec![Value::Int(1)])]), "asked"), None);
    }

    #[test]
    fn redirections_name_a_node() {
        for (text, expected) in [
            ("10.0.0.1:7000", Some(("10.0.0.1", 7000))),
            (":7000", Some(("asked", 7000))),
            ("::1:7000", Some(("::1", 7000))),
            ("a:port", None),
            ("", None),
        ] {
            let found = address(text, "asked");
            assert_eq!(found.as_ref().map(|(host, port)| (host.as_str(), *port)), expected, "{text}");
        }
    }
}
