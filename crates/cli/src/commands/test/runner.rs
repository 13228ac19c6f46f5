//! Runs a collection on one connection.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use couplet::ProtocolVersion;

use super::{
    collection::{Call, Collection},
    mismatch::Mismatch,
    record::{Case, CaseOutcome, Suite},
    report::TestReport,
    send::{Response, send},
    snapshot::Snapshots,
    values::Values,
};
use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
    questions::{Plan, Planned, Reply, Script},
    target::{ConnectionArgs, Known, Opening, Place, Session, Target, Timeout, TlsArgs},
};

/// The default timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The settings of all runs.
pub(super) struct Runner<'a> {
    /// The target of the command line, in place of that of the file.
    pub(super) target: Option<&'a str>,
    pub(super) tls: &'a TlsArgs,
    pub(super) filter: Option<&'a str>,
    pub(super) update: bool,
    pub(super) report: &'a TestReport<'a>,
    /// The output of the connection: log messages and notes, with `--verbose`.
    pub(super) notes: &'a Arc<Output>,
}

/// One of the runs of a collection.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    pub(super) revision: Option<ProtocolVersion>,
    pub(super) is_first: bool,
    /// Whether a server without the revision is skipped.
    pub(super) optional: bool,
}

impl Runner<'_> {
    /// Runs a collection.
    ///
    /// # Errors
    /// If a signal arrives, or a file cannot be written.
    pub(super) async fn run(&self, collection: &Collection, turn: Turn) -> Result<Suite, Failure> {
        let mut suite = Suite {
            file: collection.file.clone(),
            revision: turn.revision.map(|revision| revision.as_str().to_owned()),
            cases: Vec::new(),
            failure: None,
            skipped: None,
        };
        let outcome = match self.opening(collection, turn.revision) {
            Ok((opening, plan)) => {
                let work = async |session: &Session| self.calls(collection, session, &plan, turn, &mut suite).await;
                Session::with(opening, self.notes, work).await
            }
            Err(failure) => Err(failure),
        };
        match outcome {
            Ok(()) => {}
            Err(failure) if failure.exit.is_signal() || failure.exit == Exit::File => return Err(failure),
            Err(failure) if turn.optional && failure.exit == Exit::Protocol && suite.cases.is_empty() => {
                suite.skipped = Some(text::first_line(&failure.message));
                self.report.skipped(&suite)?;
            }
            Err(failure) => {
                suite.failure = Some(failure);
                self.report.failure(&suite)?;
            }
        }
        Ok(suite)
    }

    fn opening(
        &self,
        collection: &Collection,
        revision: Option<ProtocolVersion>,
    ) -> Result<(Opening, Arc<Plan>), Failure> {
        let invalid = |what: String| Failure::new(Exit::Usage, what);
        let values = Values::default();
        let fill = |pairs: &[(String, String)]| {
            let pair = |(name, value): &(String, String)| Ok((name.clone(), values.fill_string(value)?));
            pairs.iter().map(pair).collect::<Result<Vec<_>, String>>().map_err(invalid)
        };
        let target = self.target.or(collection.target.as_deref()).ok_or_else(|| {
            invalid(format!("`{}` has no `target`", collection.file.display())).hint("add one, or use --target TARGET")
        })?;
        let target = values.fill_string(target).map_err(invalid)?;
        let longest = collection.calls.iter().filter_map(|call| call.timeout).max();
        let timeout = collection.timeout.unwrap_or(TIMEOUT).max(longest.unwrap_or_default());
        let mut connection = ConnectionArgs {
            revision,
            timeout: Timeout(Some(timeout)),
            root: collection.roots.clone(),
            ..ConnectionArgs::default()
        };
        let is_url = matches!(Target::find(&target, &ConnectionArgs::default(), Known::here)?.place, Place::Url { .. });
        let (unused, kind) = match is_url {
            true => (
                !collection.env.is_empty() || collection.cwd.is_some(),
                "`env` and `cwd` need a command, and the target is a URL",
            ),
            false => (!collection.headers.is_empty(), "`headers` need a URL, and the target is a command"),
        };
        // The settings of the file need not fit a target of the command line.
        if unused && self.target.is_none() {
            return Err(invalid(format!("{}: {kind}", shown(&collection.file))));
        }
        if is_url {
            (connection.header, connection.tls) = (fill(&collection.headers)?, self.tls.clone());
        } else {
            (connection.env, connection.cwd) = (fill(&collection.env)?, collection.cwd.clone());
        }
        let plan = Arc::new(Plan::default());
        let script = Script { plan: Some(plan.clone()), ..Script::default() };
        let target = Target::find(&target, &connection, Known::here)?;
        Ok((Opening { script, ..Opening::to(target, connection) }, plan))
    }

    async fn calls(
        &self,
        collection: &Collection,
        session: &Session,
        plan: &Plan,
        turn: Turn,
        suite: &mut Suite,
    ) -> Result<(), Failure> {
        let revision = session.client.server().version;
        suite.revision = Some(revision.as_str().to_owned());
        self.report.head(suite, session)?;
        let snapshots = Snapshots::new(&collection.file, revision.as_str(), turn.is_first, self.update);
        let (mut values, mut lost) = (Values::default(), false);
        for call in selected(&collection.calls, self.filter) {
            let skipped = match () {
                () if lost => Some("the connection was lost".to_owned()),
                () if !call.revisions.is_empty() && !call.revisions.contains(&revision) => {
                    Some(format!("not for {revision}"))
                }
                () => None,
            };
            let started = Instant::now();
            let (outcome, is_lost) = match skipped {
                Some(why) => (CaseOutcome::Skipped(why), false),
                None => {
                    let limit = call.timeout.or(collection.timeout).unwrap_or(TIMEOUT);
                    one(session, call, limit, plan, &mut values, &snapshots).await?
                }
            };
            lost |= is_lost;
            let case = Case { name: call.name.clone(), time: started.elapsed(), outcome };
            self.report.case(suite, &case)?;
            suite.cases.push(case);
        }
        Ok(())
    }
}

/// Runs a call. Returns whether the connection was lost.
async fn one(
    session: &Session,
    call: &Call,
    limit: Duration,
    plan: &Plan,
    values: &mut Values,
    snapshots: &Snapshots,
) -> Result<(CaseOutcome, bool), Failure> {
    match filled(&call.answers, values) {
        Ok(answers) => plan.start(answers),
        Err(missing) => return Ok((CaseOutcome::Failed(vec![Mismatch::new("answers", missing)]), false)),
    }
    let started = Instant::now();
    let sent = tokio::time::timeout(limit, send(session, &call.action, values)).await;
    let time = started.elapsed();
    let (response, lost) = match sent {
        Ok(Ok(response)) => (response, false),
        Ok(Err(failure)) => (no_response(&failure), failure.exit == Exit::Unreachable),
        Err(_) => {
            let message = format!("no response within {}", text::time(limit));
            (Response::Failed { message, details: Vec::new() }, false)
        }
    };
    let problems = plan.finish();
    let mut wrong: Vec<Mismatch> = problems.into_iter().map(|what| Mismatch::new("answers", what)).collect();
    // A request without an answer is the reason of whatever else is wrong.
    if wrong.is_empty() {
        wrong = call.expect.check(&response, time, values);
    }
    if wrong.is_empty() {
        for save in &call.save {
            match save.value(response.document()) {
                Ok(value) => values.set(&save.name, value),
                Err(what) => wrong.push(Mismatch::new(&format!("`{}`", save.name), what)),
            }
        }
    }
    let mut updated = false;
    if let (true, Some(rule)) = (wrong.is_empty(), &call.expect.snapshot) {
        let (mismatch, written) = snapshots.check(&call.name, rule, response.document())?;
        wrong.extend(mismatch);
        updated = written;
    }
    let outcome = if wrong.is_empty() { CaseOutcome::Passed { updated } } else { CaseOutcome::Failed(wrong) };
    Ok((outcome, lost))
}

fn no_response(failure: &Failure) -> Response {
    let hint = failure.hint.iter().map(|hint| format!("hint: {hint}"));
    let details = failure.details.iter().cloned().chain(hint).collect();
    Response::Failed { message: failure.message.clone(), details }
}

/// Fills saved values into answers.
fn filled(answers: &[Planned], values: &Values) -> Result<Vec<Planned>, String> {
    let one = |Planned { reply, message }: &Planned| {
        let reply = match reply {
            Reply::Form(content) => Reply::Form(values.fill(content)?),
            Reply::Sample(words) => Reply::Sample(values.fill_string(words)?),
            Reply::Action(action) => Reply::Action(*action),
        };
        Ok(Planned { reply, message: message.clone() })
    };
    answers.iter().map(one).collect()
}

/// Returns the calls whose names contain the filter, and the calls that save the values that those use.
pub(super) fn selected<'a>(calls: &'a [Call], filter: Option<&str>) -> Vec<&'a Call> {
    let Some(filter) = filter else { return calls.iter().collect() };
    let (mut needed, mut selected) = (Vec::new(), Vec::new());
    for call in calls.iter().rev() {
        if call.name.contains(filter) || call.save.iter().any(|save| needed.contains(&&save.name)) {
            needed.extend(&call.uses);
            selected.push(call);
        }
    }
    selected.reverse();
    selected
}

/// Returns the path of a file as it was given.
pub(super) fn shown(file: &Path) -> String {
    text::line(&file.display().to_string())
}
