//! What the profiles promise: the README's first command builds without LTO, and what is measured is what is packaged.

use std::{collections::BTreeMap, fs, path::Path};

fn manifest() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    fs::read_to_string(path).expect("the manifest of the workspace")
}

/// The keys and values of a section.
fn section(name: &str) -> BTreeMap<String, String> {
    let manifest = manifest();
    let (_, rest) = manifest.split_once(&format!("[profile.{name}]\n")).expect("a section of that name");
    let lines = rest.split("\n[").next().unwrap_or(rest).lines().filter_map(|line| line.split_once(" = "));
    lines.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[test]
fn only_what_is_packaged_and_measured_is_built_with_lto() {
    assert_eq!((section("release")["lto"].as_str(), section("dist")["lto"].as_str()), (r#""off""#, r#""fat""#));
}

/// A profile inherits the levels of packages that are named, and those take precedence over its own `*`.
#[test]
fn what_is_packaged_inherits_no_level_of_a_quick_build() {
    let (quick, packaged) = (section("release.package"), section("dist.package"));
    let inherited: Vec<_> = quick.keys().filter(|package| !packaged.contains_key(*package)).collect();
    assert!(inherited.is_empty(), "`[profile.dist.package]` has no level for {inherited:?}");
    assert!(quick.len() > 10, "the section was not read");
}

/// A package with a level of its own has the profile's `strip` no more.
#[test]
fn what_is_packaged_has_no_symbols() {
    assert_eq!(section("dist")["strip"], "true");
    assert_eq!(section("dist.package").get("couplet-cli.strip").map(String::as_str), Some("true"));
}
