//! What a user does on the page, and what must be seen then, with any server.

mod asking;
mod compare;
mod lists;
mod logs;
mod panels;
mod recording;
mod task;
mod tools;
mod view;

use super::stage::{Outcome, Stage};
use crate::Failure;

pub(super) use panels::PANELS;

/// A name, and the steps.
pub(super) type Scenario = (&'static str, fn(&Stage) -> Result<Outcome, Failure>);

pub(super) const SCENARIOS: &[Scenario] = &[
    ("a tool is called, and its messages are in the timeline", tools::calls),
    ("a form is checked before it is sent", tools::form),
    ("a nested form", tools::nested),
    ("progress is shown, and the call is cancelled", tools::cancels),
    ("elicitation in a session", asking::elicits),
    ("elicitation without a session", asking::elicits_stateless),
    ("elicitation of a visit to a URL", asking::elicits_url),
    ("sampling by hand and by a canned answer", asking::samples),
    ("a prompt is completed and previewed", lists::prompts),
    ("a resource and a template are read", lists::resources),
    ("a subscription shows what changes", lists::subscribes),
    ("a task and its life", task::runs),
    ("a task in a session", task::runs_in_session),
    ("the view of an app in its sandbox", view::shows),
    ("the level of log messages", logs::level),
    ("each panel opens", panels::all),
    ("the state is the same after a reload", panels::reloads),
    ("findings of lint lead to their places", panels::lints),
    ("a load is measured", panels::loads),
    ("five revisions are compared", compare::five),
    ("a recording is opened and stepped through", recording::steps),
];
