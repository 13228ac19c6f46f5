//! No two types of one name in a crate: a name is found by one search.
//!
//! `names.txt` lists the exceptions, a crate and a name on each line. Each must still be needed.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;

const EXCEPTIONS: &str = "xtask/src/tidy/names.txt";

/// Compares the types of each library with the exceptions.
pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    let exceptions = texts.iter().find(|(file, _)| *file == EXCEPTIONS).map_or("", |(_, text)| text);
    let allowed: BTreeSet<(&str, &str)> = exceptions.lines().filter_map(|line| line.split_once(' ')).collect();
    let mut places: BTreeMap<(&str, &str), Vec<(&str, usize)>> = BTreeMap::new();
    for (file, text) in texts {
        let Some(name) = crate_of(file) else { continue };
        for (at, line) in text.lines().enumerate().take_while(|(_, line)| *line != "mod tests {") {
            if let Some(ty) = type_of(line) {
                places.entry((name, ty)).or_default().push((file, at + 1));
            }
        }
    }
    let doubled: Vec<_> = places.iter().filter(|(_, places)| places.len() > 1).collect();
    let mut findings = Vec::new();
    for (key, places) in &doubled {
        if !allowed.contains(*key) {
            let (file, at) = places[1];
            findings.push(Finding::new(file, at, format!("`{}` is also a type in `{}`", key.1, places[0].0)));
        }
    }
    for unused in allowed.iter().filter(|key| !doubled.iter().any(|(found, _)| found == key)) {
        findings.push(Finding::new(
            EXCEPTIONS,
            1,
            format!("`{} {}` is no longer needed: remove it", unused.0, unused.1),
        ));
    }
    findings
}

/// The crate of a library's source file; tests have their own names.
fn crate_of(file: &str) -> Option<&str> {
    let (name, rest) = file.strip_prefix("crates/")?.split_once("/src/")?;
    let is_test = rest.ends_with("tests.rs") || rest.contains("/tests/");
    (rest.ends_with(".rs") && !is_test).then_some(name)
}

/// The type that a line at the outermost level defines.
fn type_of(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(public) => public.split_once(' ').map_or("", |(_, rest)| rest),
        None => line,
    };
    let rest = ["struct ", "enum ", "trait "].iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_type_of_one_name_is_found() {
        let first = ("crates/a/src/x.rs", "pub(crate) struct One;\nenum Two {}\n".to_owned());
        let second = ("crates/a/src/y.rs", "struct One {\n}\nmod tests {\nstruct Two;\n".to_owned());
        let other = ("crates/b/src/x.rs", "struct One;\n".to_owned());
        let found = |list: &str| {
            let texts = [first.clone(), second.clone(), other.clone(), (EXCEPTIONS, list.to_owned())];
            check(&texts).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(found(""), ["crates/a/src/y.rs:1: `One` is also a type in `crates/a/src/x.rs`"]);
        assert!(found("a One\n").is_empty());
        assert_eq!(found("a One\na Two\n").len(), 1);
    }
}
