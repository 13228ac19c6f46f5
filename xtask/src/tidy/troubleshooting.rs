//! The chapters on troubleshooting have each error text that can be found in the source.
//!
//! The rule: the first string among the arguments of a call that makes an error ([`makes_error`]), or the string of a
//! `let what =`, alone or in a `format!`, on the same line or a later one, in the crates that programs use. A value in it
//! is `…`. A text of fewer than three words says nothing without its values, and is left out.

use super::Finding;
use crate::source::Source;

/// The beginning of the names of the chapters.
const PAGES: &str = "crates/couplet/src/guide/troubleshooting";

/// The crates whose texts have their cure beside them: the command prints hints, the compiler shows the place.
const LEFT_OUT: [&str; 4] = ["cli", "lint", "macros", "testing"];

/// The crates where a `let what =` is also the text of a finding, which names its fix.
const WITH_FINDINGS: [&str; 3] = ["bundle", "hosts", "vocab"];

/// Types with functions that make errors, beside those whose name ends with `Error`.
const TYPES: [&str; 2] = ["Problem", "Refusal"];

/// Local functions that make errors.
const FUNCTIONS: [&str; 6] = ["broken", "failed", "no", "refuse", "refused", "wrong"];

/// Compares the pages with the sources, which are without tests.
pub(super) fn check<'a>(
    texts: &[(&str, String)],
    sources: impl Iterator<Item = (&'a str, &'a Source)>,
) -> Vec<Finding> {
    let pages: Vec<&str> =
        texts.iter().filter(|(file, _)| file.starts_with(PAGES)).map(|(_, text)| text.as_str()).collect();
    let mut findings = Vec::new();
    for (file, source) in sources {
        let Some(name) = seen_crate(file) else { continue };
        let found = messages(&source.program, !WITH_FINDINGS.contains(&name));
        let missing = found.into_iter().filter(|(_, text)| !pages.iter().any(|page| page.contains(text.as_str())));
        findings.extend(missing.map(|(at, text)| {
            let line = source.program[..at].matches('\n').count() + 1;
            Finding::new(file, line, format!("no page `{PAGES}*.md` has a row for: {text}"))
        }));
    }
    findings
}

/// The name of the crate, if users see its errors.
fn seen_crate(file: &str) -> Option<&str> {
    let (name, _) = file.strip_prefix("crates/")?.split_once("/src/")?;
    (!LEFT_OUT.contains(&name)).then_some(name)
}

/// The error texts of a program, with their places.
fn messages(program: &str, with_variables: bool) -> Vec<(usize, String)> {
    let calls = program.match_indices('(').filter(|(at, _)| makes_error(&program[..*at])).map(|(at, _)| at + 1);
    let variables = program.match_indices("let what =").map(|(at, assigned)| at + assigned.len());
    let starts = calls.chain(variables.filter(|_| with_variables));
    let texts = starts.filter_map(|at| Some((at, literal(&program[at..])?)));
    texts.filter(|(_, text)| says_something(text)).collect()
}

/// Whether the text before a parenthesis ends with the name of a function that makes an error.
fn makes_error(before: &str) -> bool {
    let start = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':').len();
    let path = &before[start..];
    match path.rsplit_once("::") {
        Some((owner, function)) => match owner.rsplit("::").next().unwrap_or(owner) {
            "response" => matches!(function, "busy" | "error"),
            owner => owner.ends_with("Error") || TYPES.contains(&owner),
        },
        None => !before[..start].ends_with('.') && (path.ends_with("Error") || FUNCTIONS.contains(&path)),
    }
}

/// The first string of a call's arguments, perhaps after others that are names or calls of functions.
fn literal(arguments: &str) -> Option<String> {
    let (before, text) = arguments.split_once('"')?;
    let before = before.trim_end();
    let before = before.strip_suffix("format!(").or_else(|| before.strip_suffix("format_args!(")).unwrap_or(before);
    let others = before.trim().trim_end_matches('&');
    let count = |c: char| others.matches(c).count();
    let are_arguments = others.is_empty() || (others.ends_with(',') && !others.contains(['{', ';', '|', '=']));
    if !are_arguments || count('(') != count(')') {
        return None;
    }
    content(text)
}

/// A string literal up to its closing quote, with `…` for each value.
fn content(text: &str) -> Option<String> {
    let mut chars = text.chars().peekable();
    let mut message = String::new();
    loop {
        match chars.next()? {
            '"' => return Some(message),
            '\\' => match chars.next()? {
                '\n' => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                escaped => message.push(escaped),
            },
            '{' if chars.next_if_eq(&'{').is_some() => message.push('{'),
            '}' if chars.next_if_eq(&'}').is_some() => message.push('}'),
            '{' if chars.peek().is_some_and(|c| *c != '`') => {
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
        for (program, expected) in [
            (r#"Err(Error::new(ErrorKind::Closed, "the pipe was used before"))"#, Some("the pipe was used before")),
            (
                r#"RpcError::internal(format!("step `{key}` has failed here: {e}"))"#,
                Some("step `…` has failed here: …"),
            ),
            (
                r#"response::busy(StatusCode::SERVICE_UNAVAILABLE, "no more \"room\" here")"#,
                Some(r#"no more "room" here"#),
            ),
            (r#"Error::new(kind(&a), "the pipe was used before")"#, Some("the pipe was used before")),
            ("Error::new(\n    Kind::Config,\n    \"it was \\\n     used before\",\n)", Some("it was used before")),
            (r#"return Err(wrong(&format!("is not known: {why}")));"#, Some("is not known: …")),
            (r#"let what = format!("it was used before");"#, Some("it was used before")),
            ("let what =\n    \"it was used before\";", Some("it was used before")),
            (r#"GlobError("a `{{` is never closed".to_owned())"#, Some("a `{` is never closed")),
            (r#"Refusal::Proof("the proof was used before")"#, Some("the proof was used before")),
            (r#"self.failed("it was used before")"#, None),
            (r#"info!("it was used before")"#, None),
            (r#"Error::new(ErrorKind::Transport, format!("{what}, and {error}"))"#, None),
            (r#"Error::new(ErrorKind::Transport, what); f("it was used before")"#, None),
        ] {
            assert_eq!(messages(program, true).first().map(|(_, text)| text.as_str()), expected, "{program}");
        }
        assert!(messages(r#"let what = "it was used before";"#, false).is_empty());
    }

    #[test]
    fn a_text_without_a_row_is_found() {
        let source = Source::new("fn f() {\n    Error::new(ErrorKind::Closed, \"it was used before\");\n}\n");
        let found = |page: &str, name, file| {
            let pages = [(name, page.to_owned())];
            check(&pages, [(file, &source)].into_iter()).first().map(|finding| finding.line)
        };
        let (page, other) = ("crates/couplet/src/guide/troubleshooting_auth.md", "crates/couplet/src/guide/http.md");
        for (text, page, file, line) in [
            ("| `it was used before` |", page, "crates/http/src/a.rs", None),
            ("| `it was used before` |", other, "crates/http/src/a.rs", Some(2)),
            ("| `it is new` |", page, "crates/http/src/a.rs", Some(2)),
            ("| `it is new` |", page, "crates/redis/src/tasks/a.rs", Some(2)),
            ("| `it is new` |", page, "crates/cli/src/a.rs", None),
            ("| `it is new` |", page, "xtask/src/a.rs", None),
        ] {
            assert_eq!(found(text, page, file), line, "{text} {page} {file}");
        }
    }
}
