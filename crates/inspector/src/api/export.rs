//! The messages of the feed as a file.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::Answer;
use crate::{
    Direction, Inspector,
    body::{full, typed},
    feed::{Event, Happening},
    recording::{entry, time_text},
    target::Head,
};

pub(super) fn export(inspector: &Inspector, format: Option<&str>, target: Option<&str>) -> Answer {
    let events = inspector.0.feed.all(target.filter(|target| !target.is_empty()));
    let (kind, name, text) = match format {
        None | Some("jsonl") => ("application/jsonl", "messages.jsonl", jsonl(&events)),
        Some("har") => ("application/json", "messages.har", har(inspector, &events)),
        Some("md") => ("text/markdown; charset=utf-8", "messages.md", markdown(&events)),
        Some(other) => return Err(format!("there is no format `{other}`; expected jsonl, har or md").into()),
    };
    let mut response = typed(StatusCode::OK, kind, full(text));
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// The messages among the events.
fn messages(events: &[Arc<Event>]) -> impl Iterator<Item = (&Event, Direction, &[u8])> {
    events.iter().filter_map(|event| match &event.happening {
        Happening::Message(direction, text) => Some((&**event, *direction, &text[..])),
        _ => None,
    })
}

/// A recording as `couplet tap` writes it, with the target as the session.
fn jsonl(events: &[Arc<Event>]) -> String {
    messages(events).fold(String::new(), |mut lines, (event, direction, text)| {
        lines.push_str(&entry(event.time, direction, &event.target, text));
        lines.push('\n');
        lines
    })
}

/// An HTTP archive: a POST for each request or notification of the client, with its answer.
fn har(inspector: &Inspector, events: &[Arc<Event>]) -> String {
    let mut answers: HashMap<(&str, String), (&Event, &[u8])> = HashMap::new();
    for (event, _, text) in messages(events).filter(|(_, direction, _)| *direction == Direction::In) {
        if let Some(Head { id: Some(id), method: None, .. }) = Head::parse(text) {
            answers.insert((&event.target, id.get().to_owned()), (event, text));
        }
    }
    let entries: Vec<Value> = messages(events)
        .filter(|(_, direction, _)| *direction == Direction::Out)
        .map(|(event, _, text)| {
            let head = Head::parse(text);
            let id =
                head.as_ref().and_then(|head| head.id.filter(|_| head.method.is_some())).map(|id| id.get().to_owned());
            let answer = id.and_then(|id| answers.get(&(&*event.target, id)));
            har_entry(&url(inspector, &event.target), event, text, answer.copied())
        })
        .collect();
    let creator = json!({ "name": "couplet", "version": env!("CARGO_PKG_VERSION") });
    json!({ "log": { "version": "1.2", "creator": creator, "entries": entries } }).to_string()
}

fn har_entry(url: &str, event: &Event, text: &[u8], answer: Option<(&Event, &[u8])>) -> Value {
    let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let took = answer.map_or(0.0, |(answer, _)| (answer.millis() - event.millis()).max(0.0));
    let (status, phrase) = if answer.is_some() { (200, "OK") } else { (202, "Accepted") };
    let (said, size) = answer.map_or((String::new(), 0), |(_, text)| (shown(text), text.len()));
    let kind = "application/json";
    json!({
        "startedDateTime": time_text(event.time),
        "time": took,
        "request": {
            "method": "POST", "url": url, "httpVersion": "HTTP/1.1", "cookies": [], "queryString": [],
            "headers": [{ "name": "content-type", "value": kind }],
            "postData": { "mimeType": kind, "text": shown(text) },
            "headersSize": -1, "bodySize": text.len(),
        },
        "response": {
            "status": status, "statusText": phrase, "httpVersion": "HTTP/1.1", "cookies": [],
            "headers": [{ "name": "content-type", "value": kind }],
            "content": { "size": size, "mimeType": kind, "text": said },
            "redirectURL": "", "headersSize": -1, "bodySize": size,
        },
        "cache": {},
        "timings": { "send": 0, "wait": took, "receive": 0 },
    })
}

/// The URL of a target; one that is no URL gets one that says so.
fn url(inspector: &Inspector, id: &str) -> String {
    let state = inspector.target(id).map(|target| target.state());
    match state {
        Some(state) if state.target.contains("://") => state.target,
        Some(state) => format!("stdio://{}/", state.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
        None => format!("stdio://{id}/"),
    }
}

/// Indents JSON without a change to its values and their order.
fn indented(text: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) = (String::new(), 0_usize, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth.min(64)));
    };
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                while characters.peek().is_some_and(char::is_ascii_whitespace) {
                    characters.next();
                }
                out.push(c);
                if !matches!(characters.peek(), Some('}' | ']')) {
                    depth += 1;
                    line(&mut out, depth);
                } else if let Some(end) = characters.next() {
                    out.push(end);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

fn markdown(events: &[Arc<Event>]) -> String {
    let mut text = String::from("# Messages\n");
    for (event, direction, message) in messages(events) {
        let head = Head::parse(message);
        let id = head.as_ref().and_then(|head| head.id).map_or(String::new(), |id| format!(" {}", id.get()));
        let what = match &head {
            Some(head) if head.method.is_some() => head.method.as_deref().unwrap_or_default().to_owned(),
            Some(head) if head.error.is_some() => "error".to_owned(),
            Some(_) => "result".to_owned(),
            None => "not a message".to_owned(),
        };
        let arrow = if direction == Direction::Out { "→" } else { "←" };
        let shown = indented(&String::from_utf8_lossy(message));
        // A fence that the text cannot close.
        let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let what = what.replace(|c: char| c.is_control() || c == '`', " ");
        let _ = write!(
            text,
            "\n## {} {arrow} `{what}`{id}\n\n{}, {}, {} bytes\n\n{fence}json\n{shown}\n{fence}\n",
            event.seq,
            event.target,
            time_text(event.time),
            message.len()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indenting_changes_no_value() {
        let text = r#"{"b":1.0,"a":[ ],"c":{"x":"a,{\"}:","y":[1,2]}, "d" : {}}"#;
        let expected = "{\n  \"b\": 1.0,\n  \"a\": [],\n  \"c\": {\n    \"x\": \"a,{\\\"}:\",\n    \"y\": [\n      1,\n      2\n    ]\n  },\n  \"d\": {}\n}";
        assert_eq!(indented(text), expected);
    }
}
