//! Mistakes, and what is said about them.
//!
//! After a deliberate change of a message: `UPDATE_GOLDEN=1 cargo test -p couplet-macros --test ui`. They are here and
//! not with the facade because everything that the package depends on is built once more for them.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

#[path = "../../testing/tests/common/skipped.rs"]
mod skipped;

use std::{env, process::Command};

/// The compiler that the messages under `ui/types` are from.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn mistakes_are_explained() {
    // The variable of the workspace, as `trybuild` calls it.
    if env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1") && env::var_os("TRYBUILD").is_none() {
        let mut again = Command::new(env::current_exe().unwrap());
        assert!(again.env("TRYBUILD", "overwrite").status().unwrap().success());
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    // There the compiler speaks, and each one has its own words.
    let compiler = compiler();
    if compiler.starts_with(COMPILER) {
        cases.compile_fail("tests/ui/types/*.rs");
    } else {
        skipped::skipped(&format!("the messages in `ui/types` are those of {COMPILER}x, and this is {compiler}"));
    }
}

fn compiler() -> String {
    let version = Command::new("rustc").arg("--version").output().unwrap();
    String::from_utf8(version.stdout).unwrap()
}
