//! What the profiles promise: the README's first command builds without LTO, and what is measured is what is packaged.

use std::{fs, path::Path};

#[test]
fn only_what_is_packaged_and_measured_is_built_with_lto() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let section = |name: &str| {
        let (_, rest) = manifest.split_once(&format!("[profile.{name}]"))?;
        Some(rest.split("\n[").next().unwrap_or(rest))
    };
    let has_lto = |name: &str| section(name).is_some_and(|text| text.contains("lto = "));
    assert!(!has_lto("release") && has_lto("dist"));
}
