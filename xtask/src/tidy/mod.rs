//! `cargo xtask tidy`: the invariants of the workspace, as checks.
//!
//! * I1, I2: who depends on whom (`graph.rs`).
//! * I3 to I6, and what the house rules say about a file (`library.rs`, `file.rs`).
//! * The manifests of published packages are complete (`manifest.rs`).
//! * The tests that SECURITY.md names are there (`security.rs`), and so are those of the checklist of the specification
//!   (`checklist.rs`).
//! * The entries of DESIGN.md are complete, and their paths exist (`design.rs`); so do those of ARCHITECTURE.md
//!   (`architecture.rs`).
//! * Links of documents lead somewhere (`links.rs`), and the chapter on troubleshooting has each error text
//!   (`troubleshooting.rs`).
//! * The crates that users read most are documented well enough (`share.rs`).
//! * Doc comments use the words of the glossary (`words.rs`), and a crate has no two types of one name (`names.rs`).
//!
//! What is allowed in spite of a rule stands in `allow.rs`, and must still be needed.

mod allow;
mod architecture;
mod checklist;
mod design;
mod file;
mod graph;
mod library;
mod links;
mod manifest;
mod names;
mod security;
mod share;
mod troubleshooting;
mod words;

use std::{collections::BTreeSet, fmt, fs};

use crate::{Failure, source::Source, workspace};
use allow::Allowed;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, from the root of the workspace on.
    pub file: String,
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl Finding {
    fn new(file: &str, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Checks the whole workspace.
///
/// # Errors
/// When the workspace cannot be looked at.
pub fn findings() -> Result<Vec<Finding>, String> {
    let mut allowed = Allowed::new(allow::ALLOWED);
    let mut findings = in_files(&mut allowed);
    findings.extend(graph::check()?);
    findings.extend(manifest::check()?);
    findings.extend(allowed.unused().map(|(file, marker)| {
        Finding::new(
            "xtask/src/tidy/allow.rs",
            1,
            format!("`{file}` is no longer in need of `{marker}`: remove the line"),
        )
    }));
    findings.sort();
    Ok(findings)
}

pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let findings = findings()?;
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: no findings");
            Ok(())
        }
        count => Err(format!("{count} findings")),
    }
}

fn in_files(allowed: &mut Allowed) -> Vec<Finding> {
    let files = workspace::files();
    let root = workspace::root();
    // What is not text is not looked at.
    let texts: Vec<_> =
        files.iter().filter_map(|file| Some((file.as_str(), fs::read_to_string(root.join(file)).ok()?))).collect();
    let sources: Vec<_> = texts
        .iter()
        .filter(|(file, _)| file.ends_with(".rs"))
        .map(|(file, text)| (*file, text.as_str(), Source::new(text)))
        .collect();
    let test_files: BTreeSet<String> =
        sources.iter().flat_map(|(file, _, source)| library::test_files(file, source)).collect();

    let revisions = sources.iter().find(|(file, ..)| *file == library::REVISIONS);
    let dates = revisions.map(|(_, _, source)| library::dates(source)).unwrap_or_default();
    let mut findings = security::check(&texts);
    findings.extend(checklist::check(&texts));
    findings.extend(design::check(&texts));
    findings.extend(architecture::check(&texts));
    findings.extend(names::check(&texts));
    findings.extend(words::check(&texts));
    findings.extend(share::check(&texts));
    findings.extend(links::check(&texts, |path| root.join(path).exists()));
    let programs = sources.iter().filter(|(file, ..)| !test_files.contains(*file));
    findings.extend(troubleshooting::check(&texts, programs.map(|(file, _, source)| (*file, source))));
    for (file, text) in &texts {
        findings.extend(file::check(file, text, allowed));
    }
    for (file, text, source) in &sources {
        findings.extend(file::check_source(file, text, source, allowed));
        if library::is_library(file) && !test_files.contains(*file) {
            findings.extend(library::check(file, source, &dates, allowed));
        }
    }
    findings
}
