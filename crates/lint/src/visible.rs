//! Excerpts of untrusted text for reports.

use couplet_core::visible;

/// Escapes a text, truncated to `most` characters.
pub(crate) fn shown(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => visible(text),
        Some((end, _)) => visible(&text[..end]) + "…",
    }
}

/// Quotes a part of a text in backticks, with a little of its context.
pub(crate) fn quoted(text: &str, from: usize, to: usize) -> String {
    const AROUND: usize = 24;
    const LONGEST: usize = 120;
    let (from, to) = (floor(text, from), floor(text, to));
    let start = text[..from].char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let end = text[to..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| to + at);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("`{before}{}{after}`", shown(&text[start..end], LONGEST))
}

/// The last character boundary at or before an offset.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_found_again() {
        let text = format!("{}needle{}", "ä".repeat(40), "b".repeat(40));
        let at = text.find("needle").unwrap();
        assert_eq!(quoted(&text, at, at + 6), format!("`…{}needle{}…`", "ä".repeat(24), "b".repeat(24)),);
        assert_eq!(quoted("abc", 1, 99), "`abc`");
    }
}
