//! Splits a file into JSON values with their places.

use std::{
    io::{self, BufRead},
    path::Path,
};

use crate::{
    check::Sender,
    log::{self, Entry},
};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One JSON value, or one in each line; the first line decides.
    Json,
    /// Markdown, of which the code blocks marked as `json` are validated.
    Markdown,
}

impl Format {
    /// Returns the format for a file name, by its extension.
    ///
    /// ```
    /// use std::path::Path;
    /// use couplet_vocab::validate::Format;
    ///
    /// assert_eq!(Format::from_path(Path::new("tools.mdx")), Format::Markdown);
    /// assert_eq!(Format::from_path(Path::new("session.jsonl")), Format::Json);
    /// ```
    pub fn from_path(path: &Path) -> Self {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        if ["md", "mdx", "markdown"].contains(&ending.as_str()) { Self::Markdown } else { Self::Json }
    }
}

/// One value with its place.
#[derive(Clone, Debug)]
pub(super) struct Unit<'a> {
    pub(super) text: &'a str,
    /// The line in which the text begins, counted from 1.
    pub(super) line: u64,
    /// The number of characters in front of it in that line.
    pub(super) column: u64,
    /// Whether it is in a document, where not every value is a message.
    pub(super) is_quoted: bool,
    pub(super) sender: Sender,
    pub(super) session: Option<String>,
    /// A problem that is known before the value is checked.
    pub(super) trouble: Option<String>,
}

impl<'a> Unit<'a> {
    /// Creates a value of which only the place is known.
    pub(super) fn new(text: &'a str, line: u64) -> Self {
        let (sender, session, trouble) = (Sender::Unknown, None, None);
        Self { text, line, column: 0, is_quoted: false, sender, session, trouble }
    }
}

/// The kind of values in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Messages, or entries of a log.
    Messages,
    /// Values of a definition, which are never split.
    Defined,
}

/// Calls `each` for every value.
pub(super) fn each(
    reader: impl BufRead,
    format: Format,
    values: Values,
    each: &mut dyn FnMut(Unit<'_>),
) -> io::Result<()> {
    match format {
        Format::Markdown => {
            let mut text = String::new();
            blocks(log::whole(&mut text, reader)?, each);
            Ok(())
        }
        Format::Json => log::for_each(reader, &mut |line, text| {
            match values {
                Values::Messages => single(text, line, each),
                Values::Defined => each(Unit::new(text, line)),
            }
            Ok(())
        }),
    }
}

/// A message, or the message of a log entry.
fn single(text: &str, line: u64, each: &mut dyn FnMut(Unit<'_>)) {
    let plain = Unit::new(text, line);
    let entry = match Entry::parse(text) {
        Ok(entry) => entry,
        Err(error) if error.is_data() => return each(Unit { trouble: Some(without_place(&error)), ..plain }),
        // Invalid JSON is reported when the value is parsed.
        Err(_) => return each(plain),
    };
    let message = entry.message.get();
    let before = &text[..message.as_ptr() as usize - text.as_ptr() as usize];
    let lines = before.matches('\n').count() as u64;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64;
    let session = entry.session.as_ref().map(ToString::to_string);
    each(Unit { text: message, line: line + lines, column, sender: entry.sender(), session, ..plain });
}

/// The code blocks in Markdown that are marked as JSON.
fn blocks(text: &str, each: &mut dyn FnMut(Unit<'_>)) {
    let mut open: Option<(&str, bool, u64, usize)> = None;
    let mut offset = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim();
        match open {
            None => {
                let Some(fence) = fence(trimmed) else { continue };
                let info = trimmed[fence.len()..].trim();
                let word = info.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                open = Some((fence, word.eq_ignore_ascii_case("json"), number + 1, offset));
            }
            Some((fence, is_json, first, from)) => {
                let is_end = trimmed.starts_with(fence) && trimmed.trim_start_matches(&fence[..1]).is_empty();
                if !is_end {
                    continue;
                }
                open = None;
                if is_json {
                    each(Unit { is_quoted: true, ..Unit::new(&text[from..start], first) });
                }
            }
        }
    }
    // A block that is not closed extends to the end.
    if let Some((_, true, first, from)) = open {
        each(Unit { is_quoted: true, ..Unit::new(&text[from..], first) });
    }
}

/// The message of an error, without its line, which is relative to one value.
pub(super) fn without_place(error: &serde_json::Error) -> String {
    let what = error.to_string();
    what.split(" at line ").next().unwrap_or_default().to_owned()
}

/// The fence that a line opens or closes a code block with.
fn fence(line: &str) -> Option<&str> {
    ["`", "~"].into_iter().find_map(|mark| {
        let length = line.len() - line.trim_start_matches(mark).len();
        (length >= 3).then(|| &line[..length])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, format: Format) -> Vec<(String, u64, u64)> {
        let mut all = Vec::new();
        each(text.as_bytes(), format, Values::Messages, &mut |u| {
            all.push((u.text.trim().to_owned(), u.line, u.column));
        })
        .unwrap();
        all
    }

    #[test]
    fn values_are_found_in_every_format() {
        for (text, format, expected) in [
            ("{\"a\":\n1}\n", Format::Json, vec![("{\"a\":\n1}", 1, 0)]),
            ("\n{}\n\n[]\n", Format::Json, vec![("{}", 2, 0), ("[]", 4, 0)]),
            ("{} {}\n", Format::Json, vec![("{} {}", 1, 0)]),
            ("", Format::Json, vec![]),
            ("{\"message\":{\"jsonrpc\":1}}", Format::Json, vec![("{\"jsonrpc\":1}", 1, 11)]),
            ("{\n\"message\":\n {\"jsonrpc\":1}}", Format::Json, vec![("{\"jsonrpc\":1}", 3, 1)]),
            ("a\n```json\n{}\n```\n```ts\n{1}\n```\n", Format::Markdown, vec![("{}", 3, 0)]),
            ("1. b\n   ~~~~ JSON x=1\n   []\n   ```\n   ~~~~\n", Format::Markdown, vec![("[]\n   ```", 3, 0)]),
            ("```json\n{}\n", Format::Markdown, vec![("{}", 2, 0)]),
            ("```ts\n{}\n", Format::Markdown, vec![]),
            ("```json\n{}\n```x\n````\n```json\n[]\n```", Format::Markdown, vec![("{}\n```x", 2, 0), ("[]", 6, 0)]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(t, l, c)| (t.to_owned(), l, c)).collect();
            assert_eq!(units(text, format), expected, "{text}");
        }
    }
}
