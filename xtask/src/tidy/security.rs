//! What SECURITY.md says to be tested is tested.

use super::Finding;

const FILE: &str = "SECURITY.md";

/// Looks for the tests that the table names. Only names of functions have underscores there.
pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    let Some((_, promises)) = texts.iter().find(|(file, _)| *file == FILE) else { return Vec::new() };
    let is_there = |name: &str| {
        let start = format!("fn {name}(");
        texts.iter().any(|(file, text)| file.ends_with(".rs") && text.contains(&start))
    };
    let mut findings = Vec::new();
    for (at, line) in promises.lines().enumerate().filter(|(_, line)| line.starts_with('|')) {
        let names = line.split('`').skip(1).step_by(2).filter(|name| name.contains('_'));
        let missing = names.filter(|name| !is_there(name));
        findings.extend(missing.map(|name| Finding::new(FILE, at + 1, format!("there is no test `{name}`"))));
    }
    findings
}
