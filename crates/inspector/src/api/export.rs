//! The messages of the feed as a file.

use std::{fmt::Write, sync::Arc};

use http::{HeaderValue, StatusCode, header};

use super::{Answer, har::har};
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
pub(super) fn messages(events: &[Arc<Event>]) -> impl Iterator<Item = (&Event, Direction, &[u8])> {
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
