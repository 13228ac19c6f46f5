//! Replacements in a text, and line utilities for all formats.

use std::ops::Range;

use crate::node::Member;

/// A range of the text and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) at: Range<usize>,
    pub(super) with: String,
}

impl Splice {
    pub(super) fn insert(at: usize, with: impl Into<String>) -> Self {
        Self { at: at..at, with: with.into() }
    }

    pub(super) fn cut(at: Range<usize>) -> Self {
        Self { at, with: String::new() }
    }
}

/// Applies all splices; `None` if they overlap or are out of bounds.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|s| (s.at.start, s.at.end));
    let mut made = String::with_capacity(text.len());
    let mut from = 0;
    for splice in splices {
        made.push_str(text.get(from..splice.at.start)?);
        made.push_str(&splice.with);
        from = splice.at.end;
    }
    made.push_str(text.get(from..)?);
    Some(made)
}

/// The line ending of this text.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The start of the line that contains an offset.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// The end of the line that contains an offset, including its line ending.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length + 1)
}

/// The indentation of the line that contains an offset.
pub(super) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Inserts whole lines. At the end of a text without a final line ending, the new last line has none either, so that
/// [`cut_lines`] can undo it.
pub(super) fn insert_lines(text: &str, at: usize, lines: &str) -> Splice {
    let ended = at == 0 || text[..at].ends_with('\n');
    match ended {
        true => Splice::insert(at, lines),
        false => Splice::insert(at, format!("{}{}", newline(text), lines.trim_end_matches(['\r', '\n']))),
    }
}

/// Cuts whole lines; including the line ending before them if they are the last ones and have none.
pub(super) fn cut_lines(text: &str, at: Range<usize>) -> Range<usize> {
    let is_open_end = at.end == text.len() && !text.ends_with('\n');
    match text[..at.start].strip_suffix('\n') {
        Some(before) if is_open_end => before.strip_suffix('\r').unwrap_or(before).len()..at.end,
        _ => at,
    }
}

/// Inserts a member into a table on one line: `{ a = 1 }`, `{a: 1}`.
pub(super) fn insert_inline(text: &str, table: &Range<usize>, members: &[Member], member: &str) -> Vec<Splice> {
    match members.last() {
        Some(last) => vec![Splice::insert(last.value.span.end, format!(", {member}"))],
        None => {
            let inner = table.start + 1..table.end - 1;
            let padded = if text[inner.clone()].is_empty() { member.to_owned() } else { format!(" {member} ") };
            vec![Splice { at: inner, with: padded }]
        }
    }
}

/// Removes a member from a table on one line.
pub(super) fn remove_inline(members: &[Member], index: usize) -> Splice {
    let own = members[index].span.start..members[index].value.span.end;
    Splice::cut(match (index.checked_sub(1).map(|before| &members[before]), members.get(index + 1)) {
        (Some(before), _) => before.value.span.end..own.end,
        (None, Some(after)) => own.start..after.span.start,
        (None, None) => own,
    })
}
