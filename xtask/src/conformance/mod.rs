//! `cargo xtask conformance`: the official conformance suite against the server and the client of `conformance/`, and
//! against the server behind the gateway.
//!
//! It is counted strictly: a warning is a failure, and so is a run that says nothing.

mod bench;
mod excuses;
mod outcome;
mod suite;
mod through;

use std::{fs, path::PathBuf, sync::atomic::AtomicUsize, time::Instant};

use bench::Bench;
use outcome::{Outcome, report};
use suite::{Role, Run, Suite};
use through::Through;

use crate::{
    Failure,
    workspace::{build_programs, cargo, root, target},
};

/// The exit code when there is no suite to run.
pub(crate) const NOT_RUN: i32 = 3;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let options = options(arguments)?;
    let started = Instant::now();
    let folder = root().join("target/conformance");
    let suite = Suite::install(&folder).unwrap_or_else(|why| {
        println!("conformance: not run: {why}");
        std::process::exit(NOT_RUN)
    });
    let wanted = |run: &Run| options.only.as_ref().is_none_or(|only| matches(only, &run.scenario));
    let runs: Vec<Run> = suite.runs()?.into_iter().filter(wanted).collect();
    if runs.is_empty() {
        return Err("there is no such scenario".to_owned());
    }
    let programs = build(options.release)?;
    let results = folder.join("results");
    let bench = Bench { suite, programs, results, total: runs.len(), begun: AtomicUsize::new(0) };
    let (passed, failed) = match &options.through {
        Some(through) => through.run(bench, &runs)?,
        None => direct(&bench, &runs)?,
    };
    println!("{} seconds", started.elapsed().as_secs());
    // The last line is for machines.
    println!("conformance: {passed} passed, {failed} failed");
    if failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

/// Our server and our client, as they are: how many checks passed and failed.
fn direct(bench: &Bench, runs: &[Run]) -> Result<(usize, usize), Failure> {
    let results = &bench.results;
    // What an earlier run left must not count.
    let _ = fs::remove_dir_all(results);
    fs::create_dir_all(results).map_err(|e| format!("{}: {e}", results.display()))?;
    let (servers, clients): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| run.role == Role::Server);
    let mut outcomes = bench.servers(&servers, results, || bench.serve(&[], &results.join("server.log")))?;
    outcomes.extend(bench.clients(&clients));
    println!("{}", report(&outcomes));
    println!("results: {}", results.display());
    let sum = |count: fn(&Outcome) -> usize| outcomes.iter().map(|(_, outcome)| count(outcome)).sum::<usize>();
    Ok((sum(|outcome| outcome.passed), sum(Outcome::failed)))
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Whether to build for release.
    release: bool,
    /// A part of the names of the scenarios to run.
    only: Option<String>,
    /// What stands between the suite and the server.
    through: Option<Through>,
}

fn options(arguments: &[String]) -> Result<Options, Failure> {
    let mut options = Options { release: true, only: None, through: None };
    let mut quick = false;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--debug" => options.release = false,
            "--only" => options.only = Some(arguments.next().ok_or("`--only` needs a part of a name")?.clone()),
            "--through-gateway" => options.through = Some(Through::gateway()),
            "--through-run" => options.through = Some(Through::run_command()),
            "--quick" => quick = true,
            other => {
                return Err(format!(
                    "there is no option `{other}`; there are --debug, --only <part of a name>, --through-gateway, \
                     --through-run and, with these, --quick"
                ));
            }
        }
    }
    match &mut options.through {
        Some(through) => through.quick = quick,
        None if quick => return Err("`--quick` needs `--through-gateway` or `--through-run`".to_owned()),
        None => {}
    }
    Ok(options)
}

/// Whether a name contains one of the parts between `|`; `^` and `$` are its ends.
fn matches(pattern: &str, name: &str) -> bool {
    let name = format!("^{name}$");
    pattern.split('|').any(|part| name.contains(part))
}

/// Builds all programs, and says in which folder they are.
fn build(release: bool) -> Result<PathBuf, Failure> {
    match release {
        true => cargo(["build", "--package", "conformance", "--package", "couplet-cli", "--release"])?,
        false => build_programs()?,
    }
    Ok(target()?.join(if release { "release" } else { "debug" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_parts_of_names() {
        assert!(matches("^auth/", "auth/basic") && !matches("^auth/", "no-auth/basic"));
        assert!(matches("ping$|list", "tools-list") && !matches("list$", "list-roots"));
    }

    #[test]
    fn options_are_read() {
        let read = |line: &str| options(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let mut quick = Through::gateway();
        quick.quick = true;
        let expected = Options { release: false, only: Some("ping".to_owned()), through: Some(quick) };
        assert_eq!(read("--debug --quick --through-gateway --only ping"), Ok(expected));
        assert_eq!(read(""), Ok(Options { release: true, only: None, through: None }));
        for wrong in ["--quick", "--only", "--fast"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
