//! Comments and literals of Rust.
//!
//! A comment of documentation is Markdown, in which code blocks are compiled and executed as tests, and brackets are
//! links. Text of a server becomes neither: see [`escaped`].

use crate::{model::Docs, text, writer::Writer, writer::quoted};

/// A string literal. Characters that change the direction of text are errors in Rust, so they are escaped.
pub(super) fn literal(text: &str) -> String {
    quoted(text, |c| c.escape_unicode().to_string())
}

/// A name of the server in a comment.
pub(super) fn code(name: &str) -> String {
    format!("`{}`", text::line(name, 80).replace('`', "'"))
}

/// Writes a comment of documentation, and a paragraph of our own after it.
pub(super) fn docs(docs: &Docs, last: Option<&str>, out: &mut Writer) {
    let paragraphs = docs.paragraphs(escaped, code, last);
    for (at, paragraph) in paragraphs.iter().enumerate() {
        if at > 0 {
            out.line("///");
        }
        for line in paragraph {
            out.line(format!("/// {line}").trim_end());
        }
    }
    if docs.is_deprecated {
        out.line("#[deprecated]");
    }
}

/// A line in which nothing starts a code block, a link or HTML. Lines have no indentation and no double spaces, so that
/// code spans within a line are the only code.
fn escaped(line: &str) -> String {
    let mut escaped = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let span = rest.strip_prefix('`').and_then(|after| after.split_once('`'));
        match span.filter(|(inside, after)| !inside.is_empty() && !after.starts_with('`')) {
            // After a backslash or a run of backticks, it would not be a span.
            Some((inside, after)) if !escaped.ends_with(['`', '\\']) => {
                escaped.push_str(&format!("`{inside}`"));
                rest = after;
            }
            _ => {
                if matches!(c, '`' | '~' | '[' | ']' | '<' | '>' | '\\') {
                    escaped.push('\\');
                }
                escaped.push(c);
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_of_a_server_is_text() {
        for (line, expected) in [
            ("Adds `a[0]` and [b](c).", "Adds `a[0]` and \\[b\\](c)."),
            ("```rust", "\\`\\`\\`rust"),
            ("~~~", "\\~\\~\\~"),
            ("``x`` `y", "\\`\\`x\\`\\` \\`y"),
            ("<script>", "\\<script\\>"),
        ] {
            assert_eq!(escaped(line), expected);
        }
    }

    #[test]
    fn literals_are_one_token() {
        assert_eq!(literal("a\"\\\n\u{202e}é"), r#""a\"\\\n\u{202e}é""#);
    }
}
