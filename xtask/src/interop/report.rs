//! What came of the runs, and how it is told.

use std::fmt;

use super::{
    peer::{Missing, Peer},
    steps::{DELETE, Era, Plan},
};
use crate::{Failure, skipped};

/// What is done with an authorization server.
pub(super) const LOGIN: &[&str] = &["login", "call", "refresh", "step-up", "bound", "machine", "opaque"];

/// The name of our own client and server.
pub(super) const OURS: &str = "couplet";

/// Which side is the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
    /// It makes tokens, for clients and servers of ours.
    Issuer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Stdio,
}

impl Transport {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
        }
    }
}

/// A run.
#[derive(Debug)]
pub(super) struct Row {
    peer: &'static Peer,
    role: Role,
    pub(super) transport: Transport,
    /// The revision that the client offers, or `auto`.
    pub(super) offer: &'static str,
    /// What the client does.
    pub(super) plan: Plan,
    outcome: Outcome,
}

impl Row {
    pub(super) fn new(peer: &'static Peer, role: Role, transport: Transport, offer: &'static str) -> Self {
        let mut row =
            Self { peer, role, transport, offer, plan: Plan::default(), outcome: Outcome::failed("it did not run") };
        let revision = row.expected();
        let era = Era::of(revision);
        let plan = match role {
            Role::Client => Plan::new((peer.name, era), (OURS, era), transport),
            Role::Server => Plan::new((OURS, era), (peer.name, era), transport).without_events(peer.name),
            Role::Issuer => Plan { steps: LOGIN.to_vec(), ..Plan::default() },
        };
        row.plan = plan.in_revision(revision);
        row
    }

    pub(super) fn ended(self, outcome: Outcome) -> Self {
        Self { outcome, ..self }
    }

    /// Fails a run that had passed, if something else was wrong.
    pub(super) fn unless(self, seen: Result<(), Failure>) -> Self {
        match (&self.outcome, seen) {
            (Outcome::Passed { revision }, Err(why)) => {
                let (revision, steps) = (revision.clone(), self.plan.steps.iter().map(|s| (*s).to_owned()).collect());
                self.ended(Outcome::Failed { revision, steps, why })
            }
            _ => self,
        }
    }

    pub(super) const fn peer(&self) -> &'static Peer {
        self.peer
    }

    /// The revision that has to come of the offer.
    pub(super) fn expected(&self) -> &'static str {
        if self.offer == "auto" { self.peer.latest } else { self.offer }
    }

    pub(super) fn name(&self) -> String {
        [self.peer.name, self.role(), self.transport.name(), self.offer].join("-")
    }

    const fn role(&self) -> &'static str {
        match self.role {
            Role::Client => "client",
            Role::Server => "server",
            Role::Issuer => "issuer",
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed { revision: String },
    Failed { revision: String, steps: Vec<String>, why: Failure },
    Skipped { runs: usize, why: String },
}

impl Outcome {
    pub(super) fn failed(why: &str) -> Self {
        Self::Failed { revision: String::new(), steps: Vec::new(), why: why.to_owned() }
    }
}

/// What a client said: `revision <revision>`, and `ok <step>` for each step. All of it has to be there.
pub(super) fn judge(succeeded: Result<bool, Failure>, said: &str, expected: &str, wanted: &[&str]) -> Outcome {
    let after = |start: &'static str| said.lines().filter_map(move |line| line.trim_end().strip_prefix(start));
    let revision = after("revision ").next().unwrap_or_default().to_owned();
    let steps: Vec<String> = after("ok ").map(str::to_owned).collect();
    let why = match succeeded {
        Err(why) => why,
        Ok(false) => complaint(said),
        Ok(true) if revision != expected => format!("the revision is not {expected}"),
        Ok(true) if steps != wanted => "not all steps were done".to_owned(),
        Ok(true) => return Outcome::Passed { revision },
    };
    Outcome::Failed { revision, steps, why }
}

/// What a client said beside its report, which may be long.
pub(super) fn complaint(said: &str) -> String {
    let report = ["ok ", "revision ", "answered "];
    let is_report = |line: &&str| report.iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = said.lines().filter(|line| !is_report(line) && !line.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(12);
    lines[from..].join("\n    ")
}

pub(super) fn table(rows: &[Row]) -> String {
    let head =
        format!("\n{:<8}{:<22}{:<8}{:<7}{:<12}{:<12}        steps", "peer", "sdk", "role", "over", "offered", "agreed");
    std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>().join("\n")
}

/// Writes down which peers were skipped, for the summary of `cargo xtask ci`.
pub(super) fn list_skipped(rows: &[Row]) {
    for Row { peer, outcome, .. } in rows {
        if let Outcome::Skipped { runs, why } = outcome {
            skipped::add(&format!("interop {}", peer.name), &format!("{runs} runs: {why}"));
        }
    }
}

fn line(row: &Row) -> String {
    let Row { peer, transport, offer, outcome, .. } = row;
    let who = format!("{:<8}{:<22}{:<8}{:<7}{offer:<12}", peer.name, peer.sdk, row.role(), transport.name());
    match outcome {
        Outcome::Passed { revision } => {
            let delete = if row.plan.deletes { DELETE } else { "" };
            format!("{who}{revision:<12}ok      {} {delete}", row.plan.steps.join(" "))
        }
        Outcome::Failed { revision, steps, why } => {
            format!("{who}{revision:<12}FAILED  {}\n    {why}", steps.join(" "))
        }
        Outcome::Skipped { runs, why } => format!("{:<8}{:<22}skipped: {runs} runs: {why}", peer.name, peer.sdk),
    }
}

/// How many runs went how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Counts {
    pub(super) fn of(rows: &[Row]) -> Self {
        rows.iter().fold(Self::default(), |mut counts, row| {
            match &row.outcome {
                Outcome::Passed { .. } => counts.passed += 1,
                Outcome::Failed { .. } => counts.failed += 1,
                Outcome::Skipped { runs, .. } => counts.skipped += runs,
            }
            counts
        })
    }
}

impl Counts {
    /// One run that has a line of its own, which is printed.
    pub(super) fn told(name: &str, outcome: Result<(), Missing>) -> Self {
        let mut counts = Self::default();
        let outcome = match outcome {
            Ok(()) => {
                counts.passed += 1;
                "ok".to_owned()
            }
            Err(Missing::Skipped(why)) => {
                skipped::add(&format!("interop {name}"), &why);
                counts.skipped += 1;
                format!("skipped: {why}")
            }
            Err(Missing::Broken(why)) => {
                counts.failed += 1;
                format!("FAILED: {why}")
            }
        };
        println!("{name}: {outcome}");
        counts
    }
}

impl Counts {
    /// One run that says what it did, which is printed.
    pub(super) fn noted(name: &str, outcome: Result<String, Failure>) -> Self {
        match outcome {
            Ok(said) => {
                println!("ok      {name}: {said}");
                Self { passed: 1, ..Self::default() }
            }
            Err(why) => {
                println!("FAILED  {name}: {why}");
                Self { failed: 1, ..Self::default() }
            }
        }
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::peer::PEERS, *};

    #[test]
    fn a_run_passes_only_with_all_that_it_should_say() {
        const STEPS: &[&str] = &["tools", "call", "task"];
        let all = "revision 2026-07-28\nok tools\nok call\nok task\n";
        let passed = Outcome::Passed { revision: "2026-07-28".to_owned() };
        assert_eq!(judge(Ok(true), all, "2026-07-28", STEPS), passed);
        assert_eq!(judge(Ok(true), &format!("a warning\n{all}"), "2026-07-28", STEPS), passed);
        for (succeeded, said, expected, complaint) in [
            (Ok(true), all, "2025-11-25", "the revision is not 2025-11-25"),
            (Ok(true), &all.replace("ok call\n", "")[..], "2026-07-28", "not all steps were done"),
            (Ok(true), "", "2026-07-28", "the revision is not 2026-07-28"),
            (Ok(false), &format!("{all}it broke\n"), "2026-07-28", "it broke"),
            (Err("killed after 60 s".to_owned()), all, "2026-07-28", "killed after 60 s"),
        ] {
            let outcome = judge(succeeded, said, expected, STEPS);
            assert!(matches!(&outcome, Outcome::Failed { why, .. } if why == complaint), "{outcome:?}");
        }
    }

    #[test]
    fn runs_are_counted_and_skipped_ones_too() {
        let row = || Row::new(&PEERS[0], Role::Client, Transport::Http, "auto");
        let skipped = Outcome::Skipped { runs: 12, why: "there is no `python3`".to_owned() };
        let rows = [row(), row().ended(judge(Ok(true), "", "", &["tools"])), row().ended(skipped)];
        assert_eq!(Counts::of(&rows).to_string(), "0 passed, 2 failed, 12 skipped");
        assert_eq!(row().expected(), "2026-07-28");
    }
}
