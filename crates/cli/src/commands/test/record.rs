//! The outcome of a run.

use std::{path::PathBuf, time::Duration};

use super::mismatch::Mismatch;
use crate::exit::{Exit, Failure};

/// A collection that ran in one revision.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) file: PathBuf,
    /// The revision: the one that was requested, or else the one that was negotiated.
    pub(super) revision: Option<String>,
    pub(super) cases: Vec<Case>,
    /// Why the collection did not run, or did not run to its end.
    pub(super) failure: Option<Failure>,
    /// Why the collection was skipped.
    pub(super) skipped: Option<String>,
}

/// A call that ran.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) time: Duration,
    pub(super) outcome: CaseOutcome,
}

#[derive(Debug)]
pub(super) enum CaseOutcome {
    Passed {
        /// Whether the snapshot was written.
        updated: bool,
    },
    Failed(Vec<Mismatch>),
    Skipped(String),
}

/// Counts of all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
    /// Collections that did not run.
    pub(super) errors: usize,
    pub(super) updated: usize,
}

impl Totals {
    pub(super) fn of<'a>(suites: impl IntoIterator<Item = &'a Suite>) -> Self {
        let mut totals = Self::default();
        for suite in suites {
            totals.errors += usize::from(suite.failure.is_some());
            for case in &suite.cases {
                match case.outcome {
                    CaseOutcome::Passed { updated } => {
                        totals.passed += 1;
                        totals.updated += usize::from(updated);
                    }
                    CaseOutcome::Failed(_) => totals.failed += 1,
                    CaseOutcome::Skipped(_) => totals.skipped += 1,
                }
            }
        }
        totals
    }
}

/// Returns the exit code: 1 if an expectation failed, else that of the first collection that did not run.
pub(super) fn exit(suites: &[Suite]) -> Option<Exit> {
    match Totals::of(suites).failed {
        0 => suites.iter().find_map(|suite| suite.failure.as_ref()).map(|failure| failure.exit),
        _ => Some(Exit::Refused),
    }
}
