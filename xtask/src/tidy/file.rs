//! What holds for every file, whatever it is part of.

use super::{
    Finding,
    allow::{Allowed, LONG},
};
use crate::source::{Source, has_word, lines_with};

const MOST_LINES: usize = 600;
const MOST_README_LINES: usize = 150;

/// Folders of the machines that the project is written on; in parts, so that this file does not name them.
const MACHINE: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];

/// Checks a text of any kind.
pub(super) fn check(file: &str, text: &str, allowed: &mut Allowed) -> Vec<Finding> {
    let mut findings = Vec::new();
    for path in MACHINE {
        let lines = lines_with(text, |l| names_folder(l, path));
        if !lines.is_empty() && !allowed.has(file, path) {
            findings
                .extend(lines.into_iter().map(|l| Finding::new(file, l, format!("`{path}` is a path of one machine"))));
        }
    }
    if file.ends_with(".rs") || file.ends_with(".md") {
        let lines = lines_with(text, is_ignored_example);
        findings.extend(lines.into_iter().map(|l| Finding::new(file, l, "an example that nobody compiles")));
    }
    let length = text.lines().count();
    if file == "README.md" && length > MOST_README_LINES {
        findings.push(Finding::new(file, MOST_README_LINES, format!("{length} lines, more than {MOST_README_LINES}")));
    }
    if file.ends_with(".rs") && length > MOST_LINES && !allowed.has(file, LONG) {
        findings.push(Finding::new(file, MOST_LINES, format!("{length} lines, more than {MOST_LINES}: split it")));
    }
    findings
}

/// Checks a Rust source, tests included.
pub(super) fn check_source(file: &str, text: &str, source: &Source, allowed: &mut Allowed) -> Vec<Finding> {
    let mut findings = Vec::new();
    // An example is quoted as a whole, so it begins with what it shows.
    let is_module = (file.contains("/src/") && !file.starts_with("examples/")) || file.starts_with("fuzz/");
    let is_told = ["//!", "#![doc = include_str!("].iter().any(|start| text.trim_start().starts_with(start));
    if is_module && !is_told {
        findings.push(Finding::new(file, 1, "the file does not begin with `//!` and what it is for"));
    }
    // Tests are not in the views of the source, and a test is what is ignored.
    let ignored = lines_with(text, |l| l.trim_start().starts_with("#[ignore"));
    findings.extend(ignored.into_iter().map(|l| Finding::new(file, l, "a test that nobody runs")));
    let unfinished = |l: &str| has_word(l, "todo!") || has_word(l, "unimplemented!");
    if !allowed.has(file, "todo!") {
        let lines = lines_with(&source.code, unfinished);
        findings.extend(lines.into_iter().map(|l| Finding::new(file, l, "unfinished")));
    }
    findings
}

/// Whether a line has the folder at the start of a path, and not in an address.
fn names_folder(line: &str, folder: &str) -> bool {
    let is_address = |before: &str| {
        before.ends_with("://") || before.ends_with(|c: char| c.is_alphanumeric() || "._-~}".contains(c))
    };
    line.match_indices(folder).any(|(at, _)| !is_address(&line[..at]))
}

fn is_ignored_example(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches("///").trim_start_matches("//!").trim_start();
    line.strip_prefix("```").is_some_and(|info| info.split(',').any(|word| word.trim().starts_with("ignore")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<String> {
        let mut allowed = Allowed::new(&[("crates/a/src/long.rs", LONG)]);
        let mut all = check(file, text, &mut allowed);
        if file.ends_with(".rs") {
            all.extend(check_source(file, text, &Source::new(text), &mut allowed));
        }
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn files_are_checked() {
        let long = "//! Long.\n".repeat(601);
        let path = format!("see {}user", MACHINE[2]);
        for (file, text, expected) in [
            ("crates/a/src/b.rs", "//! A.\n", None),
            ("crates/a/src/b.rs", "fn a() {}\n", Some("b.rs:1: the file does not begin")),
            ("crates/a/tests/b.rs", "fn a() {}\n", None),
            ("crates/a/src/b.rs", &long, Some("b.rs:600: 601 lines")),
            ("crates/a/src/long.rs", &long, None),
            ("crates/a/tests/b.rs", "#[test]\n#[ignore]\nfn a() {}", Some("b.rs:2: a test")),
            ("crates/a/tests/b.rs", "fn a() { todo!() }", Some("b.rs:1: unfinished")),
            ("crates/a/tests/b.rs", "/// ```ignore\n", Some("b.rs:1: an example")),
            ("a.md", "```rust,ignore\n", Some("a.md:1: an example")),
            ("a.md", "```rust\n", None),
            ("a.txt", &path, Some("a.txt:1: `")),
            ("a.txt", "https://example.com/home/a file:///home/a", None),
            ("crates/a/src/b.rs", "#![doc = include_str!(\"a.md\")]\n", None),
            ("examples/a/src/main.rs", "fn main() {}\n", None),
            ("README.md", &"a\n".repeat(151), Some("README.md:150: 151 lines")),
            ("README.md", &"a\n".repeat(150), None),
        ] {
            let found = found(file, text);
            match expected {
                None => assert!(found.is_empty(), "{file}: {found:?}"),
                Some(what) => assert!(found.len() == 1 && found[0].contains(what), "{file}: {found:?}"),
            }
        }
    }
}
