//! Mutation testing of the protocol's core: `.cargo/mutants.toml` says what is changed and which tests run.

use std::fs;

use serde_json::Value;

use super::{Options, Report, tools};
use crate::{
    Failure,
    workspace::{self, capture, command},
};

/// How many of a hundred mutants the tests have to catch.
const LEAST: usize = 80;

/// One mutant in so many is tried, unless all of them are asked for: all take hours on two processors.
const PARTS: usize = 16;

pub(super) fn run(options: &Options) -> Result<Report, Failure> {
    let mut mutants = match tools::MUTANTS.command() {
        Ok(tool) => tool,
        Err(why) => return Ok(Report::not_run(why)),
    };
    let folder = workspace::target()?.join("full/mutants");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    // Each mutant is one change to a tree that is built already, and no debugger looks at it.
    mutants.envs([("CARGO_INCREMENTAL", "1"), ("CARGO_PROFILE_DEV_DEBUG", "0")]).env_remove("CARGO_TARGET_DIR");
    // Without it only the default members are looked at, of which none is examined.
    mutants.args(["--workspace", "--jobs", "2", "--no-shuffle", "--colors", "never", "--output"]).arg(&folder);
    if !options.every_mutant {
        mutants.args(["--sharding", "round-robin", "--shard", &format!("{}/{PARTS}", part()?)]);
    }
    if capture(command("cargo").args(["nextest", "--version"])).is_ok() {
        mutants.args(["--test-tool", "nextest"]);
    }
    // The exit code says whether something was missed; the counts say how much.
    let status = mutants.status().map_err(|e| format!("`cargo mutants` did not start: {e}"))?;
    let outcomes = folder.join("mutants.out/outcomes.json");
    let text = fs::read_to_string(&outcomes).map_err(|e| format!("{status}, {}: {e}", outcomes.display()))?;
    let counts = Counts::read(&text).ok_or_else(|| format!("{status}, no mutant was tested"))?;
    println!("missed mutants: {}", folder.join("mutants.out/missed.txt").display());
    if counts.percent() < LEAST {
        Err(format!("{counts}; {LEAST} % are needed"))
    } else {
        Ok(Report::found(counts.to_string()))
    }
}

/// The part that is this commit's turn: one commit is checked in the same way each time, the next one in another way.
fn part() -> Result<usize, Failure> {
    let commits = capture(command("git").args(["rev-list", "--count", "HEAD"]))?;
    let commits: usize = commits.trim().parse().map_err(|e| format!("`git rev-list --count`: {e}"))?;
    Ok(commits % PARTS)
}

#[derive(Debug, PartialEq, Eq)]
struct Counts {
    caught: usize,
    missed: usize,
    /// Mutants that do not compile, which say nothing.
    unviable: usize,
}

impl Counts {
    /// `None` if no mutant was tested, as when the tests fail without one.
    fn read(outcomes: &str) -> Option<Self> {
        let outcomes: Value = serde_json::from_str(outcomes).ok()?;
        let count = |key: &str| outcomes[key].as_u64().and_then(|n| usize::try_from(n).ok());
        // A mutant that never ends does not pass the tests.
        let caught = count("caught")? + count("timeout")?;
        let counts = Self { caught, missed: count("missed")?, unviable: count("unviable")? };
        (counts.caught + counts.missed > 0).then_some(counts)
    }

    fn percent(&self) -> usize {
        self.caught * 100 / (self.caught + self.missed)
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { caught, missed, unviable } = self;
        write!(f, "{} % of the mutants are caught: {caught} of {}", self.percent(), caught + missed)?;
        write!(f, ", and {unviable} did not compile")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutants_are_counted() {
        let text = r#"{"outcomes":[],"total_mutants":20,"missed":3,"caught":11,"timeout":1,"unviable":5,"success":0}"#;
        let counts = Counts::read(text).unwrap();
        assert_eq!(counts, Counts { caught: 12, missed: 3, unviable: 5 });
        assert_eq!(counts.percent(), 80);
        assert_eq!(counts.to_string(), "80 % of the mutants are caught: 12 of 15, and 5 did not compile");
        // The tests failed before any mutant was tried.
        assert_eq!(Counts::read(r#"{"missed":0,"caught":0,"timeout":0,"unviable":0}"#), None);
        assert_eq!(Counts::read("{}"), None);
    }
}
