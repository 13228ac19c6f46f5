//! Parsing of JSON, with errors that name the member.

use std::fmt::Write;

use serde::de::{DeserializeOwned, Error};

/// Parses JSON into a type. The error names the member that has the wrong type.
///
/// ```
/// use couplet_types::{CallToolResult, from_json};
///
/// let error = from_json::<CallToolResult>(r#"{"content":[{"type":"text","text":5}]}"#).unwrap_err();
/// assert!(error.to_string().starts_with("`content[0].text`: "));
/// ```
///
/// # Errors
/// If the text is not JSON, or does not match the type.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).map_err(|error| name_member(text, error))
}

/// Prefixes the message with the path of the member.
///
/// serde does not track the path, and tracking it would slow down every message for the sake of the broken ones. But
/// serde_json knows the position, and the path can be found from there, once there is an error.
pub(crate) fn name_member(text: &str, error: serde_json::Error) -> serde_json::Error {
    if !error.is_data() || error.line() == 0 {
        return error;
    }
    let path = path_at(text, end_of(text, error.line(), error.column()));
    if path.is_empty() { error } else { Error::custom(format_args!("`{path}`: {error}")) }
}

/// Returns a message without the position, for text that is only a part of the peer's message.
pub(crate) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned()
}

/// Returns the offset after the given column of the given line, both counted in bytes and from 1.
fn end_of(text: &str, line: usize, column: usize) -> usize {
    let skipped: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    (skipped + column).min(text.len())
}

/// The maximum length of a path in an error.
const LONGEST_PATH: usize = 200;

/// A level of nesting.
enum Frame {
    /// An object, and the position of the name of the current member.
    Object { key: Option<(usize, usize)> },
    /// An array, and the index of the current element.
    Array { index: Option<usize> },
}

/// Returns the path of the value that ends at the offset or contains it.
fn path_at(text: &str, end: usize) -> String {
    let bytes = text.as_bytes();
    let mut frames: Vec<Frame> = Vec::new();
    let mut at = 0;
    while at < end {
        let byte = bytes[at];
        if let Some(Frame::Array { index: index @ None }) = frames.last_mut()
            && !byte.is_ascii_whitespace()
            && byte != b']'
        {
            *index = Some(0);
        }
        match byte {
            b'{' => frames.push(Frame::Object { key: None }),
            b'[' => frames.push(Frame::Array { index: None }),
            b'}' | b']' => drop(frames.pop()),
            b',' => match frames.last_mut() {
                Some(Frame::Object { key }) => *key = None,
                Some(Frame::Array { index: Some(index) }) => *index += 1,
                _ => {}
            },
            b'"' => {
                let close = closing_quote(bytes, at + 1);
                if let Some(Frame::Object { key: key @ None }) = frames.last_mut() {
                    *key = Some((at + 1, close));
                }
                at = close;
            }
            _ => {}
        }
        at += 1;
    }
    print_path(text, &frames)
}

/// Returns the end of the string that began before `at`.
fn closing_quote(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

fn print_path(text: &str, frames: &[Frame]) -> String {
    let mut path = String::new();
    for frame in frames {
        match frame {
            Frame::Object { key: Some((from, to)) } => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(text.get(*from..*to).unwrap_or("?"));
            }
            Frame::Array { index: Some(index) } => {
                write!(path, "[{index}]").expect("writing to a string does not fail");
            }
            Frame::Object { key: None } | Frame::Array { index: None } => {}
        }
    }
    // The names are the peer's, and so is their length.
    if let Some((end, _)) = path.char_indices().nth(LONGEST_PATH) {
        path.truncate(end);
        path.push('…');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::path_at;

    #[test]
    fn finds_the_path_of_an_offset() {
        for (text, path) in [
            (r#"{"a":5|}"#, "a"),
            (r#"{"a":{"b\"c": [1, [ {"d":1},{"e" : true|}]]}}"#, r#"a.b\"c[1][1].e"#),
            (r#"{"a":1,"b":[|1]}"#, "b"),
            (r#"{"a":{|}"#, "a"),
            (r#"{"a":{"b":1}|}"#, "a"),
            (r#"{"a":[[],[]]|}"#, "a"),
            ("|5", ""),
        ] {
            let end = text.find('|').unwrap();
            assert_eq!(path_at(&text.replace('|', ""), end), path, "{text}");
        }
    }
}
