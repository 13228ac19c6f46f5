//! ARCHITECTURE.md: every file that a walk or a table names exists.

use super::{Finding, design::is_at};

const FILE: &str = "ARCHITECTURE.md";

/// Checks each path in backticks. A path starts at the root of the repository or in `crates/`.
pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    let text = texts.iter().find(|(file, _)| *file == FILE).map_or("", |(_, text)| text);
    let exists = |path: &str| texts.iter().any(|(file, _)| is_at(file, path.trim_end_matches('/')));
    let mut findings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let missing = line.split('`').skip(1).step_by(2).filter(|word| is_path(word) && !exists(word));
        findings.extend(missing.map(|path| Finding::new(FILE, at + 1, format!("`{path}` does not exist"))));
    }
    findings
}

/// Whether a word in backticks is the path of a file or a folder.
fn is_path(word: &str) -> bool {
    let is_file = [".rs", ".md", ".toml", ".txt"].iter().any(|ending| word.ends_with(ending));
    word.contains('/') && !word.contains([' ', '*']) && (is_file || word.contains("/src/") || word.contains("/tests/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_must_exist() {
        for (line, expected) in [
            ("| a | `core/src/a.rs` (`read`), `core/src/b/` |", 0),
            ("| a | `core/src/c.rs` |", 1),
            ("| a | `core/src/c/`, `docs/x.md` |", 2),
            ("`tools/call` over stdio, `servers/*`", 0),
        ] {
            let file = |name: &'static str| (name, String::new());
            let texts = [(FILE, line.to_owned()), file("crates/core/src/a.rs"), file("crates/core/src/b/d.rs")];
            assert_eq!(check(&texts).len(), expected, "{line}");
        }
    }
}
