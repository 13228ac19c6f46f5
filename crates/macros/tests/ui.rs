//! Mistakes, and what is said about them.
//!
//! After a deliberate change of a message: `TRYBUILD=overwrite cargo test -p couplet-macros --test ui`. They are here and
//! not with the facade because everything that the package depends on is built once more for them.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

use std::process::Command;

/// The compiler that the messages under `ui/types` are from.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    // There the compiler speaks, and each one has its own words.
    if compiler().starts_with(COMPILER) {
        cases.compile_fail("tests/ui/types/*.rs");
    }
}

fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().unwrap();
    String::from_utf8(version.stdout).unwrap()
}
