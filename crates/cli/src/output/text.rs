//! What others wrote, made fit for a terminal and for a column.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A text in which everything can be seen: control characters, and what turns or hides the text around it, are spelled
/// out. Line breaks and tabs stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // A line that ends as on Windows ends like any other.
            '\r' if rest.peek() == Some(&'\n') => {}
            c if is_hidden(c) => clean.extend(c.escape_unicode()),
            c => clean.push(c),
        }
    }
    clean.into()
}

/// The same, on one line.
pub(crate) fn line(text: &str) -> String {
    visible(text.trim()).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first line that says something.
pub(crate) fn first_line(text: &str) -> String {
    line(text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// A paragraph with blanks before each line that has something in it.
pub(crate) fn indented(text: &str, by: usize) -> String {
    let visible = visible(text.trim());
    let lines = visible.lines().map(|line| if line.is_empty() { String::new() } else { " ".repeat(by) + line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Cuts a line to a width, and shows that it was cut.
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

/// Fills up with blanks.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// How many columns a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// `1 tool`, `2 tools`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A number of bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A time for people, as it was given: `5 s`, `0.2 s`.
pub(crate) fn time(time: std::time::Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        // Marks and overrides of direction, and separators that are line breaks to some.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Nothing to be seen. The joiners of emoji and scripts (200c, 200d) are needed.
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        // A whole alphabet that is not shown.
        '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_shown() {
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
    fn lines_are_cut_and_filled() {
        assert_eq!(first_line("\n  The first \t line.\nThe second."), "The first line.");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(pad("日", 4), "日  ");
        assert_eq!((count(1, "tool", "tools"), count(0, "tool", "tools")), ("1 tool".into(), "0 tools".into()));
        assert_eq!((size(12), size(1234), size(2_500_000)), ("12 bytes".into(), "1.2 kB".into(), "2.5 MB".into()));
    }
}
