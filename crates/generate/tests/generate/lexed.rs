//! What remains of code without its comments and strings.

use couplet_generate::Language;

/// Removes comments and strings. A string or comment that does not end is a failure.
pub(crate) fn bare(code: &str, language: Language) -> String {
    let mut rest = code;
    let mut bare = String::new();
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let ends_at_line = match language {
            Language::Python => rest.starts_with('#'),
            _ => rest.starts_with("//"),
        };
        rest = if ends_at_line {
            &rest[rest.find(['\n', '\r']).unwrap_or(rest.len())..]
        } else if language != Language::Python && rest.starts_with("/*") {
            &rest[rest.find("*/").expect("a comment ends") + 2..]
        } else if language == Language::Python && rest.starts_with("\"\"\"") {
            string(&rest[3..], "\"\"\"", true)
        } else if c == '"' {
            string(after, "\"", false)
        } else if c == '`' && language == Language::TypeScript {
            string(after, "`", true)
        } else {
            bare.push(c);
            after
        };
    }
    bare
}

/// What follows a string.
fn string<'t>(text: &'t str, end: &str, has_lines: bool) -> &'t str {
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix(end) {
            return after;
        }
        let c = rest.chars().next().expect("a string ends");
        assert!(has_lines || !matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}'), "a string ends in its line");
        rest = &rest[c.len_utf8()..];
        if c == '\\' {
            rest = &rest[rest.chars().next().expect("an escape ends").len_utf8()..];
        }
    }
}

#[test]
fn comments_and_strings_are_removed() {
    assert_eq!(bare("a /* b */ \"c\\\"\" // d\ne", Language::Rust), "a   \ne");
    assert_eq!(bare("a \"\"\"b\nc\"\"\" # d\ne", Language::Python), "a  \ne");
}
