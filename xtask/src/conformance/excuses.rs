//! The checks that cannot pass with some servers behind a gateway, each with its reason.

use std::fmt;

use super::{
    outcome::Outcome,
    through::{CELLS, Cell, LEGACY, LEGACY_CELLS, Transport},
};

/// Checks of one scenario that cannot pass. Anything else that fails in it is lost.
pub(super) struct Excuse {
    /// The servers behind.
    cells: &'static [Cell],
    scenario: &'static str,
    /// The checks that may fail.
    checks: &'static [&'static str],
    /// How many checks may be missing among those that passed: also those that come after one that failed.
    fewer: usize,
    pub(super) why: &'static str,
}

const LISTS: &[&str] = &[
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
];

pub(super) const EXCUSED: &[Excuse] = &[
    Excuse {
        cells: &CELLS,
        scenario: "server-sse-polling",
        checks: &[],
        fewer: 3,
        why: "the tool ends the stream between its server and the gateway",
    },
    Excuse {
        cells: &LEGACY_CELLS,
        scenario: "tasks-mrtr-composition",
        checks: &["sep-2663-mrtr-synchronous-before-task-creation"],
        fewer: 1,
        why: "a task of this revision begins before its tool requires input",
    },
    Excuse {
        cells: &LEGACY_CELLS,
        scenario: "input-required-result-basic-elicitation",
        checks: &["sep-2322-elicitation-incomplete"],
        fewer: 2,
        why: "a request of this revision has no key to be expected",
    },
    Excuse {
        cells: &LEGACY_CELLS,
        scenario: "input-required-result-ignore-extra-params",
        checks: &["sep-2322-ignore-unexpected-params"],
        fewer: 1,
        why: "a request of this revision has no key to be expected",
    },
    Excuse {
        cells: &[(LEGACY, Transport::Stdio)],
        scenario: "input-required-result-capability-check",
        checks: &["sep-2322-respect-client-capabilities"],
        fewer: 1,
        why: "callers with other capabilities share a process, whose session declares all of them",
    },
    Excuse {
        cells: &LEGACY_CELLS,
        scenario: "server-stateless",
        checks: LISTS,
        fewer: 2,
        why: "a list that changes in one session of a server may not change in the others",
    },
];

impl Excuse {
    /// Whether nothing else failed in a run.
    pub(super) fn covers(&self, behind: Cell, scenario: &str, direct: &Outcome, through: &Outcome) -> bool {
        self.cells.contains(&behind)
            && self.scenario == scenario
            && through.broken.is_none()
            && through.bad_ids().all(|id| self.checks.contains(&id))
            && through.passed + self.fewer >= direct.passed
    }
}

impl fmt::Display for Excuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behind: Vec<_> =
            self.cells.iter().map(|(revision, transport)| format!("{revision} {}", transport.name())).collect();
        let checks = if self.checks.is_empty() { "checks that are not made" } else { &self.checks.join(", ") };
        write!(f, "excused with {} behind: {}, {checks}: {}", behind.join(", "), self.scenario, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excuse_is_for_its_checks_alone() {
        let outcome = |passed, bad: &[&str]| Outcome {
            passed,
            bad: bad.iter().map(|id| format!("WARNING {id}: why")).collect(),
            ..Outcome::default()
        };
        let stateless = EXCUSED.iter().find(|excuse| excuse.scenario == "server-stateless").unwrap();
        let (legacy, direct) = ((LEGACY, Transport::Http), outcome(30, &[]));
        let covers = |behind, scenario: &str, through: &Outcome| stateless.covers(behind, scenario, &direct, through);
        assert!(covers(legacy, "server-stateless", &outcome(28, LISTS)));
        assert!(covers(legacy, "server-stateless", &outcome(29, &LISTS[..1])));
        for (why, through) in [
            ("another check", outcome(28, &[LISTS[0], "sep-1"])),
            ("fewer checks", outcome(27, LISTS)),
            ("no result", Outcome { broken: Some("it ended".to_owned()), ..outcome(30, &[]) }),
        ] {
            assert!(!covers(legacy, "server-stateless", &through), "{why}");
        }
        assert!(!covers(legacy, "server-stateless-more", &outcome(28, LISTS)));
        assert!(!covers(CELLS[1], "server-stateless", &outcome(28, LISTS)), "a server of the other era");
    }
}
