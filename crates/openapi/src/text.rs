//! Texts of a document, cleaned for models: plain, without invisible characters, of limited length.

/// Cleans a text: removes HTML tags, comments, control characters and invisible characters, shortens white space, and
/// truncates it to about `most` characters.
pub(crate) fn clean(text: &str, most: usize) -> String {
    // More than enough for the result, and a bound on the work.
    let near: String = text.chars().take(most.saturating_mul(4)).collect();
    let plain = without_tags(&near);
    let mut cleaned = String::with_capacity(plain.len());
    let (mut spaces, mut lines) = (0, 0);
    for c in plain.chars() {
        match c {
            '\n' => (lines, spaces) = (lines + 1, 0),
            c if c.is_whitespace() => spaces += 1,
            c if is_hidden(c) => {}
            c => {
                if !cleaned.is_empty() {
                    match (lines, spaces) {
                        (0, 0) => {}
                        (0, _) => cleaned.push(' '),
                        (1, _) => cleaned.push('\n'),
                        _ => cleaned.push_str("\n\n"),
                    }
                }
                (spaces, lines) = (0, 0);
                cleaned.push(c);
            }
        }
    }
    truncated(&cleaned, most)
}

/// Truncates a text at a character, better at the end of a word.
pub(crate) fn truncated(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let kept = text.get(..end).unwrap_or_default();
    let word = kept.rfind(char::is_whitespace).filter(|at| *at * 2 > end).unwrap_or(end);
    format!("{}…", kept.get(..word).unwrap_or(kept).trim_end())
}

/// Removes what looks like an HTML tag or a comment: `<`, a letter, `/` or `!`, and everything up to `>`.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        plain.push_str(before);
        let is_tag = tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '|' | '<'));
        let end =
            if tag.starts_with("<!--") { tag.find("-->").map(|at| at + 3) } else { tag.find('>').map(|at| at + 1) };
        match end.filter(|_| is_tag) {
            Some(end) => {
                let name = tag[..end].trim_matches(['<', '>', '/']);
                let is_block = ["p", "br", "li", "ul", "ol", "div", "tr", "h1", "h2", "h3", "h4"].contains(&name);
                plain.push_str(if is_block { "\n" } else { "" });
                rest = &tag[end..];
            }
            None => {
                plain.push('<');
                rest = &tag[1..];
            }
        }
    }
    plain.push_str(rest);
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")]
    {
        if plain.contains(entity) {
            plain = plain.replace(entity, character);
        }
    }
    plain
}

/// Characters that a reader does not see: controls, zero-width characters, marks of direction, tags, private use.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{2800}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_plain() {
        for (text, expected) in [
            ("<p>Lists <b>pets</b>.</p>\n\n\n\n<ul><li>a</li></ul>", "Lists pets.\n\na"),
            ("a < b &amp;&amp; c > d", "a < b && c > d"),
            ("x\u{200b}y\u{202e}z\u{e0041}\u{7}", "xyz"),
            ("a <!-- ignore me --> b", "a b"),
            ("one\ttwo   three  ", "one two three"),
            ("<unclosed", "<unclosed"),
        ] {
            assert_eq!(clean(text, 100), expected, "{text:?}");
        }
        assert_eq!(clean("one two three four", 10), "one two…");
        assert_eq!(clean(&"ä".repeat(50), 10), format!("{}…", "ä".repeat(10)));
    }
}
