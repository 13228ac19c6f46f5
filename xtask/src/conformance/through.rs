//! The server scenarios through a program of ours that stands between the suite and our server: each era of the client
//! meets each era of the server, and what passes directly has to pass there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
};

use super::{
    bench::{Bench, Subject},
    excuses::EXCUSED,
    outcome::{Outcome, checks, judge},
    suite::{Role, Run},
};
use crate::{
    Failure, gateway,
    gateway::{Names, Pins, Upstream},
    group::serve,
    workspace::command,
};

/// The last revision of each era.
pub(super) const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// What stands between the suite and our server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Through {
    way: Way,
    /// Only the last revision of each era in front, and each era behind over one transport; what passes directly is read
    /// from the results of the run before, if they are there.
    pub(super) quick: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Gateway,
    Run,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Stdio,
    Http,
    /// In HTTP/2 without TLS, which the gateway has a setting for.
    Http2,
}

impl Transport {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Http2 => "http2",
        }
    }
}

/// A server behind: its only revision, and how it is reached.
pub(super) type Cell = (&'static str, Transport);

pub(super) const CELLS: [Cell; 6] = [
    (LEGACY, Transport::Stdio),
    (MODERN, Transport::Http),
    (LEGACY, Transport::Http),
    (MODERN, Transport::Stdio),
    (LEGACY, Transport::Http2),
    (MODERN, Transport::Http2),
];

pub(super) const LEGACY_CELLS: [Cell; 3] =
    [(LEGACY, Transport::Stdio), (LEGACY, Transport::Http), (LEGACY, Transport::Http2)];

/// How many cells are tried at the same time.
const AT_ONCE: usize = 2;

/// The outcomes of one cell, in the order of the runs.
type Outcomes = Vec<Outcome>;

impl Through {
    pub(super) const fn gateway() -> Self {
        Self { way: Way::Gateway, quick: false }
    }

    pub(super) const fn run_command() -> Self {
        Self { way: Way::Run, quick: false }
    }

    const fn name(&self) -> &'static str {
        match self.way {
            Way::Gateway => "gateway",
            Way::Run => "run",
        }
    }

    /// Tries all cells, and prints what was lost in each: how many runs are as they are directly, and how many are not.
    pub(super) fn run(&self, mut bench: Bench, runs: &[Run]) -> Result<(usize, usize), Failure> {
        let in_front = |run: &&Run| !self.quick || [LEGACY, MODERN].contains(&run.revision.as_str());
        let runs: Vec<&Run> = runs.iter().filter(|run| run.role == Role::Server).filter(in_front).collect();
        let cells = match (self.quick, self.way) {
            (true, _) => &CELLS[..2],
            (false, Way::Run) => &CELLS[..4],
            (false, Way::Gateway) => &CELLS[..],
        };
        bench.total = runs.len() * (cells.len() + 1);
        let folder = bench.results.with_file_name(format!("results-{}", self.name()));
        // What an earlier run left must not count.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let direct = self.direct(&bench, &runs, &folder)?;
        let mut tried = Vec::new();
        for some in cells.chunks(AT_ONCE) {
            let outcomes = thread::scope(|scope| {
                let (bench, runs, folder) = (&bench, &runs, &folder);
                let threads = some.iter().map(|&cell| scope.spawn(move || self.cell(bench, runs, folder, cell)));
                let threads: Vec<_> = threads.collect();
                threads.into_iter().map(|t| t.join().expect("a thread does not panic")).collect::<Result<Vec<_>, _>>()
            })?;
            tried.extend(some.iter().copied().zip(outcomes));
        }
        let table = Table { name: self.name(), runs: &runs, direct: &direct, tried: &tried };
        println!("{}\nresults: {}", table.render(), folder.display());
        Ok(table.counts())
    }

    /// What passes directly.
    fn direct(&self, bench: &Bench, runs: &[&Run], folder: &Path) -> Result<Outcomes, Failure> {
        let before = |run: &&Run| {
            let text = checks(&run.folder(&bench.results))?;
            Some(judge(Ok(ExitStatus::default()), "", Some(&text)))
        };
        if let (true, Some(outcomes)) = (self.quick, runs.iter().map(before).collect()) {
            return Ok(outcomes);
        }
        let results = folder.join("direct");
        let outcomes = bench.servers(runs, &results, || bench.serve(&[], &folder.join("direct.log")))?;
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    /// What passes with this server behind.
    fn cell(&self, bench: &Bench, runs: &[&Run], folder: &Path, cell: Cell) -> Result<Outcomes, Failure> {
        let name = format!("{}-{}", cell.0, cell.1.name());
        let results = folder.join(&name);
        let outcomes = bench.servers(runs, &results, || self.start(bench, folder, &name, cell))?;
        Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
    }

    /// Starts the server of a cell, and what stands before it.
    fn start(&self, bench: &Bench, folder: &Path, name: &str, (revision, transport): Cell) -> Result<Subject, Failure> {
        let log = |part: &str| folder.join(format!("{name}-{part}.log"));
        let options = ["--revision", revision];
        let (upstream, mut groups) = match transport {
            Transport::Stdio => {
                let program = bench.programs.join("conformance-server").to_string_lossy().into_owned();
                let words = ["--stdio"].into_iter().chain(options).map(str::to_owned);
                (Upstream::Command(std::iter::once(program).chain(words).collect()), Vec::new())
            }
            Transport::Http | Transport::Http2 => {
                let server = bench.serve(&options, &log("server"))?;
                let is_http2 = transport == Transport::Http2;
                let upstream =
                    if is_http2 { Upstream::UrlInHttp2(server.url, None) } else { Upstream::Url(server.url) };
                (upstream, server.groups)
            }
        };
        let couplet = bench.programs.join("couplet");
        let (group, port) = match self.way {
            Way::Gateway => {
                // The suite adds and removes tools while it runs.
                let config = gateway::configure(
                    &folder.join(format!("{name}-config")),
                    &[("suite", upstream)],
                    Names::Bare,
                    Pins::Off,
                )?;
                serve(|port| gateway::serve(&couplet, &config, port), &log("gateway"))?
            }
            Way::Run => serve(|port| run_command(&couplet, &upstream, port, folder.join("state")), &log("run"))?,
        };
        groups.push(group);
        Ok(Subject { url: format!("http://localhost:{port}/mcp"), groups })
    }
}

/// `couplet run` on a port.
fn run_command(couplet: &Path, upstream: &Upstream, port: &str, state: PathBuf) -> std::process::Command {
    let target = match upstream {
        Upstream::Command(words) => words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        Upstream::Url(url) | Upstream::UrlIn(url, _) | Upstream::UrlInHttp2(url, _) => url.clone(),
    };
    let mut run = command(&couplet.to_string_lossy());
    run.args(["run", &target, "--http", port]).env("XDG_STATE_HOME", state);
    run
}

/// What came of all cells.
struct Table<'a> {
    name: &'a str,
    runs: &'a [&'a Run],
    direct: &'a [Outcome],
    tried: &'a [(Cell, Outcomes)],
}

/// How a run through compares with the same run directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Same,
    /// No server of this revision can pass it.
    Excused(&'static str),
    Lost,
}

fn verdict(upstream: Cell, run: &Run, direct: &Outcome, through: &Outcome) -> Verdict {
    if through.failed() == 0 && through.passed >= direct.passed {
        return Verdict::Same;
    }
    let excuse = EXCUSED.iter().find(|excuse| excuse.covers(upstream, &run.scenario, direct, through));
    excuse.map_or(Verdict::Lost, |excuse| Verdict::Excused(excuse.why))
}

impl Table<'_> {
    fn each(&self) -> impl Iterator<Item = (Cell, &Run, &Outcome, &Outcome, Verdict)> {
        self.tried.iter().flat_map(move |(cell, outcomes)| {
            let both = self.direct.iter().zip(outcomes);
            self.runs.iter().zip(both).map(move |(run, (direct, through))| {
                (*cell, *run, direct, through, verdict(*cell, run, direct, through))
            })
        })
    }

    /// How many runs are as they are directly, and how many are lost.
    fn counts(&self) -> (usize, usize) {
        let count = |wanted: Verdict| self.each().filter(|(.., verdict)| *verdict == wanted).count();
        (count(Verdict::Same), count(Verdict::Lost))
    }

    /// What was lost, and a line for each revision in front of each server behind.
    fn render(&self) -> String {
        let mut lines = Vec::new();
        for (cell, run, direct, through, verdict) in self.each() {
            if verdict == Verdict::Lost {
                let behind = format!("{} {}", cell.0, cell.1.name());
                let counts = format!("{} of {} passed", through.passed, direct.passed);
                lines.push(format!("{} -> {behind:<18}{:<50}{counts}", run.revision, run.scenario));
                lines.extend(through.bad.iter().chain(&through.broken).map(|why| format!("    {why}")));
            }
        }
        lines.push(format!("\nthrough {}: client -> server", self.name));
        lines.push(format!("{:<34}{:>6}{:>8}{:>8}{:>6}{:>9}", "", "runs", "checks", "direct", "lost", "excused"));
        let mut fronts: Vec<&str> = self.runs.iter().map(|run| run.revision.as_str()).collect();
        fronts.dedup();
        for (cell, _) in self.tried {
            for front in &fronts {
                lines.push(self.row(*cell, front));
            }
        }
        lines.extend(EXCUSED.iter().map(ToString::to_string));
        lines.join("\n")
    }

    fn row(&self, cell: Cell, front: &str) -> String {
        let (mut runs, mut checks, mut direct, mut lost, mut excused) = (0, 0, 0, 0, 0);
        for (_, _, without, through, verdict) in self.each().filter(|(c, run, ..)| *c == cell && run.revision == front)
        {
            runs += 1;
            checks += through.passed;
            direct += without.passed;
            lost += usize::from(verdict == Verdict::Lost);
            excused += usize::from(matches!(verdict, Verdict::Excused(_)));
        }
        let name = format!("{front} -> {} {}", cell.0, cell.1.name());
        format!("{name:<34}{runs:>6}{checks:>8}{direct:>8}{lost:>6}{excused:>9}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_directly_has_to_pass_through() {
        let outcome = |passed, bad: usize| Outcome { passed, bad: vec![String::new(); bad], ..Outcome::default() };
        let run = Run { role: Role::Server, revision: MODERN.to_owned(), scenario: "ping".to_owned(), forced: false };
        for (direct, through, expected) in [
            (outcome(2, 0), outcome(2, 0), Verdict::Same),
            (outcome(2, 0), outcome(1, 0), Verdict::Lost),
            (outcome(2, 0), outcome(2, 1), Verdict::Lost),
            (outcome(2, 0), Outcome::broken("it ended".to_owned()), Verdict::Lost),
        ] {
            let same = expected == Verdict::Same;
            assert_eq!(verdict((MODERN, Transport::Http), &run, &direct, &through), expected, "{through:?}");
            let (tried, runs) = ([((MODERN, Transport::Http), vec![through])], [&run]);
            let table = Table { name: "gateway", runs: &runs, direct: &[direct], tried: &tried };
            assert_eq!(table.counts(), if same { (1, 0) } else { (0, 1) });
            assert!(table.render().contains("2026-07-28 -> 2026-07-28 http"));
        }
    }
}
