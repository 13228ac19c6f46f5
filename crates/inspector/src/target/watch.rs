//! What the messages of a connection tell about it: how fast the server answers, and who it is.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use couplet_types::{DiscoverResult, Implementation, InitializeResult, RawJson};
use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::state::TargetState;
use crate::tap::Direction;

/// The members of a message that matter here.
#[derive(Deserialize)]
pub(crate) struct Head<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
}

impl<'a> Head<'a> {
    /// Parses a message; `None` if it is not a JSON object.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Whether it is a response.
    pub(crate) fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

/// The requests in flight, and how long the last answers took.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    open: HashMap<String, Instant>,
    order: VecDeque<String>,
    latest: VecDeque<Duration>,
    answers: u64,
}

impl Watch {
    /// The number of requests in flight that are followed.
    const OPEN: usize = 256;
    /// The number of answers that the latency is the shortest of.
    const LATEST: usize = 8;
    /// The number of answers after which the latency is news: that of the first one has the start of the server in it.
    const NEWS: u64 = 4;
    /// The size up to which messages are looked into.
    const SIZE: usize = 1 << 20;

    /// Looks at a message. Returns whether the latency is known for the first time.
    pub(crate) fn message(&mut self, direction: Direction, text: &[u8]) -> bool {
        if text.len() > Self::SIZE {
            return false;
        }
        let Some(head) = Head::parse(text) else { return false };
        let Some(id) = head.id.map(|id| id.get().to_owned()) else { return false };
        match direction {
            Direction::Out if head.method.is_some() => {
                if self.open.insert(id.clone(), Instant::now()).is_none() {
                    self.order.push_back(id);
                }
                if self.order.len() > Self::OPEN
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.open.remove(&oldest);
                }
                false
            }
            Direction::In if head.is_response() => {
                let Some(sent) = self.open.remove(&id) else { return false };
                self.order.retain(|other| *other != id);
                self.answers += 1;
                if self.answers > 1 {
                    self.latest.push_back(sent.elapsed());
                }
                if self.latest.len() > Self::LATEST {
                    self.latest.pop_front();
                }
                self.answers == Self::NEWS
            }
            _ => false,
        }
    }

    /// The shortest of the last times that an answer took, in milliseconds: the time of the way, without the work.
    pub(crate) fn latency_ms(&self) -> Option<f64> {
        let shortest = self.latest.iter().min()?;
        Some((shortest.as_secs_f64() * 1e6).round() / 1e3)
    }
}

/// Takes over what a message of a handshake says. Returns whether there was anything.
pub(crate) fn handshake(state: &mut TargetState, direction: Direction, text: &[u8]) -> bool {
    let Some(head) = Head::parse(text) else { return false };
    match direction {
        Direction::Out => {
            let revision = head.params.and_then(named_revision);
            let is_new = revision.is_some() && revision != state.revision;
            state.revision = revision.or(state.revision.take());
            is_new
        }
        Direction::In => {
            let Some(result) = head.result.map(RawValue::get) else { return false };
            if let Ok(met) = serde_json::from_str::<InitializeResult>(result) {
                state.revision = Some(met.protocol_version);
                state.server = Some(met.server_info);
                state.capabilities = json!(met.capabilities);
                state.instructions = met.instructions;
                return true;
            }
            let Ok(met) = serde_json::from_str::<DiscoverResult>(result) else { return false };
            state.server = meta(result).and_then(|meta| member::<Implementation>(&meta, "/serverInfo"));
            state.capabilities = json!(met.capabilities);
            state.instructions = met.instructions;
            true
        }
    }
}

#[derive(Deserialize)]
struct WithMeta {
    #[serde(rename = "_meta")]
    meta: Option<HashMap<String, RawJson>>,
}

fn meta(object: &str) -> Option<HashMap<String, RawJson>> {
    serde_json::from_str::<WithMeta>(object).ok()?.meta
}

/// The revision that a stateless request names.
fn named_revision(params: &RawValue) -> Option<String> {
    member(&meta(params.get())?, "/protocolVersion")
}

/// A member of `_meta`, whatever its prefix is.
fn member<T: serde::de::DeserializeOwned>(meta: &HashMap<String, RawJson>, suffix: &str) -> Option<T> {
    meta.iter().find(|(key, _)| key.ends_with(suffix)).and_then(|(_, value)| value.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::PlaceKind;

    #[test]
    fn answers_are_paired_with_their_requests() {
        let mut watch = Watch::default();
        assert!(!watch.message(Direction::Out, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#));
        assert!(!watch.message(Direction::Out, br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#));
        assert!(!watch.message(Direction::In, br#"{"jsonrpc":"2.0","id":"1","result":{}}"#));
        assert!(!watch.message(Direction::In, br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#));
        let answer = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert!(!watch.message(Direction::In, answer) && watch.latency_ms().is_none());
        let news: Vec<_> = (0..4)
            .map(|_| {
                watch.message(Direction::Out, br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
                watch.message(Direction::In, answer)
            })
            .collect();
        assert_eq!(news, [false, false, true, false]);
        assert!(watch.latency_ms().is_some());
        for id in 0..1000 {
            watch.message(Direction::Out, format!(r#"{{"id":{id},"method":"x"}}"#).as_bytes());
        }
        assert!(watch.open.len() <= Watch::OPEN && watch.order.len() <= Watch::OPEN);
    }

    #[test]
    fn handshakes_of_both_eras_are_read() {
        let mut state = TargetState::new("t1", String::new(), String::new(), PlaceKind::Recording);
        let initialized = br#"{"id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
            "serverInfo":{"name":"a","version":"1"},"instructions":"Hi."}}"#;
        assert!(handshake(&mut state, Direction::In, initialized));
        assert_eq!((state.revision.as_deref(), state.instructions.as_deref()), (Some("2025-06-18"), Some("Hi.")));
        let asked = br#"{"id":1,"method":"x","params":{"_meta":{"p/protocolVersion":"2026-07-28"}}}"#;
        assert!(handshake(&mut state, Direction::Out, asked) && !handshake(&mut state, Direction::Out, asked));
        assert_eq!(state.revision.as_deref(), Some("2026-07-28"));
        let discovered = br#"{"id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},
            "_meta":{"p/serverInfo":{"name":"b","version":"2"}}}}"#;
        assert!(handshake(&mut state, Direction::In, discovered));
        assert_eq!(state.server.map(|server| server.name).as_deref(), Some("b"));
        assert_eq!(state.instructions, None);
    }
}
