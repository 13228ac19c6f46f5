//! Escapes untrusted text, so that all of it is visible and none of it acts on a terminal.

use std::fmt::Write;

/// Escapes every character of a text that is invisible or changes how the text is displayed.
///
/// These are control characters, line breaks included, and characters that reorder text, have no width or no glyph. The
/// result is one line.
///
/// ```
/// use couplet_core::visible;
///
/// assert_eq!(visible("a\u{200b}b \u{1b}[2J"), "a\\u{200b}b \\u{1b}[2J");
/// assert_eq!(visible("größer, 世界"), "größer, 世界");
/// ```
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        push(&mut out, c);
    }
    out
}

fn push(out: &mut String, c: char) {
    // The escapes of the standard library cover characters without a glyph. Quotes and backslashes are visible.
    match c {
        '\'' | '"' | '\\' | ' ' => out.push(c),
        _ if is_blank(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        _ => out.extend(c.escape_debug()),
    }
}

/// Returns whether a character is blank although its category is that of letters or symbols.
pub fn is_blank(c: char) -> bool {
    matches!(c, '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fffc}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s17_nothing_that_acts_or_hides_is_left() {
        for c in (0..0x1_0000).chain(0x1_d000..0x1_d800).chain(0xe_0000..0xe_1000).filter_map(char::from_u32) {
            let shown = visible(&c.to_string());
            let hides = |c: char| {
                c.is_control()
                    || is_blank(c)
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
                    || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e01ef}' | '\u{e000}'..='\u{f8ff}')
                    || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{fff9}'..='\u{fffb}')
            };
            assert!(!shown.chars().any(hides), "{:x}: {shown:?}", u32::from(c));
        }
        assert_eq!(visible("\n\t"), "\\n\\t");
        assert_eq!(visible(&visible("a\u{202e}\\")), visible("a\u{202e}\\"));
    }
}
