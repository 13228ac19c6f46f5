//! Differences of texts, line by line.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use unicode_width::UnicodeWidthChar;

/// The maximum number of lines that are shown.
const MOST: usize = 60;
/// Unchanged lines around a difference.
const CONTEXT: usize = 2;
/// The maximum size of a value that is compared, in bytes.
const SIZE: usize = 200_000;

/// Formats a value: a string as it is, everything else as indented JSON in which strings are broken at their line breaks.
pub(super) fn readable(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() && *text == text.trim() => text.clone(),
        value => broken(&format!("{:#}", plain(value))),
    }
}

/// Writes numbers without a fraction as integers: they are equal.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            // Beyond these limits, not every integer has a number of its own.
            Some(float) if float.fract() == 0.0 && float.abs() < 1e15 => Value::from(float as i64),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        value => value.clone(),
    }
}

/// Compares two texts, and returns lines that start with `- ` (expected), `+ ` (actual) or two spaces.
///
/// Long lines are wrapped before they are compared, so that a difference in a long line is visible.
pub(super) fn diff(expected: Option<&str>, actual: Option<&str>, width: usize) -> Vec<String> {
    let wrapped = |text: Option<&str>| text.map_or_else(Vec::new, |text| wrap(&limited(text), width.max(12) - 2));
    let (expected, actual) = (wrapped(expected), wrapped(actual));
    let (old, new): (Vec<&str>, Vec<&str>) =
        (expected.iter().map(String::as_str).collect(), actual.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&old, &new);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{sign} {}", change.value()).trim_end().to_owned());
        }
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("  … {more} more lines"));
    }
    lines
}

fn limited(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= SIZE) {
        Some((end, _)) => format!("{}\n… {} more bytes", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

/// Breaks lines that are wider than `width` columns.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (mut part, mut columns) = (String::new(), 0);
        for c in line.chars() {
            let wide = c.width().unwrap_or(0);
            if columns + wide > width {
                lines.push(std::mem::take(&mut part));
                columns = 0;
            }
            part.push(c);
            columns += wide;
        }
        lines.push(part);
    }
    lines
}

/// Breaks JSON text after each `\n` in a string.
fn broken(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for line in json.lines() {
        let indent = line.len() - line.trim_start().len() + 2;
        let mut rest = line.chars().peekable();
        while let Some(c) = rest.next() {
            out.push(c);
            if c != '\\' {
                continue;
            }
            let escaped = rest.next().unwrap_or_default();
            out.push(escaped);
            if escaped == 'n' && !matches!(rest.peek(), Some('"') | None) {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
            }
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_difference_is_shown_with_its_surroundings() {
        let lines: Vec<String> = (1..=9).map(|n| format!("line {n}")).collect();
        let old = lines.join("\n");
        let new = old.replace("line 5", "LINE 5");
        assert_eq!(
            diff(Some(&old), Some(&new), 40),
            ["  line 3", "  line 4", "- line 5", "+ LINE 5", "  line 6", "  line 7"]
        );
        assert_eq!(diff(None, Some("x"), 40), ["+ x"]);
    }

    #[test]
    fn long_lines_are_wrapped_and_long_texts_truncated() {
        let (old, new) = (format!("{}a", "x".repeat(100)), format!("{}b", "x".repeat(100)));
        let lines = diff(Some(&old), Some(&new), 42);
        assert!(lines.iter().all(|line| line.chars().count() <= 42), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with('-')).count(), 1, "{lines:?}");
        let many = (0..500).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let lines = diff(Some(&many), Some("x"), 42);
        assert_eq!((lines.len(), lines.last().map(String::as_str)), (MOST + 1, Some("  … 441 more lines")));
        assert!(diff(Some(&"y".repeat(SIZE * 2)), Some("z"), 42).len() <= MOST + 1);
    }

    #[test]
    fn values_are_readable() {
        assert_eq!(readable(&json!("two\nlines")), "two\nlines");
        assert_eq!(readable(&json!("")), "\"\"");
        assert_eq!(readable(&json!([13.0, 1.5, 2])), "[\n  13,\n  1.5,\n  2\n]");
        assert_eq!(readable(&json!(" x")), "\" x\"");
        assert_eq!(readable(&json!({ "a": "b\nc\\n\n" })), "{\n  \"a\": \"b\\n\n    c\\\\n\\n\"\n}");
    }
}
