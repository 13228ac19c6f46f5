//! Who depends on whom.

use super::Finding;
use crate::{Failure, workspace};

/// A package of ours, what it must not depend on, directly or not, and the invariant that says so.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    ("couplet-types", RUNTIMES, "I1: the types know no runtime"),
    ("couplet-core", RUNTIMES, "I1: the protocol does no I/O"),
    (
        "couplet-core",
        &["couplet-server", "couplet-client", "couplet-stdio", "couplet-http"],
        "I2: dependencies go one way",
    ),
    (
        "couplet-server",
        &["couplet-client", "couplet-stdio", "couplet-tasks", "couplet-skills", "couplet-apps"],
        "I2: they meet in the core",
    ),
    (
        "couplet-client",
        &["couplet-server", "couplet-stdio", "couplet-tasks", "couplet-skills", "couplet-apps"],
        "I2: they meet in the core",
    ),
    ("couplet-proxy", &["couplet-server", "couplet-stdio", "couplet-http"], "I2: they meet in the core"),
    ("couplet-host", &["couplet-server", "couplet-stdio", "couplet-http"], "it knows the protocol, not transports"),
    (
        "couplet-openapi",
        &["couplet-client", "couplet-stdio", "couplet-tasks", "couplet-skills", "couplet-apps"],
        "it knows servers and HTTP APIs, not transports of the protocol",
    ),
    (
        "couplet-transform",
        &["couplet-server", "couplet-client", "couplet-stdio", "couplet-http", "tokio"],
        "it knows calls and replies, not handlers, transports or runtimes",
    ),
    ("couplet-schema", &["couplet-types", "couplet-core"], "it knows JSON, not the protocol"),
    ("couplet-hosts", &["couplet-types", "couplet-core", "tokio"], "it knows files, not the protocol"),
    ("couplet-bundle", &["couplet-types", "couplet-core", "tokio"], "it knows files, not the protocol"),
    ("couplet-lint", RUNTIMES, "it looks at answers, and asks nobody"),
    ("couplet-stdio", &["couplet-server", "couplet-client"], "I2: they meet in the core"),
    ("couplet-http", &["couplet-server", "couplet-client"], "I2: they meet in the core"),
    ("couplet-tasks", TRANSPORTS, "I2: an extension knows no transport"),
    ("couplet-skills", TRANSPORTS, "I2: an extension knows no transport"),
    ("couplet-apps", TRANSPORTS, "I2: an extension knows no transport"),
];

const TRANSPORTS: &[&str] = &["couplet-stdio", "couplet-http"];

const RUNTIMES: &[&str] = &["tokio", "hyper", "http", "tracing"];

pub(super) fn check() -> Result<Vec<Finding>, Failure> {
    let packages = workspace::packages()?;
    let mut findings = Vec::new();
    for (name, forbidden, why) in FORBIDDEN {
        let Some(package) = packages.iter().find(|p| p.name == *name) else {
            return Err(format!("there is no package `{name}`: adapt `tidy/graph.rs`"));
        };
        let manifest = format!("{}/Cargo.toml", package.folder);
        let tree = tree(name)?;
        for other in forbidden.iter().filter(|f| depends(&tree, f)) {
            findings.push(Finding::new(&manifest, 1, format!("`{name}` depends on `{other}` ({why})")));
        }
    }
    Ok(findings)
}

/// Everything that a package is built with, on any platform, with any feature; not what its tests need.
fn tree(package: &str) -> Result<String, Failure> {
    let flags = ["--edges", "normal", "--prefix", "none", "--all-features", "--target", "all", "--format", "{p}"];
    workspace::capture(workspace::command("cargo").args(["tree", "--package", package]).args(flags))
}

fn depends(tree: &str, package: &str) -> bool {
    tree.lines().any(|line| line.split(' ').next() == Some(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole() {
        let tree = "couplet-core v0.1.0 (somewhere)\nhttp-body v1.0.0\ntokio v1.0.0 (*)\n";
        for (package, found) in [("tokio", true), ("http", false), ("http-body", true), ("hyper", false)] {
            assert_eq!(depends(tree, package), found, "{package}");
        }
    }
}
