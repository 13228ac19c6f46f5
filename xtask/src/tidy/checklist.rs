//! The lines of `docs/checklist.md` and the tests `line_NNN_…` match, in both directions.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

const FILE: &str = "docs/checklist.md";

/// How the last cell of a line begins that no test can check.
const NO_TEST: &str = "none: ";

pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    let tests = tests(texts);
    let Some((_, document)) = texts.iter().find(|(file, _)| *file == FILE) else {
        return vec![Finding::new(FILE, 1, "the checklist is missing")];
    };
    let paths = paths(document);
    let mut findings = Vec::new();
    let mut numbers = BTreeSet::new();
    for (at, number, cell) in rows(document) {
        let mut found = |what: String| findings.push(Finding::new(FILE, at, what));
        if usize::from(number) != numbers.len() + 1 {
            found(format!("line {number:03} does not follow {:03}", numbers.len()));
        }
        numbers.insert(number);
        let files: BTreeSet<&str> = tests.iter().filter(|t| t.number == number).map(|t| t.file).collect();
        let labels = labels(cell);
        for label in &labels {
            match paths.get(label) {
                None => found(format!("`[{label}]` leads nowhere: name its path at the end of the file")),
                Some(path) if !files.contains(path) => found(format!("`{path}` has no test `line_{number:03}_…`")),
                Some(_) => {}
            }
        }
        let named: BTreeSet<&str> = labels.iter().filter_map(|label| paths.get(label).copied()).collect();
        for file in files.difference(&named) {
            found(format!("`{file}` has a test of line {number:03}: name it"));
        }
        if labels.is_empty() && cell.strip_prefix(NO_TEST).is_none_or(|why| why.trim().is_empty()) {
            found(format!("line {number:03} names no test; if there can be none, `{NO_TEST}` and the reason"));
        }
    }
    let unknown = tests.iter().filter(|test| !numbers.contains(&test.number));
    findings.extend(unknown.map(|t| Finding::new(t.file, t.at, format!("`{FILE}` has no line {:03}", t.number))));
    findings
}

/// A line of the checklist that a test covers.
struct Test<'a> {
    file: &'a str,
    at: usize,
    number: u16,
}

fn tests<'a>(texts: &'a [(&'a str, String)]) -> Vec<Test<'a>> {
    let mut tests = Vec::new();
    for (file, text) in texts.iter().filter(|(file, _)| file.ends_with(".rs")) {
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn line_").unwrap_or_default();
            // `line_417_418_an_answer` covers two lines.
            let numbers = name.split('_').map_while(number);
            tests.extend(numbers.map(|number| Test { file, at: at + 1, number }));
        }
    }
    tests
}

/// The rows of the tables: where they are, their number, and their last cell.
fn rows(document: &str) -> impl Iterator<Item = (usize, u16, &str)> {
    document.lines().enumerate().filter_map(|(at, line)| {
        let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        Some((at + 1, number(cells.first()?)?, *cells.last()?))
    })
}

fn number(word: &str) -> Option<u16> {
    if word.len() == 3 { word.parse().ok() } else { None }
}

/// The names in brackets.
fn labels(cell: &str) -> Vec<&str> {
    cell.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0)).collect()
}

/// The paths that the names lead to, from the root of the workspace on.
fn paths(document: &str) -> BTreeMap<&str, &str> {
    document.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ../")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "#[test]\nfn line_001_002_a() {}\n    async fn line_003_b() {}\nfn line_of(x: u8) {}\n";

    fn found(rows: &[&str]) -> Vec<String> {
        let table = "| line | duty | tests |\n|---|---|---|\n";
        let document = format!("{table}{}\n[a]: ../crates/a/tests/a.rs\n", rows.join("\n"));
        let texts = [("crates/a/tests/a.rs", TESTS.to_owned()), (FILE, document)];
        check(&texts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_and_tests_match() {
        let (first, second, third) = ("| 001 | x | [a] |", "| 002 | x | [a] |", "| 003 | x | [a] |");
        for (rows, expected) in [
            (vec![first, second, third, "| 004 | x | none: advice |"], None),
            (vec![first, second], Some("crates/a/tests/a.rs:3: `docs/checklist.md` has no line 003")),
            (vec![first, second, third, "| 004 | x | [a] |"], Some("has no test `line_004_…`")),
            (vec![first, second, third, "| 004 | x |  |"], Some("line 004 names no test")),
            (vec![first, second, third, "| 004 | x | none: |"], Some("line 004 names no test")),
            (vec![first, second, "| 003 | x | none: advice |"], Some("has a test of line 003: name it")),
            (vec![first, second, "| 003 | x | [a], [b] |"], Some("`[b]` leads nowhere")),
            (vec![first, second, third, "| 005 | x | none: advice |"], Some("line 005 does not follow 003")),
        ] {
            let found = found(&rows);
            match expected {
                None => assert!(found.is_empty(), "{found:?}"),
                Some(what) => assert!(found.len() == 1 && found[0].contains(what), "{rows:?}: {found:?}"),
            }
        }
    }
}
