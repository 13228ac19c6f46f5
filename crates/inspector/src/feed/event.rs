//! An event of the feed, and how it is written.

use std::{borrow::Cow, sync::Arc, time::Duration};

use bytes::Bytes;
use serde::Serialize;

use crate::tap::{Direction, HttpExchange};

/// Something that happened.
#[derive(Debug)]
pub(crate) struct Event {
    /// The number: they grow by one.
    pub(crate) seq: u64,
    /// The time since 1970.
    pub(crate) time: Duration,
    /// The id of the target.
    pub(crate) target: Arc<str>,
    pub(crate) happening: Happening,
}

#[derive(Debug)]
pub(crate) enum Happening {
    Message(Direction, Bytes),
    /// The state of the target, as JSON.
    State(Box<serde_json::value::RawValue>),
    Stderr(String),
    Http(HttpExchange),
}

#[derive(Serialize)]
struct Written<'a> {
    seq: u64,
    t: f64,
    target: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dir: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a serde_json::value::RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<f64>,
}

impl Event {
    /// The length from which the text of a message is truncated in the feed.
    pub(crate) const LONGEST: usize = 1 << 20;
    /// What an event takes beside its text.
    const OVERHEAD: usize = 128;

    /// The memory that the event takes, roughly.
    pub(crate) fn size(&self) -> usize {
        Self::OVERHEAD
            + match &self.happening {
                Happening::Message(_, text) => text.len(),
                Happening::State(state) => state.get().len(),
                Happening::Stderr(line) => line.len(),
                Happening::Http(exchange) => {
                    let headers = exchange.request_headers.iter().chain(&exchange.response_headers);
                    let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
                    exchange.url.len() + headers + exchange.sent.as_ref().map_or(0, Bytes::len)
                }
            }
    }

    /// The text of a message.
    pub(crate) fn text(&self) -> Option<&Bytes> {
        match &self.happening {
            Happening::Message(_, text) => Some(text),
            _ => None,
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn millis(&self) -> f64 {
        self.time.as_secs_f64() * 1e3
    }

    /// The event as one line of JSON.
    pub(crate) fn to_json(&self) -> String {
        let mut written = Written {
            seq: self.seq,
            t: (self.millis() * 1e3).round() / 1e3,
            target: &self.target,
            kind: "message",
            dir: None,
            size: None,
            text: None,
            cut: None,
            state: None,
            method: None,
            url: None,
            status: None,
            ms: None,
        };
        match &self.happening {
            Happening::Message(direction, text) => {
                let cut = text.len() > Self::LONGEST;
                let shown = if cut { whole_characters(&text[..Self::LONGEST]) } else { &text[..] };
                written.dir = Some(direction.as_str());
                written.size = Some(text.len());
                written.text = Some(String::from_utf8_lossy(shown));
                written.cut = Some(cut);
            }
            Happening::State(state) => (written.kind, written.state) = ("state", Some(&**state)),
            Happening::Stderr(line) => (written.kind, written.text) = ("stderr", Some(line.into())),
            Happening::Http(exchange) => {
                written.kind = "http";
                written.method = Some(&exchange.method);
                written.url = Some(&exchange.url);
                written.status = Some(exchange.status);
                written.ms = Some((exchange.millis * 1e3).round() / 1e3);
            }
        }
        serde_json::to_string(&written).unwrap_or_default()
    }
}

/// Removes the beginning of a character at the end.
fn whole_characters(text: &[u8]) -> &[u8] {
    let start = text.iter().rposition(|byte| byte & 0xc0 != 0x80).unwrap_or(0);
    match std::str::from_utf8(&text[start..]) {
        Err(error) if error.error_len().is_none() => &text[..start],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: Bytes) -> serde_json::Value {
        let happening = Happening::Message(Direction::Out, text);
        let event = Event { seq: 7, time: Duration::from_micros(1_500_250), target: "t1".into(), happening };
        serde_json::from_str(&event.to_json()).expect("it is JSON")
    }

    #[test]
    fn a_message_has_its_text() {
        let event = written(Bytes::from_static(b"{\"a\": 1}"));
        let expected = serde_json::json!({
            "seq": 7, "t": 1500.25, "target": "t1", "kind": "message", "dir": "out", "size": 8, "text": "{\"a\": 1}",
            "cut": false,
        });
        assert_eq!(event, expected);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let text = "é".repeat(Event::LONGEST);
        let event = written(format!("x{text}").into());
        assert_eq!((event["cut"].as_bool(), event["size"].as_u64()), (Some(true), Some(2 * (1 << 20) + 1)));
        let shown = event["text"].as_str().expect("it is a string");
        assert!(shown.len() == Event::LONGEST - 1 && shown.ends_with('é'), "{}", shown.len());
    }
}
