//! Each feature of the facade has a chapter of the guide that names it, and an example that enables it;
//! each example has a chapter that names it, and each chapter names its examples, which are there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::read;

/// Groups of other features.
const GROUPS: [&str; 2] = ["default", "full"];

/// The features of the manifest, and what each of them enables.
fn features() -> BTreeMap<String, Vec<String>> {
    let manifest = read("crates/couplet/Cargo.toml");
    let (_, section) = manifest.split_once("[features]").unwrap();
    let section = section.split("\n[").next().unwrap();
    let lines: Vec<&str> = section.lines().filter(|line| !line.starts_with('#')).collect();
    let text = lines.join(" ");
    let mut features = BTreeMap::new();
    for definition in text.split("] ").filter_map(|definition| definition.split_once(" = [")) {
        let enables = definition.1.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        features.insert(definition.0.trim().to_owned(), enables);
    }
    features
}

/// The features that the examples enable, directly or by others.
fn enabled(features: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut enabled = BTreeSet::new();
    let mut next = Vec::new();
    for example in fs::read_dir(examples).unwrap() {
        let manifest = fs::read_to_string(example.unwrap().path().join("Cargo.toml")).unwrap();
        let line = manifest.lines().find_map(|line| line.strip_prefix("couplet.features = ")).unwrap_or_default();
        next.extend(line.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    while let Some(feature) = next.pop() {
        next.extend(features.get(&feature).into_iter().flatten().filter(|other| !enabled.contains(*other)).cloned());
        enabled.insert(feature);
    }
    enabled
}

/// Chapters that are programs or tables themselves.
const WITHOUT_EXAMPLE: [&str; 5] = ["cookbook", "from_fastmcp", "from_rmcp", "from_typescript", "troubleshooting"];

/// The texts of the chapters, by name.
fn chapters() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide");
    let is_chapter = |path: &Path| path.file_stem().is_some_and(|stem| stem != "index" && stem != "links");
    fs::read_dir(folder)
        .unwrap()
        .map(|chapter| chapter.unwrap().path())
        .filter(|path| is_chapter(path))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect()
}

#[test]
fn each_feature_has_a_chapter_and_an_example() {
    let (features, chapters) = (features(), chapters());
    assert!(features.len() > 25 && features["client"].contains(&"stdio".to_owned()), "{features:?}");
    let (enabled, index) = (enabled(&features), read("crates/couplet/src/guide/index.md"));
    for feature in features.keys().filter(|feature| !GROUPS.contains(&feature.as_str())) {
        assert!(enabled.contains(feature), "no example enables `{feature}`");
        let name = format!("`{feature}`");
        assert!(chapters.values().any(|chapter| chapter.contains(&name)), "no chapter of the guide names `{feature}`");
        assert!(index.contains(&name), "the first page of the guide has no chapter for `{feature}`");
    }
}

#[test]
fn each_example_is_in_a_chapter() {
    let chapters = chapters();
    for example in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")).unwrap() {
        let name = format!("`examples/{}`", example.unwrap().file_name().to_str().unwrap());
        assert!(chapters.values().any(|chapter| chapter.contains(&name)), "no chapter of the guide names {name}");
    }
}

#[test]
fn each_chapter_names_an_example() {
    let chapters = chapters();
    assert!(chapters.len() > 25, "{:?}", chapters.keys());
    for (chapter, text) in &chapters {
        let named: Vec<&str> = text.split("`examples/").skip(1).filter_map(|rest| rest.split('`').next()).collect();
        let needs_none = WITHOUT_EXAMPLE.contains(&chapter.as_str());
        assert_eq!(named.is_empty(), needs_none, "the chapter `{chapter}` names {named:?}");
        for example in named {
            let manifest =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example).join("Cargo.toml");
            assert!(manifest.exists(), "the chapter `{chapter}` names `examples/{example}`, which is not there");
        }
    }
    assert!(
        chapters["deployment"].contains("`examples/deployment`") && chapters["http"].contains("`examples/browser`")
    );
}

/// The program for OpenTelemetry needs crates that this one does not have: its lines are those of the example.
#[test]
fn telemetry_is_that_of_the_example() {
    let (chapters, example) = (chapters(), read("examples/otel/src/main.rs"));
    let (_, rest) = chapters["observability"].split_once("## OpenTelemetry").unwrap();
    let program = rest.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(program.lines().count() >= 3, "{program}");
    for line in program.lines() {
        assert!(example.contains(line), "examples/otel has no line `{line}`");
    }
}

/// The servers of other SDKs that are ported are of a size that says something.
#[test]
fn ported_servers_are_whole() {
    let chapters = chapters();
    for (chapter, fence, least) in [("from_rmcp", "```text\n", 200), ("from_fastmcp", "```python\n", 150)] {
        let program = chapters[chapter].split(fence).nth(1).unwrap().split("\n```").next().unwrap();
        assert!(program.lines().count() >= least, "{chapter}: {} lines", program.lines().count());
    }
}
