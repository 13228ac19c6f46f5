//! The chapter on troubleshooting has each error text that can be found in the source.
//!
//! The rule: the string that follows one of the [`CALLS`] on its line, alone or in a `format!`, in one of the [`CRATES`].
//! A value in it is `…`. A text of fewer than three words says nothing without its values, and is left out.

use super::Finding;
use crate::source::Source;

const PAGE: &str = "crates/couplet/src/guide/troubleshooting.md";

/// The crates whose errors users of servers and clients see.
const CRATES: [&str; 6] = ["client", "core", "couplet", "http", "server", "stdio"];

const CALLS: [&str; 8] = [
    "Error::new(ErrorKind::",
    "Error::unsent(ErrorKind::",
    "Error::outdated(ErrorKind::",
    "RpcError::internal(",
    "RpcError::invalid_params(",
    "RpcError::invalid_request(",
    "response::busy(StatusCode::",
    "response::error(StatusCode::",
];

/// Compares the page with the sources, which are without tests.
pub(super) fn check<'a>(
    texts: &[(&str, String)],
    sources: impl Iterator<Item = (&'a str, &'a Source)>,
) -> Vec<Finding> {
    let page = texts.iter().find(|(file, _)| *file == PAGE).map_or("", |(_, text)| text);
    let mut findings = Vec::new();
    for (file, source) in sources.filter(|(file, _)| is_seen(file)) {
        for (at, line) in source.program.lines().enumerate() {
            let missing = messages(line).into_iter().filter(|text| !page.contains(text.as_str()));
            findings.extend(missing.map(|text| Finding::new(file, at + 1, format!("`{PAGE}` has no row for: {text}"))));
        }
    }
    findings
}

fn is_seen(file: &str) -> bool {
    let inside = |name: &&str| file.strip_prefix("crates/").and_then(|f| f.strip_prefix(name)?.strip_prefix("/src/"));
    CRATES.iter().any(|name| inside(name).is_some())
}

/// The error texts of a line.
fn messages(line: &str) -> Vec<String> {
    let after = |call: &&str| line.match_indices(*call).map(|(at, call)| &line[at + call.len()..]).collect::<Vec<_>>();
    let after = CALLS.iter().flat_map(after);
    after.filter_map(literal).filter(|text| says_something(text)).collect()
}

/// The string at the beginning of a call's arguments, perhaps after a kind or a status.
fn literal(arguments: &str) -> Option<String> {
    let after_kind = arguments.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').strip_prefix(", ");
    let text = after_kind.unwrap_or(arguments);
    let mut chars = text.strip_prefix("format!(").unwrap_or(text).strip_prefix('"')?.chars();
    let mut message = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(message),
            '\\' => message.push(chars.next()?),
            '{' => {
                chars.by_ref().find(|c| *c == '}')?;
                message.push('…');
            }
            c => message.push(c),
        }
    }
}

fn says_something(text: &str) -> bool {
    let words = text.split('`').step_by(2).flat_map(|part| part.split(|c: char| !c.is_ascii_alphabetic()));
    words.filter(|word| !word.is_empty()).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found() {
        for (line, expected) in [
            (r#"Err(Error::new(ErrorKind::Closed, "the pipe was used before"))"#, Some("the pipe was used before")),
            (
                r#"RpcError::internal(format!("step `{key}` has failed here: {e}"))"#,
                Some("step `…` has failed here: …"),
            ),
            (
                r#"response::busy(StatusCode::SERVICE_UNAVAILABLE, "no more \"room\" here")"#,
                Some(r#"no more "room" here"#),
            ),
            (r#"Error::new(ErrorKind::Transport, format!("{what}, and {error}"))"#, None),
            (r#"Error::new(ErrorKind::Transport, what)"#, None),
            (r#"Error::new(kind, "the pipe was used before")"#, None),
        ] {
            assert_eq!(messages(line).first().map(String::as_str), expected, "{line}");
        }
    }

    #[test]
    fn a_text_without_a_row_is_found() {
        let source = Source::new("fn f() {\n    Error::new(ErrorKind::Closed, \"it was used before\");\n}\n");
        let found = |page: &str, file| {
            check(&[(PAGE, page.to_owned())], [(file, &source)].into_iter()).first().map(|finding| finding.line)
        };
        assert_eq!(found("| `it was used before` |", "crates/http/src/a.rs"), None);
        assert_eq!(found("| `it is new` |", "crates/http/src/a.rs"), Some(2));
        assert_eq!(found("| `it is new` |", "crates/cli/src/a.rs"), None);
    }
}
