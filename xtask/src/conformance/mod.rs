//! `cargo xtask conformance`: the official conformance suite against the server and the client of `conformance/`.
//!
//! It is counted strictly: a warning is a failure, and so is a run that says nothing.

mod suite;

use std::{
    collections::BTreeMap,
    fs,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use suite::{Role, Run, Suite};

use crate::{
    Failure,
    group::{Group, serve},
    workspace::{build_programs, cargo, command, root, target},
};

/// How long a scenario may take by the suite's own clock, and when it is killed: the suite can hang with its client.
const SOFT: Duration = Duration::from_secs(30);
const HARD: Duration = Duration::from_secs(50);

/// Client scenarios that run at the same time; they measure time, and more would disturb each other.
const CLIENTS: usize = 2;

/// The exit code when there is no suite to run.
const NOT_RUN: i32 = 3;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let (release, only) = options(arguments)?;
    let started = Instant::now();
    let folder = root().join("target/conformance");
    let suite = Suite::install(&folder).unwrap_or_else(|why| {
        println!("conformance: not run: {why}");
        std::process::exit(NOT_RUN)
    });
    let wanted = |run: &Run| only.as_ref().is_none_or(|only| matches(only, &run.scenario));
    let runs: Vec<Run> = suite.runs()?.into_iter().filter(wanted).collect();
    if runs.is_empty() {
        return Err("there is no such scenario".to_owned());
    }
    let programs = build(release)?;
    let results = folder.join("results");
    // What an earlier run left must not count.
    let _ = fs::remove_dir_all(&results);
    fs::create_dir_all(&results).map_err(|e| format!("{}: {e}", results.display()))?;
    let bench = Bench { suite, programs, results, total: runs.len(), begun: AtomicUsize::new(0) };
    let (servers, clients): (Vec<&Run>, Vec<&Run>) = runs.iter().partition(|run| run.role == Role::Server);
    let mut outcomes = bench.servers(&servers)?;
    outcomes.extend(bench.clients(&clients));
    println!("{}", report(&outcomes));
    println!("results: {}, {} seconds", bench.results.display(), started.elapsed().as_secs());
    let sum = |count: fn(&Outcome) -> usize| outcomes.iter().map(|(_, outcome)| count(outcome)).sum::<usize>();
    let failed = sum(Outcome::failed);
    // The last line is for machines.
    println!("conformance: {} passed, {failed} failed", sum(|o| o.passed));
    if failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

/// Whether to build for release, and which scenarios to run.
fn options(arguments: &[String]) -> Result<(bool, Option<String>), Failure> {
    let (mut release, mut only) = (true, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--debug" => release = false,
            "--only" => only = Some(arguments.next().ok_or("`--only` needs a part of a name")?.clone()),
            other => {
                return Err(format!("there is no option `{other}`; there are --debug and --only <part of a name>"));
            }
        }
    }
    Ok((release, only))
}

/// Whether a name contains one of the parts between `|`; `^` and `$` are its ends.
fn matches(pattern: &str, name: &str) -> bool {
    let name = format!("^{name}$");
    pattern.split('|').any(|part| name.contains(part))
}

/// Builds both programs, and says in which folder they are.
fn build(release: bool) -> Result<PathBuf, Failure> {
    match release {
        true => cargo(["build", "--package", "conformance", "--release"])?,
        false => build_programs()?,
    }
    Ok(target()?.join(if release { "release" } else { "debug" }))
}

struct Bench {
    suite: Suite,
    programs: PathBuf,
    results: PathBuf,
    total: usize,
    begun: AtomicUsize,
}

impl Bench {
    /// One after the other, against one server; a new one if it is gone.
    fn servers<'a>(&self, runs: &[&'a Run]) -> Result<Vec<(&'a Run, Outcome)>, Failure> {
        let mut outcomes = Vec::new();
        let mut running = None;
        for &run in runs {
            let (mut server, url) = match running.take() {
                Some(running) => running,
                None => self.serve()?,
            };
            let mut outcome = self.one(run, ["--url", &url]);
            match server.ended() {
                Some(status) => outcome.broken = Some(format!("the server ended: {status}")),
                None => running = Some((server, url)),
            }
            outcomes.push((run, outcome));
        }
        Ok(outcomes)
    }

    fn serve(&self) -> Result<(Group, String), Failure> {
        let program = self.programs.join("conformance-server");
        let start = |port: &str| {
            let mut server = command(&program.to_string_lossy());
            server.args(["--port", port]);
            server
        };
        let (server, port) = serve(start, &self.results.join("server.log"))?;
        Ok((server, format!("http://localhost:{port}/mcp")))
    }

    fn clients<'a>(&self, runs: &[&'a Run]) -> Vec<(&'a Run, Outcome)> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut outcomes = Vec::new();
            while let Some((at, &run)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, runs.get(at)?)))
            {
                // The suite takes the command apart at spaces, which the path of a folder may have.
                outcomes.push((at, run, self.one(run, ["--command", "./conformance-client"])));
            }
            outcomes
        };
        let mut outcomes: Vec<_> = thread::scope(|scope| {
            let workers: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("a worker does not panic")).collect()
        });
        outcomes.sort_by_key(|(at, ..)| *at);
        outcomes.into_iter().map(|(_, run, outcome)| (run, outcome)).collect()
    }

    fn one(&self, run: &Run, subject: [&str; 2]) -> Outcome {
        let at = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        if std::io::stdout().is_terminal() {
            print!("\r\x1b[K[{at}/{}] {} {} {}\r", self.total, run.role.name(), run.revision, run.scenario);
            let _ = std::io::stdout().flush();
        }
        let folder = self.results.join(run.role.name()).join(&run.revision).join(run.scenario.replace('/', "__"));
        if let Err(error) = fs::create_dir_all(&folder) {
            return Outcome { broken: Some(format!("{}: {error}", folder.display())), ..Outcome::default() };
        }
        let mut suite = self.suite.command();
        suite.current_dir(&self.programs).arg(run.role.name()).args(subject);
        suite.args(["--scenario", &run.scenario, "--spec-version", &run.revision]);
        suite.args(["--timeout", &SOFT.as_millis().to_string()]).arg("-o").arg(&folder);
        suite.args(run.forced.then_some("--force"));
        let log = folder.join("run.log");
        let ended = Group::start(&mut suite, &log).and_then(|group| group.wait(HARD));
        let log = fs::read(log).unwrap_or_default();
        judge(ended, &String::from_utf8_lossy(&log), checks(&folder).as_deref())
    }
}

/// The text of the `checks.json` somewhere below a folder.
fn checks(folder: &Path) -> Option<String> {
    let file = folder.join("checks.json");
    if file.is_file() {
        return fs::read_to_string(file).ok();
    }
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir()).find_map(|path| checks(&path))
}

/// What came of a run.
#[derive(Debug, Default)]
struct Outcome {
    passed: usize,
    skipped: usize,
    /// The checks that failed or warned.
    bad: Vec<String>,
    /// Why the run as such counts as failed.
    broken: Option<String>,
}

impl Outcome {
    fn failed(&self) -> usize {
        self.bad.len() + usize::from(self.broken.is_some())
    }
}

fn judge(ended: Result<ExitStatus, Failure>, log: &str, checks: Option<&str>) -> Outcome {
    let mut outcome = Outcome::default();
    let checks: Option<Vec<Value>> = checks.and_then(|text| serde_json::from_str(text).ok());
    for check in checks.iter().flatten() {
        match check["status"].as_str().unwrap_or("no status") {
            "SUCCESS" => outcome.passed += 1,
            "SKIPPED" => outcome.skipped += 1,
            "INFO" => {}
            status => {
                let text = |key: &str| check[key].as_str().filter(|text| !text.is_empty());
                let why = text("errorMessage").or_else(|| text("description")).unwrap_or_default();
                let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
                outcome.bad.push(format!("{status} {}: {why}", text("id").unwrap_or("?")));
            }
        }
    }
    outcome.broken = match (ended, checks) {
        (Err(why), _) => Some(why),
        _ if log.contains("CLIENT TIMED OUT") => Some("the client timed out".to_owned()),
        _ if log.contains("CLIENT EXITED WITH ERROR") => Some("the client ended with an error".to_owned()),
        (Ok(status), None) => Some(format!("the suite left no result: {status}")),
        (_, Some(checks)) if checks.is_empty() => Some("there was no check".to_owned()),
        (Ok(status), _) if !status.success() && outcome.bad.is_empty() => Some(format!("the suite failed: {status}")),
        _ => None,
    };
    outcome
}

/// The runs with something failed, and the totals by role and revision.
fn report(outcomes: &[(&Run, Outcome)]) -> String {
    let mut lines = Vec::new();
    let mut totals = BTreeMap::<_, [usize; 4]>::new();
    for (run, outcome) in outcomes {
        let counts = [1, outcome.passed, outcome.failed(), outcome.skipped];
        let total = totals.entry((run.role, &run.revision)).or_default();
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        if outcome.failed() > 0 {
            let [_, passed, failed, _] = counts;
            let name = format!("{} {} {}", run.role.name(), run.revision, run.scenario);
            lines.push(format!("{name:<70}{passed:>4} passed{failed:>4} failed"));
            lines.extend(outcome.bad.iter().chain(&outcome.broken).map(|why| format!("    {why}")));
        }
    }
    lines.push(format!("\n{:<20}{:>8}{:>8}{:>8}{:>8}", "", "runs", "passed", "failed", "skipped"));
    lines.extend(totals.iter().map(|((role, revision), [runs, passed, failed, skipped])| {
        format!("{:<20}{runs:>8}{passed:>8}{failed:>8}{skipped:>8}", format!("{} {revision}", role.name()))
    }));
    lines.join("\n")
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
    fn counting_is_strict() {
        let fine = || Ok(ExitStatus::default());
        let checks = r#"[{"status":"SUCCESS"},{"status":"WARNING","id":"a"},{"status":"FAILURE"},{"status":"INFO"}]"#;
        let outcome = judge(fine(), "", Some(checks));
        assert_eq!((outcome.passed, outcome.failed(), outcome.broken.as_deref()), (1, 2, None));
        assert_eq!(judge(fine(), "CLIENT EXITED WITH ERROR (code 1)", Some(checks)).failed(), 3);
        for (ended, checks) in [(fine(), None), (fine(), Some("[]")), (fine(), Some("[")), (Err(String::new()), None)] {
            assert_eq!(judge(ended, "", checks).failed(), 1);
        }
        assert_eq!(judge(fine(), "", Some(r#"[{"status":"SUCCESS"}]"#)).failed(), 0);
    }
}
