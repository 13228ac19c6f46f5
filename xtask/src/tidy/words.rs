//! Words that must not stand in doc comments; CONTRIBUTING.md has the glossary with what to write instead.
//!
//! `words.txt` has the number of lines that each crate still has. It may only fall: a crate with more is a finding, and so
//! is a number that is too high.

use std::collections::BTreeMap;

use super::Finding;
use crate::source::has_word;

/// The file with the numbers: a folder and a count on each line.
const NUMBERS: &str = "xtask/src/tidy/words.txt";

/// In lower case. A `…` stands for any words in between.
const BANNED: &[&str] = &[
    "somebody",
    "whoever",
    "nobody",
    "anybody",
    "everybody",
    "who asks",
    "what is told",
    "what is minded",
    "stands alone",
    "stand alone",
    "stood alone",
    "how long … may take",
    "patience",
    "ask again",
    "asks again",
    "ends well",
    "front door",
    "shelf",
    "wishes",
];

/// Compares the banned words of each crate with its number.
pub(super) fn check(texts: &[(&str, String)]) -> Vec<Finding> {
    let numbers = texts.iter().find(|(file, _)| *file == NUMBERS).map_or("", |(_, text)| text);
    let mut allowed: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (at, line) in numbers.lines().enumerate() {
        if let Some((folder, count)) = line.split_once(' ') {
            allowed.insert(folder, (at + 1, count.trim().parse().unwrap_or(0)));
        }
    }
    let found = by_crate(texts);
    let mut findings = Vec::new();
    for (folder, lines) in &found {
        let most = allowed.get(folder).map_or(0, |(_, most)| *most);
        if lines.len() > most {
            let what = |word: &str| format!("the doc comment says `{word}`; `{folder}` may have {most} such lines");
            findings.extend(lines.iter().map(|(file, line, word)| Finding::new(file, *line, what(word))));
        }
    }
    for (folder, (at, most)) in allowed {
        let count = found.get(folder).map_or(0, Vec::len);
        if count < most {
            let what = format!("`{folder}` has only {count} lines with banned words: write {count}");
            findings.push(Finding::new(NUMBERS, at, what));
        }
    }
    findings
}

type Found<'a> = BTreeMap<&'a str, Vec<(&'a str, usize, &'static str)>>;

/// The doc lines with a banned word, by the folder of their crate.
fn by_crate<'a>(texts: &'a [(&'a str, String)]) -> Found<'a> {
    let mut found = Found::new();
    for (file, text) in texts.iter().filter(|(file, _)| file.ends_with(".rs")) {
        let Some(folder) = crate_of(file) else { continue };
        for (at, line) in text.lines().enumerate() {
            if let Some(word) = banned(line) {
                found.entry(folder).or_default().push((*file, at + 1, word));
            }
        }
    }
    found
}

/// The folder of the crate that a source file belongs to.
fn crate_of(file: &str) -> Option<&str> {
    let (folder, _) = file.split_once("/src/")?;
    let name = folder.strip_prefix("crates/").or_else(|| folder.strip_prefix("servers/"))?;
    (!name.contains('/')).then_some(folder)
}

/// The first banned word of a line, if it is a doc comment.
fn banned(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.to_lowercase();
    BANNED.iter().copied().find(|words| {
        let mut rest = doc.as_str();
        words.split(" … ").all(|part| {
            let has = has_word(rest, part);
            rest = rest.find(part).map_or("", |at| &rest[at..]);
            has
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_lines_are_recognized() {
        for (line, expected) in [
            ("/// Somebody who asks.", Some("somebody")),
            ("    //! It stands alone.", Some("stands alone")),
            ("/// How long a request may take.", Some("how long … may take")),
            ("/// What may take how long.", None),
            ("// Somebody.", None),
            ("let nobody = 1; /// nobody", None),
            ("/// `nobody_else`", None),
        ] {
            assert_eq!(banned(line), expected, "{line}");
        }
    }

    #[test]
    fn numbers_only_fall() {
        let source = |file| (file, "/// Nobody.\nfn a() {}\n/// Whoever.\n".to_owned());
        let check_one = |file, numbers: &str, expected: &[&str]| {
            let found = check(&[source(file), (NUMBERS, numbers.to_owned())]);
            let found: Vec<_> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.len(), expected.len(), "{numbers}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.starts_with(expected), "{numbers}: {found}");
            }
        };
        let file = "crates/a/src/b.rs";
        check_one(file, "crates/a 2\n", &[]);
        check_one(
            file,
            "crates/a 1\n",
            &["crates/a/src/b.rs:1: the doc comment says `nobody`", "crates/a/src/b.rs:3: "],
        );
        check_one(file, "", &["crates/a/src/b.rs:1: ", "crates/a/src/b.rs:3: "]);
        check_one(file, "crates/a 3\n", &["xtask/src/tidy/words.txt:1: `crates/a` has only 2 lines"]);
        check_one("crates/a/tests/b.rs", "servers/b 1\n", &["xtask/src/tidy/words.txt:1: `servers/b` has only 0"]);
        check_one("examples/a/src/b.rs", "", &[]);
    }
}
