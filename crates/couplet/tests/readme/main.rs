//! The README shows what is in the examples, and keeps to its size.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

use std::{fs, path::Path};

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

fn lines(program: &str) -> usize {
    program.lines().filter(|line| !line.trim().is_empty()).count()
}

#[test]
fn the_server_is_the_calculator_in_20_lines() {
    let (readme, calculator) = (read("README.md"), read("examples/calculator/src/main.rs"));
    assert!(readme.contains(&calculator), "the README and examples/calculator differ");
    assert!(lines(&calculator) <= 20, "{} lines", lines(&calculator));
}

#[test]
fn the_client_has_10_lines() {
    let readme = read("README.md");
    let (_, section) = readme.split_once("## A client").unwrap();
    let program = section.split("```").nth(1).unwrap().trim_start_matches("rust,no_run");
    assert!(program.contains("Client::new") && lines(program) <= 10, "{} lines", lines(program));
}
