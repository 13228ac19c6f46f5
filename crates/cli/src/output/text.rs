//! Text from servers, escaped for a terminal and fitted to columns.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Escapes control characters, and characters that reorder or hide the text around them. Line breaks and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // CRLF becomes LF.
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_hidden(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean.into()
}

/// Escapes text and joins it to one line.
pub(crate) fn line(text: &str) -> String {
    visible(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first line that is not blank, escaped.
pub(crate) fn first_line(text: &str) -> String {
    line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// Escapes and indents a paragraph.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let visible = visible(text.trim());
    let lines = visible.lines().map(|line| if line.is_empty() { String::new() } else { " ".repeat(by) + line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Truncates a line to a width, with an ellipsis.
pub(crate) fn cut(line: &str, width: usize) -> Cow<'_, str> {
    if line.width() <= width {
        return line.into();
    }
    let mut taken = 0;
    let kept = line.chars().take_while(|c| {
        taken += c.width().unwrap_or(0);
        taken < width
    });
    Cow::Owned(kept.chain(['…']).collect())
}

/// Pads text with spaces.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// Returns the width of text in columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Aligns a head and rows in columns; returns their lines.
pub(crate) fn columns<const N: usize>(head: &[String; N], rows: &[[String; N]]) -> (String, Vec<String>) {
    let widths: [usize; N] =
        std::array::from_fn(|at| rows.iter().chain([head]).map(|row| width(&row[at])).max().unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| pad(cell, width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    (line(head), rows.iter().map(line).collect())
}

/// Formats a count: `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Formats a size in bytes, kB or MB.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats a duration in seconds: `5 s`, `0.2 s`.
pub(crate) fn time(time: std::time::Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Bidirectional marks and overrides, and Unicode line separators.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Invisible characters. The joiners (200c, 200d) are needed by emoji and some scripts.
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // Tag characters.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_escaped() {
        for (text, expected) in [
            ("plain\n\ttext, grün, 👩‍🚀", "plain\n\ttext, grün, 👩‍🚀"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("a\r\nb\rc", "a\nb\\u{d}c"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("evil\u{202e}txt.exe", "evil\\u{202e}txt.exe"),
            ("x\u{e0041}\u{200b}y", "x\\u{e0041}\\u{200b}y"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn lines_are_truncated_and_padded() {
        assert_eq!(first_line("\n  The first \t line.\nThe second."), "The first line.");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(pad("日", 4), "日  ");
        assert_eq!((count(1, "tool", "tools"), count(0, "tool", "tools")), ("1 tool".into(), "0 tools".into()));
        assert_eq!((size(12), size(1234), size(2_500_000)), ("12 bytes".into(), "1.2 kB".into(), "2.5 MB".into()));
    }
}
