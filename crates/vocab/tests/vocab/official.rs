//! The official schemas, which are test data of `couplet-types`, and the official examples.

use std::{fs, path::Path};

use couplet_types::ProtocolVersion;
use serde_json::Value;

/// A revision, how many examples it has, and in how many places its schema has to be repaired (see `equivalence.rs`).
const REVISIONS: &[(&str, usize, usize)] = &[
    ("2024-11-05", 41, 0),
    ("2025-03-26", 41, 0),
    ("2025-06-18", 51, 1),
    ("2025-11-25", 73, 1),
    ("2026-07-28", 129, 2),
];

/// What is official of one revision.
pub(crate) struct Official {
    pub(crate) version: ProtocolVersion,
    pub(crate) schema: Value,
    /// The examples, each with the name of its type: those beside the schema (2026-07-28), or the messages of the
    /// specification's pages that are complete, requests and results by their type.
    pub(crate) examples: Vec<(String, Value)>,
    pub(crate) repairs: usize,
}

/// Every revision. One without a schema, examples or a row above is a failure.
pub(crate) fn revisions() -> impl Iterator<Item = Official> {
    ProtocolVersion::ALL.iter().map(|version| {
        let row = REVISIONS.iter().find(|row| row.0 == version.as_str());
        let (_, count, repairs) = *row.unwrap_or_else(|| panic!("{version} has no row in `official.rs`"));
        let examples: Vec<_> = read(&format!("tests/data/examples/{version}.jsonl")).lines().map(example).collect();
        assert_eq!(examples.len(), count, "{version}");
        let schema = serde_json::from_str(&read(&format!("../types/tests/schemas/{version}.json"))).unwrap();
        Official { version: *version, schema, examples, repairs }
    })
}

fn example(line: &str) -> (String, Value) {
    let row: Value = serde_json::from_str(line).unwrap();
    (row["type"].as_str().unwrap().to_owned(), row["value"].clone())
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("`{}`: {e}", path.display()))
}

#[test]
fn every_revision_has_a_row_and_examples() {
    let rows: Vec<_> = REVISIONS.iter().map(|row| row.0).collect();
    let known: Vec<_> = ProtocolVersion::ALL.iter().map(|version| version.as_str()).collect();
    assert_eq!(rows, known, "add the revision to `crates/vocab/tests/vocab/official.rs`");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/examples");
    for version in known {
        assert!(folder.join(format!("{version}.jsonl")).is_file(), "`{}` lacks {version}", folder.display());
    }
}
