//! Every published package builds with the oldest compiler that the manifests promise.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Options, Report, published, published::Published};
use crate::{
    Failure,
    workspace::{self, capture, command, show},
};

pub(super) fn run(_: &Options) -> Result<Report, Failure> {
    let metadata = capture(command("cargo").args(["metadata", "--format-version", "1", "--all-features"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata: {e}"))?;
    let graph = Graph::new(&metadata);
    // A program may need a newer compiler than the libraries.
    let mut promises: BTreeMap<&str, Vec<Published>> = BTreeMap::new();
    for library in published::libraries()? {
        let promised = graph.rust_version(&library.name).ok_or_else(|| format!("`{}`: no promise", library.name))?;
        promises.entry(promised).or_default().push(library);
    }
    let mut report = Report::default();
    let mut found = Vec::new();
    for (promised, packages) in &promises {
        let newer = graph.newer(packages, promised);
        if !newer.is_empty() {
            return Err(format!("dependencies that need a newer compiler than {promised}:\n{}", newer.join("\n")));
        }
        match build(promised, packages)? {
            Ok(()) => found.push(format!("{} packages build with Rust {promised}", packages.len())),
            Err(why) => {
                lint(packages)?;
                let count = packages.len();
                found.push(format!(
                    "{count} packages by the fallback alone: they and their dependencies claim {promised}"
                ));
                report.not_run.push(format!("a build with Rust {promised}: {why}"));
            }
        }
    }
    report.found = found.join("; ");
    Ok(report)
}

/// Builds packages with a compiler of this version; the inner error says why there is none.
fn build(version: &str, packages: &[Published]) -> Result<Result<(), Failure>, Failure> {
    let mut check = if capture(command("rustc").arg("--version"))?.starts_with(&format!("rustc {version}.")) {
        command("cargo")
    } else {
        let name = match toolchain(version) {
            Ok(name) => name,
            Err(why) => return Ok(Err(why)),
        };
        let mut other = command("rustup");
        // The toolchain that runs this program must not decide for the other one.
        for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
            other.env_remove(name);
        }
        other.env("CARGO_TARGET_DIR", workspace::target()?.join("full/msrv")).args(["run", &name, "cargo"]);
        other
    };
    check.args(["check", "--quiet", "--locked", "--all-features"]).args(published::flags(packages));
    show(&mut check).map(Ok)
}

/// In place of a build: no call of what a newer standard library brought.
fn lint(packages: &[Published]) -> Result<(), Failure> {
    let mut lint = command("cargo");
    lint.args(["clippy", "--quiet", "--all-features"]).args(published::flags(packages));
    show(lint.args(["--", "-D", "clippy::incompatible_msrv"]))
}

/// The name of an installed toolchain of this version, which is installed if it is missing.
fn toolchain(version: &str) -> Result<String, Failure> {
    let list = capture(command("rustup").args(["toolchain", "list"]))?;
    if let Some(name) = listed(&list, version) {
        return Ok(name.to_owned());
    }
    println!("installing Rust {version}");
    show(command("rustup").args(["toolchain", "install", version, "--profile", "minimal", "--no-self-update"]))?;
    Ok(version.to_owned())
}

fn listed<'a>(list: &'a str, version: &str) -> Option<&'a str> {
    let mut names = list.lines().filter_map(|line| line.split('-').next());
    names.find(|name| *name == version || name.strip_prefix(version).is_some_and(|rest| rest.starts_with('.')))
}

/// The packages of a build, and who needs whom.
struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    /// Without dev-dependencies.
    needs: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Value) -> Self {
        fn list(value: &Value) -> impl Iterator<Item = &Value> {
            value.as_array().into_iter().flatten()
        }
        let packages = list(&metadata["packages"]).filter_map(|p| Some((p["id"].as_str()?, p))).collect();
        let is_needed = |dependency: &&Value| list(&dependency["dep_kinds"]).any(|kind| kind["kind"] != "dev");
        let needs = list(&metadata["resolve"]["nodes"]).filter_map(|node| {
            let needed = list(&node["deps"]).filter(is_needed).filter_map(|d| d["pkg"].as_str());
            Some((node["id"].as_str()?, needed.collect()))
        });
        Self { packages, needs: needs.collect() }
    }

    fn rust_version(&self, name: &str) -> Option<&'a str> {
        self.packages.values().find(|p| p["name"] == name)?["rust_version"].as_str()
    }

    /// The dependencies of packages, direct or not, that need a newer compiler.
    fn newer(&self, roots: &[Published], promised: &str) -> Vec<String> {
        let is_root = |package: &Value| roots.iter().any(|root| package["name"] == root.name.as_str());
        let mut open: Vec<_> = self.packages.iter().filter(|(_, p)| is_root(p)).map(|(id, _)| *id).collect();
        let mut seen = BTreeSet::new();
        let mut newer = Vec::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            open.extend(self.needs.get(id).into_iter().flatten());
            let package = self.packages.get(id);
            let needed = package.and_then(|p| p["rust_version"].as_str());
            if let (Some(package), Some(needed)) = (package, needed.filter(|needed| number(needed) > number(promised)))
            {
                let text = |key: &str| package[key].as_str().unwrap_or_default();
                newer.push(format!("`{}` {} needs {needed}", text("name"), text("version")));
            }
        }
        newer.sort();
        newer
    }
}

/// `1.88` and `1.88.0` are the same.
fn number(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn toolchains_are_found_by_their_version() {
        let list = "stable-x86_64-unknown-linux-gnu (default)\n1.8-x86_64-a\n1.88.0-x86_64-unknown-linux-gnu\n";
        assert_eq!((listed(list, "1.88"), listed(list, "1.80")), (Some("1.88.0"), None));
    }

    #[test]
    fn newer_dependencies_are_found_but_not_those_of_tests() {
        let package =
            |id: &str, version: Value| json!({ "id": id, "name": id, "version": "1.0.0", "rust_version": version });
        let needs = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("ours", json!("1.88")), package("old", json!("1.88.0")), package("silent", Value::Null),
                package("new", json!("1.89")), package("builds", json!("1.100")), package("tests", json!("1.95")),
            ],
            "resolve": { "nodes": [
                { "id": "ours", "deps": [needs("old", Value::Null), needs("tests", json!("dev"))] },
                { "id": "old", "deps": [needs("silent", Value::Null), needs("builds", json!("build"))] },
                { "id": "silent", "deps": [needs("new", Value::Null)] },
            ] },
        });
        let graph = Graph::new(&metadata);
        assert_eq!(graph.rust_version("ours"), Some("1.88"));
        let ours = Published {
            name: "ours".into(),
            folder: String::new(),
            is_library: true,
            is_program: false,
            features: Vec::new(),
        };
        let newer = graph.newer(&[ours], "1.88");
        assert_eq!(newer, ["`builds` 1.0.0 needs 1.100", "`new` 1.0.0 needs 1.89"]);
    }
}
