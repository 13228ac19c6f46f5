//! Tasks, where the caller and the server have different kinds of them.
//!
//! | file | subject |
//! |---|---|
//! | `to_extension` | a caller of 2025-11-25, and a server with the extension |
//! | `to_core` | a caller with the extension, and a server of 2025-11-25 |
//! | `list` | `tasks/list` |
//! | `owner` | whose task it is |
//! | `known` | the tasks that were begun here: their owners, connections and input requests |
//! | `held` | results of calls that the server did not run as tasks |
//! | `notify` | notifications and subscriptions |
//! | `forms` | how tasks are declared to callers |
//! | `wire` | one kind of task in the other's form |
//!
//! A request is converted into requests of the other kind, and the server's task ids stay as they are. So any replica can
//! answer requests about a task, with two exceptions: results that are held, and input requests of a server with sessions,
//! which are at the replica that has the connection.
//!
//! Where both sides have the same kind, requests and results pass verbatim, and only the owner of a task is noted.

mod forms;
mod held;
mod known;
mod list;
pub(crate) mod notify;
mod owner;
mod to_core;
mod to_extension;
mod wire;

use couplet_client::{Client, Outcome};
use couplet_core::{Call, Error, ErrorKind, Event, JsonText, Reply, message::Params};
use couplet_types::{InputRequests, RawJson, RequestMethod, RpcError, TASKS_EXTENSION, TaskSupport, code};

pub use forms::TaskForms;
pub(crate) use known::Tasks;
pub(crate) use owner::TaskOwner;
pub(crate) use to_core::begun;

use crate::{call::Passing, deadline::Deadline, upstream::Upstream};

/// The `resultType` of a call that became a task.
pub(crate) const KIND: &str = "task";

/// The member of a subscription filter that selects tasks.
const FILTER: &str = "taskIds";

/// What becomes of tasks in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Both sides have the same kind, or there is none.
    #[default]
    Same,
    /// The extension is declared for a caller that has requested a task.
    Extension,
    /// A task is requested for a caller that has declared the extension.
    Core,
}

/// Whether a call may have to do with tasks: few calls do, and the others are not looked at any further.
pub(crate) fn may_concern(call: &Call) -> bool {
    if call.known() != Some(RequestMethod::CallTool) {
        return is_about_task(&call.method);
    }
    let has_extension = || !call.revision.has_sessions() && call.peer.extension(TASKS_EXTENSION).is_some();
    call.params.has("task") || !call.revision.has_core_tasks() && has_extension()
}

fn is_about_task(method: &str) -> bool {
    method.starts_with("tasks/")
}

/// Runs a call that may have to do with tasks.
pub(crate) async fn run(passing: &Passing<'_>) -> Result<Reply, Error> {
    let call = passing.call;
    if !is_about_task(&call.method) && !call.revision.has_core_tasks() && call.params.has("task") {
        // In the caller's revision that means nothing, and the server's may have it.
        let call = call.with_params(call.params.without("task").map_err(Error::other)?);
        return Box::pin(Passing { call: &call, ..*passing }.run()).await;
    }
    let lead = passing.pool.lead()?;
    if is_about_task(&call.method) {
        if call.known() == Some(RequestMethod::ListTasks) {
            return list::run(passing, &lead).await;
        }
        if !call.revision.has_sessions() && call.peer.extension(TASKS_EXTENSION).is_none() {
            return Err(call.revision.missing_extension(TASKS_EXTENSION).into());
        }
        let id = task_id(call)?;
        if !passing.pool.tasks.may_use(call.principal(), &id) {
            return Err(unknown().into());
        }
    }
    match mode(call, &lead) {
        Mode::Same => inspected(passing, passing.run_as(Mode::Same).await?).await,
        Mode::Extension => to_extension::run(passing).await,
        Mode::Core => to_core::run(passing, &lead).await,
    }
}

/// Whether a server may have refused a call because it runs only as a task, and the caller did not declare the extension.
pub(crate) fn may_be_required(call: &Call, error: &Error) -> bool {
    let is_refused = error.rpc().is_some_and(|error| error.code == code::METHOD_NOT_FOUND);
    is_refused && call.known() == Some(RequestMethod::CallTool) && !call.revision.has_sessions()
}

/// The error of such a call: it names the extension.
pub(crate) async fn refusal(passing: &Passing<'_>, error: Error) -> Error {
    let Ok(lead) = passing.pool.lead() else { return error };
    if mode(passing.call, &lead) == Mode::Core
        && let Some(name) = passing.call.tool_name()
        && let Ok(Some(TaskSupport::Required)) = passing.pool.tasks.supports.of(&lead, &name).await
    {
        return passing.call.revision.missing_extension(TASKS_EXTENSION).into();
    }
    error
}

fn mode(call: &Call, lead: &Upstream) -> Mode {
    let (caller, server) = (call.revision, lead.client.revision());
    if caller.has_core_tasks() && TaskForms::are_extension(lead.capabilities(), server) {
        Mode::Extension
    } else if !caller.has_sessions() && TaskForms::are_core(lead.capabilities(), server) {
        Mode::Core
    } else {
        Mode::Same
    }
}

/// A task of the extension, whose input requests pass the hooks as all others do.
async fn inspected(passing: &Passing<'_>, reply: Reply) -> Result<Reply, Error> {
    let (Some(hooks), false, Reply::Complete(done)) = (passing.hooks, passing.call.revision.has_sessions(), &reply)
    else {
        return Ok(reply);
    };
    let members = Params::from_text(done.members()).map_err(broken)?;
    let Some(requests) = members.read_opt::<InputRequests>("inputRequests").map_err(|e| broken(e.message))? else {
        return Ok(reply);
    };
    let mut inspected = Vec::with_capacity(requests.iter().count());
    for (key, request) in requests {
        inspected.push((key, hooks.input_request(passing.call, request).await?));
    }
    let requests = RawJson::new(&inspected.into_iter().collect::<InputRequests>()).map_err(broken)?;
    let members = members.with("inputRequests", &JsonText::from(&requests)).map_err(broken)?;
    match reply {
        Reply::Complete(done) => Ok(Reply::Complete(done.with_members(members.text()))),
        other => Ok(other),
    }
}

/// The task that a request is about.
fn task_id(call: &Call) -> Result<String, RpcError> {
    call.params.read("taskId")
}

/// The error for a task that does not exist, or that belongs to another principal.
fn unknown() -> RpcError {
    RpcError::invalid_params("there is no such task")
}

fn ended(id: &str) -> RpcError {
    RpcError::invalid_params(format!("task `{id}` has already ended and cannot be cancelled"))
}

/// The error for a message of the server that is not what its revision says.
fn broken(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Protocol, format!("the server's task is invalid: {what}"))
}

impl Passing<'_> {
    /// Sends a request about a task, and waits for its result.
    async fn ask_server(&self, client: &Client, method: &str, params: &Params) -> Result<JsonText, Error> {
        let mut exchange = self.send_as(client, method, params, &self.extras(Mode::Extension))?;
        let mut deadline = Deadline::new(self.pool.options.calls);
        let answer = loop {
            let next = async {
                match exchange.next().await {
                    Event::Notification { .. } => Ok(None),
                    Event::Answer(answer) => answer.map(Some).map_err(Error::from),
                    Event::Failed(error) => Err(error),
                    Event::Ended => Err(broken(format!("`{method}` ended without a response"))),
                }
            };
            if let Some(answer) = deadline.wait(method, next).await? {
                break answer;
            }
        };
        match client.outcome_of(answer, None, |_| false)? {
            Outcome::Complete(text) => Ok(text),
            _ => Err(broken(format!("the result of `{method}` is of another kind"))),
        }
    }
}
