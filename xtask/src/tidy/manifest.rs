//! The manifests of published packages: complete for crates.io and docs.rs, and publishable in some order.

use std::{fs, path::Path};

use serde_json::Value;

use super::Finding;
use crate::{Failure, workspace};

/// Fields that crates.io shows, each with the name that `cargo metadata` has for it.
const FIELDS: [&str; 6] = ["description", "license", "repository", "homepage", "keywords", "rust_version"];

const ATTRIBUTE: &str = "#![cfg_attr(docsrs, feature(doc_cfg))]";

pub(super) fn check() -> Result<Vec<Finding>, Failure> {
    let metadata = workspace::metadata()?;
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let unpublished: Vec<&str> =
        packages.iter().filter(|p| !workspace::is_published(p)).filter_map(|p| p["name"].as_str()).collect();
    let root = workspace::root();
    let mut findings = Vec::new();
    for package in packages.iter().filter(|p| workspace::is_published(p)) {
        let path = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let file = path.strip_prefix(&root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        let whats = missing(package).into_iter().chain(dependencies(package, &unpublished));
        findings.extend(whats.map(|what| Finding::new(&file, 1, what)));
        let library = path.with_file_name("src").join("lib.rs");
        if fs::read_to_string(library).is_ok_and(|source| !source.lines().any(|line| line == ATTRIBUTE)) {
            let file = file.replace("Cargo.toml", "src/lib.rs");
            findings.push(Finding::new(&file, 1, format!("no `{ATTRIBUTE}`: docs.rs shows no badges of features")));
        }
    }
    Ok(findings)
}

/// The fields that a package lacks.
fn missing(package: &Value) -> Vec<String> {
    let is_set = |field: &str| match &package[field] {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    let mut missing: Vec<String> =
        FIELDS.iter().filter(|f| !is_set(f)).map(|f| format!("no `{}`", f.replace('_', "-"))).collect();
    if !is_set("readme") && !is_set("documentation") {
        missing.push("neither `readme` nor `documentation`".to_owned());
    }
    let docs = &package["metadata"]["docs"]["rs"];
    let has_flag = docs["rustdoc-args"].as_array().is_some_and(|args| args == &["--cfg", "docsrs"]);
    if docs["all-features"] != true || !has_flag {
        missing.push(
            "`[package.metadata.docs.rs]` has to have `all-features = true` and `rustdoc-args = [\"--cfg\", \"docsrs\"]`"
                .to_owned(),
        );
    }
    missing
}

/// The dependencies within the workspace that hinder publishing.
fn dependencies(package: &Value, unpublished: &[&str]) -> Vec<String> {
    let ours = package["dependencies"].as_array().into_iter().flatten().filter(|d| d["path"].is_string());
    let hindrance = |dependency: &Value| {
        let name = dependency["name"].as_str().unwrap_or_default();
        match (dependency["kind"] == "dev", dependency["req"] == "*") {
            // Cargo leaves it out of the published manifest.
            (true, true) => None,
            (true, false) => Some(format!(
                "the dev-dependency `{name}` has a version, and would have to be published first: only a `path`"
            )),
            (false, true) => Some(format!("`{name}` needs a version beside its path")),
            (false, false) => unpublished.contains(&name).then(|| format!("`{name}` is not published")),
        }
    };
    ours.filter_map(hindrance).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn complete() -> Value {
        json!({
            "description": "a", "license": "MIT", "repository": "a", "homepage": "a", "keywords": ["a"],
            "rust_version": "1.88", "documentation": "a",
            "metadata": { "docs": { "rs": { "all-features": true, "rustdoc-args": ["--cfg", "docsrs"] } } },
        })
    }

    #[test]
    fn what_a_manifest_lacks_is_found() {
        assert_eq!(missing(&complete()), Vec::<String>::new());
        for (field, value, expected) in [
            ("description", json!(""), "no `description`"),
            ("keywords", json!([]), "no `keywords`"),
            ("rust_version", Value::Null, "no `rust-version`"),
            ("documentation", Value::Null, "neither `readme` nor `documentation`"),
            ("metadata", json!({ "docs": { "rs": { "all-features": true } } }), "`[package.metadata.docs.rs]` has to"),
        ] {
            let mut package = complete();
            package[field] = value;
            let found = missing(&package);
            assert!(found.len() == 1 && found[0].starts_with(expected), "{field}: {found:?}");
        }
    }

    #[test]
    fn dependencies_can_be_published() {
        let check = |kind: Value, req: &str, name: &str| {
            let ours = json!({ "name": name, "kind": kind, "req": req, "path": "/a" });
            dependencies(
                &json!({ "dependencies": [ours, { "name": "foreign", "kind": "dev", "req": "^1" }] }),
                &["hidden"],
            )
        };
        for (kind, req, name, expected) in [
            (Value::Null, "^0.1.0", "a", None),
            (json!("dev"), "*", "hidden", None),
            (json!("dev"), "^0.1.0", "a", Some("the dev-dependency `a` has a version")),
            (json!("build"), "*", "a", Some("`a` needs a version")),
            (Value::Null, "^0.1.0", "hidden", Some("`hidden` is not published")),
        ] {
            let found = check(kind, req, name);
            assert_eq!(found.len(), usize::from(expected.is_some()), "{found:?}");
            assert!(expected.is_none_or(|start| found[0].starts_with(start)), "{found:?}");
        }
    }
}
