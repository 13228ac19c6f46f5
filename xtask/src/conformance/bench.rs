//! The suite at work: servers one after the other, clients two at a time.

use std::{
    fs,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use super::{
    outcome::{Outcome, checks, judge},
    suite::{Run, Suite},
};
use crate::{
    Failure,
    group::{Group, serve},
    workspace::command,
};

/// How long a scenario may take by the suite's own clock, and when it is killed: the suite can hang with its client.
const SOFT: Duration = Duration::from_secs(30);
const HARD: Duration = Duration::from_secs(50);

/// Client scenarios that run at the same time; they measure time, and more would disturb each other.
const CLIENTS: usize = 2;

pub(super) struct Bench {
    pub(super) suite: Suite,
    pub(super) programs: PathBuf,
    pub(super) results: PathBuf,
    pub(super) total: usize,
    pub(super) begun: AtomicUsize,
}

/// A server that is tested: its address, and the programs that it consists of.
pub(super) struct Subject {
    pub(super) url: String,
    pub(super) groups: Vec<Group>,
}

impl Subject {
    /// Why it is over, if one of its programs is.
    fn ended(&mut self) -> Option<String> {
        self.groups.iter_mut().find_map(Group::ended).map(|status| format!("the server ended: {status}"))
    }
}

impl Bench {
    /// One after the other, against one server; a new one if it is gone.
    pub(super) fn servers<'a>(
        &self,
        runs: &[&'a Run],
        results: &Path,
        start: impl Fn() -> Result<Subject, Failure>,
    ) -> Result<Vec<(&'a Run, Outcome)>, Failure> {
        let mut outcomes = Vec::new();
        let mut running = None;
        for &run in runs {
            let mut subject = match running.take() {
                Some(running) => running,
                None => start()?,
            };
            let mut outcome = self.one(run, results, ["--url", &subject.url]);
            match subject.ended() {
                Some(why) => outcome.broken = Some(why),
                None => running = Some(subject),
            }
            outcomes.push((run, outcome));
        }
        Ok(outcomes)
    }

    /// Starts our server on a free port, with more options.
    pub(super) fn serve(&self, options: &[&str], log: &Path) -> Result<Subject, Failure> {
        let program = self.programs.join("conformance-server");
        let start = |port: &str| {
            let mut server = command(&program.to_string_lossy());
            server.args(["--port", port]).args(options);
            server
        };
        let (server, port) = serve(start, log)?;
        Ok(Subject { url: format!("http://localhost:{port}/mcp"), groups: vec![server] })
    }

    pub(super) fn clients<'a>(&self, runs: &[&'a Run]) -> Vec<(&'a Run, Outcome)> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut outcomes = Vec::new();
            while let Some((at, &run)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, runs.get(at)?)))
            {
                // The suite takes the command apart at spaces, which the path of a folder may have.
                outcomes.push((at, run, self.one(run, &self.results, ["--command", "./conformance-client"])));
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

    fn one(&self, run: &Run, results: &Path, subject: [&str; 2]) -> Outcome {
        let at = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        if std::io::stdout().is_terminal() {
            print!("\r\x1b[K[{at}/{}] {} {} {}\r", self.total, run.role.name(), run.revision, run.scenario);
            let _ = std::io::stdout().flush();
        }
        let folder = run.folder(results);
        if let Err(error) = fs::create_dir_all(&folder) {
            return Outcome::broken(format!("{}: {error}", folder.display()));
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
