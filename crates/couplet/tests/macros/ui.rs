//! Mistakes, and what is said about them.
//!
//! After a deliberate change of a message: `TRYBUILD=overwrite cargo test -p couplet --test macros ui`.

use std::process::Command;

/// The compiler that the messages under `ui/types` are from.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/macros/ui/*.rs");
    // There the compiler speaks, and each one has its own words.
    if compiler().starts_with(COMPILER) {
        cases.compile_fail("tests/macros/ui/types/*.rs");
    }
}

fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().unwrap();
    String::from_utf8(version.stdout).unwrap()
}
