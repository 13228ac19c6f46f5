//! `cargo xtask ci`: everything that has to hold, in the order in which it fails soonest.

use std::{
    collections::BTreeMap,
    fs,
    process::Child,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::{
    Failure, browser, cluster, conformance, corpus, generate, grow, interop, skipped, starter, tidy, weight,
    workspace::{self, capture, cargo, command, packages, show},
};

/// A name, and what is done.
type Step = (&'static str, fn() -> Result<(), Failure>);

const STEPS: &[Step] = &[
    ("fmt", fmt),
    ("tidy", || tidy::run(&[])),
    ("weight", || weight::run(&[])),
    ("clippy", clippy),
    ("test", test),
    ("doctest", || cargo(["test", "--doc", "--workspace", "--all-features"])),
    ("doc", docs),
    ("examples", examples),
    ("new", starter::run),
    ("features", features),
    ("grow", || grow::run(&[])),
    ("corpus", || corpus::run(&[])),
    ("conformance", || conformance(&[])),
    ("gateway", || conformance(&["--through-gateway", "--quick"])),
    ("interop", interop),
    ("generate", || generate::run(&[])),
    ("browser", || browser::run(&[])),
    ("cluster", cluster),
];

/// The replicas. The clients of the peers were run against a healthy server in the step before.
fn cluster() -> Result<(), Failure> {
    cluster::run(
        &["scenarios", "everything", "peers-rolling", "peers-everything", "chaos", "outage"].map(str::to_owned),
    )
}

/// What a failure begins with if the step could not be tried, for want of a registry.
pub(crate) const NOT_RUN: &str = "not run: ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ok,
    Failed,
    NotRun,
}

impl Verdict {
    fn of(outcome: &Result<(), Failure>) -> Self {
        match outcome {
            Ok(()) => Self::Ok,
            Err(why) if why.starts_with(NOT_RUN) => Self::NotRun,
            Err(_) => Self::Failed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "FAILED",
            Self::NotRun => "not run",
        }
    }
}

/// How long an example may run.
const EXAMPLE: Duration = Duration::from_secs(60);

/// All steps, or those that are named.
pub(crate) fn run(names: &[String]) -> Result<(), Failure> {
    if let Some(why) = unknown(names) {
        return Err(why);
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let steps: Vec<&Step> = STEPS.iter().filter(|(name, _)| wanted(name)).collect();
    skipped::clear();
    let started = Instant::now();
    let mut rows = Vec::new();
    let mut failure = None;
    for (at, (name, step)) in steps.iter().enumerate() {
        println!("\n==> [{}/{}] {name}", at + 1, steps.len());
        let began = Instant::now();
        let outcome = step();
        let seconds = began.elapsed().as_secs_f64();
        let verdict = Verdict::of(&outcome);
        rows.push((*name, verdict, seconds));
        match outcome {
            Ok(()) => println!("==> {name}: ok in {seconds:.1} s"),
            Err(why) if verdict == Verdict::NotRun => {
                println!("==> {name}: {why}");
                skipped::add(name, why.trim_start_matches(NOT_RUN));
            }
            Err(why) => {
                println!("==> {name}: FAILED in {seconds:.1} s: {why}");
                failure = Some(format!("`{name}` failed: {why}"));
                break;
            }
        }
    }
    println!("\n{}\n\n{}", table(&rows), skipped::report());
    let count = |wanted| rows.iter().filter(|(_, verdict, _)| *verdict == wanted).count();
    let (passed, failed) = (count(Verdict::Ok), count(Verdict::Failed));
    let not_run = steps.len() - passed - failed;
    let seconds = started.elapsed().as_secs();
    let counts = format!("{passed} passed, {failed} failed, {not_run} not run, {seconds} seconds");
    // The last line is for machines.
    match failure {
        None => {
            println!("xtask ci: ok, {counts}");
            Ok(())
        }
        Some(why) => {
            println!("{why}");
            Err(format!("failed, {counts}"))
        }
    }
}

/// What is wrong with the names of steps, if one does not exist.
pub(crate) fn unknown(names: &[String]) -> Option<Failure> {
    let unknown = names.iter().find(|n| !STEPS.iter().any(|(name, _)| name == n))?;
    let known: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
    Some(format!("there is no step `{unknown}`; there are {}", known.join(", ")))
}

fn table(rows: &[(&str, Verdict, f64)]) -> String {
    let row =
        |(name, verdict, seconds): &(&str, Verdict, f64)| format!("{name:<14}{:<8}{seconds:>8.1}", verdict.name());
    let head = format!("{:<14}{:<8}{:>8}", "step", "", "seconds");
    std::iter::once(head).chain(rows.iter().map(row)).collect::<Vec<_>>().join("\n")
}

fn fmt() -> Result<(), Failure> {
    cargo(["fmt", "--all", "--check"])?;
    // Two packages are not part of the workspace.
    let outside = |f: &String| f.starts_with("fuzz/fuzz_targets/") || f.starts_with("interop/rmcp/");
    let files = workspace::files().into_iter().filter(|f| outside(f) && f.ends_with(".rs"));
    show(command("rustfmt").args(["--check", "--edition", "2024"]).args(files))
}

fn clippy() -> Result<(), Failure> {
    cargo(["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"])
}

fn test() -> Result<(), Failure> {
    let has_nextest = || capture(command("cargo").args(["nextest", "--version"])).is_ok();
    if !has_nextest() {
        println!("cargo-nextest is not here; it is installed now");
        if let Err(why) = cargo(["install", "cargo-nextest", "--locked"]) {
            println!("{why}");
        }
    }
    if has_nextest() {
        return cargo(["nextest", "run", "--workspace", "--all-features", "--no-fail-fast"]);
    }
    println!("cargo-nextest cannot be had; `cargo test` instead");
    cargo(["test", "--workspace", "--all-features", "--all-targets", "--no-fail-fast"])
}

fn docs() -> Result<(), Failure> {
    let mut doc = command("cargo");
    doc.env("RUSTDOCFLAGS", "-D warnings");
    show(doc.args(["doc", "--workspace", "--no-deps", "--all-features"]))
}

/// The official suite, with the programs as the tests have built them.
fn conformance(options: &[&str]) -> Result<(), Failure> {
    let mut suite = command("cargo");
    suite.args(["run", "--quiet", "--package", "xtask", "--", "conformance", "--debug"]).args(options);
    match suite.status().map_err(|e| e.to_string())?.code() {
        Some(0) => Ok(()),
        Some(conformance::NOT_RUN) => Err(format!("{NOT_RUN}the suite cannot be had here")),
        _ => Err("the conformance suite found failures".to_owned()),
    }
}

/// The other SDKs. One that cannot be had is skipped; if none can, nothing was tried.
fn interop() -> Result<(), Failure> {
    let counts = interop::suite(&[])?;
    println!("{counts}");
    match (counts.failed, counts.passed) {
        (0, 0) => Err(format!("{NOT_RUN}no other SDK can be had here")),
        (0, _) => Ok(()),
        (failed, _) => Err(format!("{failed} runs with other SDKs failed")),
    }
}

/// Every example runs, asserts what it tells, and ends with success. One that is a server finds its input closed.
fn examples() -> Result<(), Failure> {
    let packages = packages()?;
    let examples: Vec<_> = packages.iter().filter(|p| p.folder.starts_with("examples/")).collect();
    if examples.is_empty() {
        println!("there are no examples");
        return Ok(());
    }
    // Each is also checked with its own features alone, which are what somebody copies.
    workspace::build_programs()?;
    let folder = workspace::target()?.join("debug");
    let mut alike: BTreeMap<&[String], Vec<&str>> = BTreeMap::new();
    for package in &examples {
        alike.entry(&package.wants).or_default().push(&package.name);
    }
    for names in alike.values() {
        let packages = names.iter().flat_map(|name| ["--package", name]);
        cargo(["check", "--quiet"].into_iter().chain(packages))?;
    }
    for package in examples {
        let arguments =
            fs::read_to_string(workspace::root().join(&package.folder).join("run.args")).unwrap_or_default();
        for program in &package.programs {
            println!("example {} {program} {}", package.folder, arguments.trim());
            let mut run = command(&folder.join(program).to_string_lossy());
            let child = run.args(arguments.split_whitespace()).spawn().map_err(|e| e.to_string())?;
            within(EXAMPLE, child).map_err(|why| format!("example `{program}` {why}"))?;
        }
    }
    Ok(())
}

/// Waits for a program, but not for ever.
fn within(limit: Duration, mut child: Child) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("failed: {status}")),
            None if started.elapsed() > limit => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {} s", limit.as_secs()));
            }
            None => sleep(Duration::from_millis(20)),
        }
    }
}

/// The facade compiles with each feature alone, with none, and with those that are on by default.
fn features() -> Result<(), Failure> {
    let packages = packages()?;
    let facade = packages.iter().find(|p| p.name == "couplet").ok_or("there is no package `couplet`")?;
    let check = |more: &[&str]| {
        println!("couplet {}", more.join(" "));
        cargo(["check", "--quiet", "--package", "couplet"].iter().chain(more).copied())
    };
    check(&[])?;
    check(&["--no-default-features"])?;
    for feature in facade.features.iter().filter(|f| *f != "default") {
        check(&["--no-default-features", "--features", feature])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_ended() {
        let sleeper = command("sleep").arg("60").spawn().unwrap();
        assert!(within(Duration::from_millis(50), sleeper).unwrap_err().contains("did not end"));
        assert_eq!(within(EXAMPLE, command("true").spawn().unwrap()), Ok(()));
    }

    #[test]
    fn the_table_has_a_line_per_step() {
        assert_eq!(table(&[("fmt", Verdict::Ok, 1.0), ("clippy", Verdict::Failed, 12.34)]).lines().count(), 3);
    }
}
