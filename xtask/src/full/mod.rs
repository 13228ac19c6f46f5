//! `cargo xtask full`: the release gate, every check that is too heavy for `cargo xtask ci`.
//!
//! A step reports its findings and the checks that it could not run, each with a reason. All steps run, whatever
//! happens to those before: a release needs the whole list.

mod book;
mod browser;
mod deny;
mod dist;
mod docsrs;
mod external;
mod features;
mod gateway;
mod generate;
mod minimal;
mod msrv;
mod mutants;
mod openapi;
mod package;
mod published;
pub(crate) mod scratch;
mod semver;
pub(crate) mod tools;

use std::time::Instant;

use crate::Failure;

/// The name of a step, and its function.
type Step = (&'static str, fn(&Options) -> Result<Report, Failure>);

/// In the order in which they are likely to fail soonest.
const STEPS: &[Step] = &[
    ("deny", deny::run),
    ("package", package::run),
    ("msrv", msrv::run),
    ("docsrs", docsrs::run),
    ("book", book::run),
    ("external-types", external::run),
    ("minimal-versions", minimal::run),
    ("semver", semver::run),
    ("features", features::run),
    ("gateway", gateway::run),
    ("openapi", openapi::run),
    ("browser", browser::run),
    ("generate", generate::run),
    ("dist", dist::run),
    ("mutants", mutants::run),
];

/// What the command line says beside the names of steps.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    /// The commit that `semver` compares with, instead of the last tag.
    base: Option<String>,
    /// Every mutant, instead of a part of them.
    every_mutant: bool,
}

/// The outcome of a step that did not fail.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    /// One line about the checks that ran; empty if none did.
    found: String,
    /// The checks that did not run, each with its reason.
    not_run: Vec<String>,
}

impl Report {
    /// Everything ran.
    fn found(line: impl Into<String>) -> Self {
        Self { found: line.into(), not_run: Vec::new() }
    }

    /// Nothing ran.
    fn not_run(why: impl Into<String>) -> Self {
        Self { found: String::new(), not_run: vec![why.into()] }
    }

    fn verdict(&self) -> &'static str {
        match (self.found.is_empty(), self.not_run.is_empty()) {
            (_, true) => "ok",
            (false, false) => "partial",
            (true, false) => "not run",
        }
    }
}

/// A line of the summary.
struct Row {
    name: &'static str,
    outcome: Result<Report, Failure>,
    seconds: f64,
}

impl Row {
    fn verdict(&self) -> &'static str {
        self.outcome.as_ref().map_or("FAILED", Report::verdict)
    }
}

/// Runs all steps, or those that are named.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (options, steps) = read(arguments)?;
    let mut rows = Vec::new();
    for (at, (name, step)) in steps.iter().enumerate() {
        println!("\n==> [{}/{}] {name}", at + 1, steps.len());
        let began = Instant::now();
        let outcome = step(&options);
        let row = Row { name, outcome, seconds: began.elapsed().as_secs_f64() };
        println!("==> {name}: {} in {:.0} s", row.verdict(), row.seconds);
        rows.push(row);
    }
    println!("\n{}", summary(&rows));
    let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let (passed, partial, failed) = (count("ok"), count("partial"), count("FAILED"));
    let counts = format!("{passed} passed, {partial} partial, {failed} failed, {} not run", count("not run"));
    if failed > 0 {
        return Err(format!("failed, {counts}"));
    }
    // The last line is for machines.
    println!("xtask full: ok, {counts}");
    Ok(())
}

/// What is wrong with a command line, if anything is.
#[cfg(test)]
pub(crate) fn unknown(arguments: &[String]) -> Option<Failure> {
    read(arguments).err()
}

fn read(arguments: &[String]) -> Result<(Options, Vec<&'static Step>), Failure> {
    let mut options = Options::default();
    let mut names = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--every-mutant" => options.every_mutant = true,
            "--base" => options.base = Some(arguments.next().ok_or("`--base` needs a commit or a tag")?.clone()),
            name if STEPS.iter().any(|(known, _)| *known == name) => names.push(name),
            other => {
                let known: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
                return Err(format!("there is no step `{other}`; there are {}", known.join(", ")));
            }
        }
    }
    let steps = STEPS.iter().filter(|(name, _)| names.is_empty() || names.contains(name));
    Ok((options, steps.collect()))
}

/// A line per step, with what was found below it, and every check that did not run.
fn summary(rows: &[Row]) -> String {
    let mut lines = vec![format!("{:<18}{:<9}{:>8}", "step", "", "seconds")];
    for row in rows {
        lines.push(format!("{:<18}{:<9}{:>8.0}", row.name, row.verdict(), row.seconds));
        match &row.outcome {
            Ok(report) => {
                lines.extend((!report.found.is_empty()).then(|| format!("    {}", report.found)));
                lines.extend(report.not_run.iter().map(|why| format!("    not run: {why}")));
            }
            Err(why) => lines.extend(why.lines().map(|line| format!("    {line}"))),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn steps_are_chosen_by_name() {
        let chosen = |line: &str| read(&words(line)).map(|(_, steps)| steps.iter().map(|s| s.0).collect::<Vec<_>>());
        assert_eq!(chosen("").unwrap().len(), STEPS.len());
        assert_eq!(chosen("semver deny").unwrap(), ["deny", "semver"]);
        assert!(chosen("denny").unwrap_err().contains("there is no step `denny`; there are deny, "));
        assert!(chosen("--base").unwrap_err().contains("needs a commit"));
        assert!(read(&words("mutants --every-mutant")).unwrap().0.every_mutant);
        assert_eq!(read(&words("semver --base HEAD~3")).unwrap().0.base.as_deref(), Some("HEAD~3"));
    }

    #[test]
    fn a_check_that_did_not_run_is_named_and_never_ok() {
        let partial = Report { found: "3 checks".to_owned(), not_run: vec!["advisories: no network".to_owned()] };
        let rows = [
            ("a", Ok(Report::found("all")), "ok"),
            ("b", Ok(partial), "partial"),
            ("c", Ok(Report::not_run("no tag yet")), "not run"),
            ("d", Err("two\nlines".to_owned()), "FAILED"),
        ]
        .map(|(name, outcome, verdict)| {
            let row = Row { name, outcome, seconds: 1.0 };
            assert_eq!(row.verdict(), verdict);
            row
        });
        let text = summary(&rows);
        for line in ["    3 checks", "    not run: advisories: no network", "    not run: no tag yet", "    lines"] {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
    }
}
