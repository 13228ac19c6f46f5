//! What a library's source may say: I3 to I6, and what nobody should write.

use std::collections::BTreeSet;

use super::{
    Finding,
    allow::{Allowed, HIDDEN},
};
use crate::source::{Source, has_word, lines_with};

/// The file that lists the revisions.
pub(super) const REVISIONS: &str = "crates/types/src/version.rs";

/// What only one era has, as it is written on the wire.
const ERA_MARKERS: [&str; 5] =
    ["resultType", "io.modelcontextprotocol/", "inputResponses", "requestState", "Mcp-Session-Id"];

const PRINTS: [&str; 5] = ["print!", "println!", "eprint!", "eprintln!", "dbg!"];

/// Whether a file is part of a published library.
pub(super) fn is_library(file: &str) -> bool {
    let mut parts = file.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src")
}

/// The files in which modules are that are compiled for tests only.
pub(super) fn test_files(file: &str, source: &Source) -> Vec<String> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    source.test_modules.iter().flat_map(|m| [format!("{folder}/{m}.rs"), format!("{folder}/{m}/mod.rs")]).collect()
}

/// The dates of the revisions, without which none can be named: the strings in [`REVISIONS`] that are dates.
pub(super) fn dates(source: &Source) -> BTreeSet<String> {
    let is_date = |word: &&str| {
        let parts: Vec<_> = word.split('-').map(str::len).collect();
        parts == [4, 2, 2] && word.chars().all(|c| c.is_ascii_digit() || c == '-')
    };
    source.strings.split_whitespace().filter(is_date).map(str::to_owned).collect()
}

pub(super) fn check(file: &str, source: &Source, dates: &BTreeSet<String>, allowed: &mut Allowed) -> Vec<Finding> {
    let mut found = Report { file, findings: Vec::new() };
    revisions(&mut found, source, dates);
    eras(&mut found, source, allowed);
    hidden(&mut found, source, allowed);
    found.lines(&source.code, |l| PRINTS.iter().any(|p| has_word(l, p)), "I6: standard output belongs to the protocol");
    found.lines(&source.code, |l| l.contains("unbounded"), "nothing is unbounded: a peer decides how much there is");
    let untagged = |l: &str| l.contains("untagged") && (l.contains("serde(") || l.trim_start().starts_with("untagged"));
    found.lines(&source.code, untagged, "know the kind, then parse: no `serde(untagged)`");
    found.findings
}

/// I3: only `core/src/wire/` and the enum itself know that there are revisions.
fn revisions(found: &mut Report<'_>, source: &Source, dates: &BTreeSet<String>) {
    if found.file == REVISIONS {
        if dates.is_empty() {
            found.findings.push(Finding::new(found.file, 1, "I3: no revision is found here: adapt `tidy/library.rs`"));
        }
        let ordered = |l: &str| has_word(l, "PartialOrd") || has_word(l, "Ord");
        found.lines(&source.code, ordered, "I3: revisions have no order, so that nobody compares them");
        return;
    }
    let order = |l: &str| l.contains("Ord for ProtocolVersion");
    found.lines(&source.code, order, "I3: revisions have no order, so that nobody compares them");
    // `#[couplet::test]` writes one test per revision.
    if found.file.starts_with("crates/core/src/wire/") || found.file == "crates/macros/src/test.rs" {
        return;
    }
    let names = |l: &str| l.contains("V20") || has_word(l, "Era") || dates.iter().any(|date| l.contains(date));
    found.lines(&source.program, names, "I3: only `core/src/wire/` may name a revision or an era");
}

/// I4: only `core/src/wire/` reads or writes what only one era has. The types have the fields, not the rules.
fn eras(found: &mut Report<'_>, source: &Source, allowed: &mut Allowed) {
    if found.file.starts_with("crates/core/src/wire/") || found.file.starts_with("crates/types/src/") {
        return;
    }
    for marker in ERA_MARKERS {
        let has = |l: &str| l.to_ascii_lowercase().contains(&marker.to_ascii_lowercase());
        if !lines_with(&source.strings, has).is_empty() && !allowed.has(found.file, marker) {
            found.lines(&source.strings, has, &format!("I4: only `core/src/wire/` may read or write `{marker}`"));
        }
    }
}

/// I5: what a macro writes, a user could have written.
fn hidden(found: &mut Report<'_>, source: &Source, allowed: &mut Allowed) {
    let hides = |l: &str| l.contains("doc(hidden)");
    if !lines_with(&source.code, hides).is_empty() && !allowed.has(found.file, HIDDEN) {
        found.lines(&source.code, hides, "I5: no public item is hidden");
    }
    if found.file.starts_with("crates/macros/src/") {
        // Names that only keep out of the way of the user's, such as `__S`, are not paths.
        let private = |l: &str| l.contains("__private") || l.contains("::__") || l.contains("::private");
        found.lines(&source.program, private, "I5: macros write only public paths");
    }
}

struct Report<'a> {
    file: &'a str,
    findings: Vec<Finding>,
}

impl Report<'_> {
    fn lines(&mut self, view: &str, matches: impl Fn(&str) -> bool, what: &str) {
        let lines = lines_with(view, matches);
        self.findings.extend(lines.into_iter().map(|line| Finding::new(self.file, line, what)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(file: &str, text: &str, expected: &[&str]) {
        let dates = dates(&Source::new("match self { A => \"2025-06-18\", B => \"2025-6-18\" } // \"2026-01-01\""));
        assert_eq!(dates.iter().collect::<Vec<_>>(), ["2025-06-18"]);
        let mut allowed = Allowed::new(&[("crates/core/src/server/input.rs", "requestState")]);
        let found = check(file, &Source::new(text), &dates, &mut allowed);
        let found: Vec<_> = found.iter().map(|f| format!("{} {}", f.line, f.what.split(':').next().unwrap())).collect();
        assert_eq!(found, expected, "{file}: {text}");
    }

    #[test]
    fn each_rule_finds_what_it_forbids_and_nothing_else() {
        for (file, text, expected) in [
            ("crates/core/src/a.rs", "f(ProtocolVersion::V2025_06_18)", ["1 I3"].as_slice()),
            ("crates/core/src/a.rs", "\n\"2025-06-18\"", &["2 I3"]),
            ("crates/core/src/a.rs", "\"2026-01-01\"", &[]),
            ("crates/core/src/a.rs", "// 2025-06-18\n/// V2025_06_18", &[]),
            ("crates/core/src/a.rs", "#[cfg(test)]\nmod tests { const A: B = V2025_06_18; }", &[]),
            ("crates/core/src/wire/a.rs", "V2025_06_18", &[]),
            ("crates/macros/src/test.rs", "V2025_06_18", &[]),
            ("crates/macros/src/tool.rs", "V2025_06_18", &["1 I3"]),
            ("crates/types/src/version.rs", "#[derive(Eq, PartialOrd)]\nenum A { V2025_06_18 }", &["1 I3"]),
            ("crates/types/src/a.rs", "impl Ord for ProtocolVersion {}", &["1 I3"]),
            ("crates/server/src/a.rs", "get(\"resultType\")", &["1 I4"]),
            ("crates/server/src/a.rs", "get(\"mcp-session-id\")", &["1 I4"]),
            ("crates/server/src/a.rs", "let resultType = 1;", &[]),
            ("crates/types/src/a.rs", "get(\"resultType\")", &[]),
            ("crates/core/src/server/input.rs", "b(\"requestState\");", &[]),
            ("crates/core/src/server/input.rs", "b(\"inputResponses\");", &["1 I4"]),
            ("crates/macros/src/a.rs", "quote!(::couplet::__private::Args)", &["1 I5"]),
            ("crates/macros/src/a.rs", "quote!(::couplet::server::Args<__S>)", &[]),
            ("crates/server/src/a.rs", "#[doc(hidden)]\npub fn f() {}", &["1 I5"]),
            ("crates/server/src/a.rs", "println!(\"x\"); eprintln!()", &["1 I6"]),
            ("crates/server/src/a.rs", "f(\"println!\")", &[]),
            ("crates/server/src/a.rs", "mpsc::unbounded_channel()", &["1 nothing is unbounded"]),
            ("crates/server/src/a.rs", "#[serde(untagged)]", &["1 know the kind, then parse"]),
        ] {
            check_one(file, text, expected);
        }
    }

    #[test]
    fn libraries_and_test_files_are_known_by_their_path() {
        for (file, yes) in [
            ("crates/core/src/a/b.rs", true),
            ("crates/core/tests/a.rs", false),
            ("xtask/src/a.rs", false),
            ("examples/a/src/main.rs", false),
        ] {
            assert_eq!(is_library(file), yes, "{file}");
        }
        let source = Source::new("#[cfg(test)]\nmod tests;");
        assert_eq!(test_files("c/src/lib.rs", &source)[0], "c/src/tests.rs");
        assert_eq!(test_files("c/src/a.rs", &source)[0], "c/src/a/tests.rs");
    }
}
