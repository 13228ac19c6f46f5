//! `cargo xtask weight`: how much a small stdio server brings along.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{Failure, workspace};

const MOST: usize = 40;

/// The server that is weighed, and what stands in for it where there is none.
const SERVER: &str = "examples/calculator";
const STAND_IN: &str = "crates/couplet";

/// Crates that find or run a C compiler.
const COMPILERS: [&str; 7] = ["cc", "cmake", "pkg-config", "bindgen", "autotools", "nasm-rs", "vcpkg"];

/// A name that looks like C, without any.
const PURE: [&str; 1] = ["linux-raw-sys"];

pub(crate) fn run(_: &[String]) -> Result<(), Failure> {
    let packages = workspace::packages()?;
    let at = |folder: &str| packages.iter().find(|p| p.folder == folder);
    let server = at(SERVER).or_else(|| at(STAND_IN)).ok_or_else(|| format!("there is no `{SERVER}`"))?;
    let flags = ["--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let tree = workspace::capture(workspace::command("cargo").args(["tree", "--package", &server.name]).args(flags))?;
    let crates = crates(&tree);
    for (name, version) in &crates {
        println!("  {name} {version}");
    }
    println!("weight: {} crates of at most {MOST} in `{}`", crates.len(), server.folder);
    let foreign = foreign(&crates, &linked()?);
    if !foreign.is_empty() {
        return Err(format!("a C compiler or library is needed for {}", foreign.join(", ")));
    }
    if crates.len() > MOST { Err(format!("{} crates are more than {MOST}", crates.len())) } else { Ok(()) }
}

/// The crates of a tree, each once.
fn crates(tree: &str) -> BTreeSet<(String, String)> {
    let pair = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.trim_start_matches('v').to_owned()))
    };
    tree.lines().filter_map(pair).collect()
}

/// The crates that link a library of the system, by name and version.
fn linked() -> Result<BTreeSet<(String, String)>, Failure> {
    let text = workspace::capture(workspace::command("cargo").args(["metadata", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten().filter(|p| p["links"].is_string());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(packages.map(|p| (text(&p["name"]), text(&p["version"]))).collect())
}

fn foreign(crates: &BTreeSet<(String, String)>, linked: &BTreeSet<(String, String)>) -> Vec<String> {
    let needs_c = |name: &str| COMPILERS.contains(&name) || (name.ends_with("-sys") && !PURE.contains(&name));
    let found = crates.iter().filter(|pair| needs_c(&pair.0) || linked.contains(*pair));
    found.map(|(name, _)| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_counted_once() {
        let tree = "a v0.1.0 (somewhere)\nb v1.0.0\nc v2.0.0 (proc-macro)\nb v1.0.0 (*)\nb v2.0.0\n\n";
        assert_eq!(crates(tree).len(), 4);
    }

    #[test]
    fn c_is_found() {
        let crates = crates("libc v0.2.1\ncc v1.0.0\nring v0.1.0\nzstd-sys v1.0.0\nlinux-raw-sys v0.1.0\n");
        let linked = BTreeSet::from([("ring".to_owned(), "0.1.0".to_owned())]);
        assert_eq!(foreign(&crates, &linked), ["`cc`", "`ring`", "`zstd-sys`"]);
    }
}
