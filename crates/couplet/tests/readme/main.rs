//! The README shows the examples and keeps to its size; the crate's page has a row for each feature.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod guide;

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
    let program = readme.split("```").find(|block| block.contains("Client::new")).unwrap();
    let program = program.trim_start_matches("rust,no_run");
    assert!(lines(program) <= 10, "{} lines", lines(program));
}

/// A stranger copies the manifest and the commands: the manifest is whole, and the program is in the path.
#[test]
fn what_is_copied_is_complete() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
    let manifest = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    for line in [
        "[package]",
        "name = \"calculator\"",
        "version = ",
        "edition = ",
        "[dependencies]",
        "serde_json = ",
        "tokio = ",
    ] {
        assert!(manifest.lines().any(|own| own.starts_with(line)), "no line `{line}` in\n{manifest}");
    }
    assert!(manifest.contains("path = \"../couplet/crates/couplet\""), "{manifest}");
    let (before, _) = readme.split_once("$ couplet call").unwrap();
    assert!(before.contains("PATH=\"$PWD/target/release:$PATH\""), "`couplet` is not in the path");
    for way in
        ["cargo binstall couplet-cli", "podman run --rm ghcr.io/couplet-rs/couplet", "npx couplet", "uvx couplet"]
    {
        assert!(before.contains(way), "the table lacks `{way}`");
    }
}

#[test]
fn each_feature_is_in_the_table() {
    let (manifest, page) = (read("crates/couplet/Cargo.toml"), read("crates/couplet/src/docs/lib.md"));
    let (_, features) = manifest.split_once("[features]").unwrap();
    let features = features.split("\n[").next().unwrap();
    let names: Vec<&str> = features
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| Some(line.split_once(" = ")?.0))
        .filter(|name| *name != "default")
        .collect();
    assert!(names.len() > 15, "{names:?}");
    let (_, table) = page.split_once("| feature | gives | adds |").unwrap();
    let firsts: Vec<&str> = table.lines().filter_map(|row| row.split('|').nth(1)).collect();
    for name in names {
        assert!(firsts.iter().any(|first| first.contains(&format!("`{name}`"))), "lib.md has no row for `{name}`");
    }
}
