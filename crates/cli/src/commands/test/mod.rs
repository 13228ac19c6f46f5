//! `couplet test`: runs collections of calls, and checks their results.
//!
//! * `collection` is a file: a target and calls. `node` parses TOML with line numbers; `answers` and `expect` are tables of
//!   a call; `matcher` compares values; `values` are saved by one call for later ones.
//! * `runner` runs a collection on one connection; `send` sends a call; `snapshot` compares results with files.
//! * `record` has the outcome; `report` and `junit` show it; `mismatch` and `diff` explain what differs.

mod answers;
mod collection;
mod diff;
mod expect;
mod junit;
mod matcher;
mod mismatch;
mod node;
mod record;
mod report;
mod runner;
mod send;
mod snapshot;
mod values;

use std::{path::PathBuf, sync::Arc};

use couplet::ProtocolVersion;

use self::{
    collection::{Collection, Revisions},
    record::{Suite, Totals, exit},
    report::TestReport,
    runner::{Runner, Turn, selected},
};
use crate::{exit::Failure, output::Output, target::TlsArgs};

/// The arguments of `couplet test`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Files with calls and expected results (TOML)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Server to test, in place of the target in the files
    #[arg(long)]
    target: Option<String>,
    /// Revision to use: a date, or `all` that the server supports
    #[arg(long, value_name = "DATE", value_parser = revisions)]
    revision: Option<Revisions>,
    /// Run only calls whose name contains TEXT, and the calls that they need
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Write the snapshots instead of comparing with them
    #[arg(long)]
    update: bool,
    /// Write a report for CI systems, in the JUnit format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    tls: TlsArgs,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    // A mistake in the last file is reported before the first one runs.
    let collections = args.files.iter().map(|file| Collection::load(file)).collect::<Result<Vec<_>, _>>()?;
    if let Some(filter) = &args.filter
        && collections.iter().all(|collection| selected(&collection.calls, Some(filter)).is_empty())
    {
        return Err(Failure::usage(format!("no call has `{filter}` in its name")));
    }
    // Notes about connections are shown on request: a test has no user to prompt.
    let notes = if output.verbose { output.clone() } else { Arc::new(Output::silent()) };
    let report = TestReport(output);
    let runner = Runner {
        target: args.target.as_deref(),
        tls: &args.tls,
        filter: args.filter.as_deref(),
        update: args.update,
        report: &report,
        notes: &notes,
    };
    let mut suites = Vec::new();
    for collection in &collections {
        if selected(&collection.calls, runner.filter).is_empty() {
            continue;
        }
        for turn in turns(args.revision.as_ref().or(collection.revisions.as_ref())) {
            suites.push(runner.run(collection, turn).await?);
        }
    }
    report.totals(Totals::of(&suites))?;
    if let Some(file) = &args.junit {
        junit::write(file, &suites)?;
    }
    outcome(&suites)
}

/// Returns the runs of a collection, the newest revision first.
fn turns(revisions: Option<&Revisions>) -> Vec<Turn> {
    let (list, optional): (Vec<Option<ProtocolVersion>>, bool) = match revisions {
        None => (vec![None], false),
        Some(Revisions::These(list)) => (list.iter().copied().map(Some).collect(), false),
        Some(Revisions::All) => (ProtocolVersion::ALL.iter().rev().copied().map(Some).collect(), true),
    };
    list.into_iter().enumerate().map(|(index, revision)| Turn { revision, is_first: index == 0, optional }).collect()
}

fn outcome(suites: &[Suite]) -> Result<(), Failure> {
    if let Some(exit) = exit(suites) {
        return Err(Failure::silent(exit));
    }
    match suites.iter().all(|suite| suite.skipped.is_some()) {
        true => Err(Failure::new(crate::exit::Exit::Protocol, "the server supports none of the revisions")),
        false => Ok(()),
    }
}

fn revisions(text: &str) -> Result<Revisions, String> {
    if text == "all" {
        return Ok(Revisions::All);
    }
    let known: Vec<&str> = ProtocolVersion::ALL.iter().map(|revision| revision.as_str()).collect();
    let revision = text.parse().map_err(|_| format!("expected `all` or one of {}", known.join(", ")))?;
    Ok(Revisions::These(vec![revision]))
}
