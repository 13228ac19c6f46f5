//! The feed as an HTTP archive (HAR 1.2).
//!
//! A server at a URL has the exchanges that took place, with their statuses and times. A server on stdio has none: each
//! message of the client becomes a request, and a comment says so. `_messages` has every message, in both directions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::export::messages;
use crate::{
    Direction, HttpExchange, Inspector,
    feed::{Event, Happening},
    recording::{entry, time_text},
    target::Head,
};

/// The type of messages.
const JSON: &str = "application/json";

/// The archive of events, as JSON.
pub(super) fn har(inspector: &Inspector, events: &[Arc<Event>]) -> String {
    let answers = Answers::of(events);
    let entries: Vec<Value> = events
        .iter()
        .filter_map(|event| match &event.happening {
            Happening::Http(exchange) => Some(exchanged(event, exchange, &answers)),
            Happening::Message(Direction::Out, text) => {
                let url = stdio_url(inspector, &event.target)?;
                Some(unexchanged(&url, event, text, answers.to(&event.target, text)))
            }
            _ => None,
        })
        .collect();
    let lines = messages(events).map(|(event, direction, text)| entry(event.time, direction, &event.target, text));
    let lines: Vec<Value> = lines.filter_map(|line| serde_json::from_str(&line).ok()).collect();
    let creator = json!({ "name": "couplet", "version": env!("CARGO_PKG_VERSION") });
    json!({ "log": { "version": "1.2", "creator": creator, "entries": entries, "_messages": lines } }).to_string()
}

/// The responses of servers, by target and id.
struct Answers<'a>(HashMap<(&'a str, String), (&'a Event, &'a [u8])>);

impl<'a> Answers<'a> {
    fn of(events: &'a [Arc<Event>]) -> Self {
        let responses = messages(events).filter(|(_, direction, _)| *direction == Direction::In);
        let responses = responses.filter_map(|(event, _, text)| {
            let head = Head::parse(text).filter(Head::is_response)?;
            Some(((&*event.target, head.id?.get().to_owned()), (event, text)))
        });
        Self(responses.collect())
    }

    /// The response to a message, if it is a request.
    fn to(&self, target: &str, message: &[u8]) -> Option<(&'a Event, &'a [u8])> {
        let head = Head::parse(message).filter(|head| head.method.is_some())?;
        self.0.get(&(target, head.id?.get().to_owned())).copied()
    }
}

/// An exchange that took place.
fn exchanged(event: &Event, exchange: &HttpExchange, answers: &Answers<'_>) -> Value {
    let sent = exchange.sent.as_deref();
    let answer = sent.and_then(|sent| answers.to(&event.target, sent)).map(|(_, text)| text);
    let kind = exchange.response_headers.iter().find(|(name, _)| name == "content-type");
    let began = event.time.saturating_sub(Duration::try_from_secs_f64(exchange.millis / 1e3).unwrap_or_default());
    let mut request = request(&exchange.method, &exchange.url, sent);
    request["headers"] = headers(&exchange.request_headers);
    let mut response = response(exchange.status, answer, kind.map_or("", |(_, kind)| kind));
    response["headers"] = headers(&exchange.response_headers);
    har_entry(began, exchange.millis, &request, &response)
}

/// A message on stdio.
fn unexchanged(url: &str, event: &Event, text: &[u8], answer: Option<(&Event, &[u8])>) -> Value {
    let took = answer.map_or(0.0, |(answer, _)| (answer.millis() - event.millis()).max(0.0));
    let status = if answer.is_some() { 200 } else { 202 };
    let response = response(status, answer.map(|(_, text)| text), JSON);
    let mut entry = har_entry(event.time, took, &request("POST", url, Some(text)), &response);
    entry["comment"] = json!("a message on stdio, not an HTTP exchange");
    entry
}

fn har_entry(began: Duration, took: f64, request: &Value, response: &Value) -> Value {
    json!({
        "startedDateTime": time_text(began), "time": took, "request": request, "response": response, "cache": {},
        "timings": { "send": 0, "wait": took, "receive": 0 },
    })
}

fn request(method: &str, url: &str, sent: Option<&[u8]>) -> Value {
    let mut request = json!({
        "method": method, "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "queryString": [], "headers": [],
        "headersSize": -1, "bodySize": sent.map_or(0, <[u8]>::len),
    });
    if let Some(sent) = sent {
        request["postData"] = json!({ "mimeType": JSON, "text": String::from_utf8_lossy(sent) });
    }
    request
}

fn response(status: u16, answer: Option<&[u8]>, kind: &str) -> Value {
    let phrase = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let size = answer.map_or(0, <[u8]>::len);
    let text = String::from_utf8_lossy(answer.unwrap_or_default());
    json!({
        "status": status, "statusText": phrase.unwrap_or_default(), "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
        "content": { "size": size, "mimeType": kind, "text": text },
        "redirectURL": "", "headersSize": -1, "bodySize": size,
    })
}

fn headers(headers: &[(String, String)]) -> Value {
    headers.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

/// The URL for a target on stdio; `None` for one whose exchanges are in the feed.
fn stdio_url(inspector: &Inspector, id: &str) -> Option<String> {
    match inspector.target(id).map(|target| target.state()) {
        Some(state) if state.transport == "http" => None,
        Some(state) => Some(format!("stdio://{}/", state.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))),
        None => Some(format!("stdio://{id}/")),
    }
}
