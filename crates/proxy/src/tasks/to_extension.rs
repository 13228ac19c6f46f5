//! A caller of 2025-11-25, and a server with the extension.
//!
//! The caller requests a task; whether there is one is the server's decision, so a result that comes at once is held as a
//! task that has ended. Input that the task requires becomes a request to the caller, marked with its task, while the
//! caller waits in `tasks/result`; its answer is sent with `tasks/update`. An error in place of an answer cannot be sent:
//! `tasks/result` fails with it, and the task goes on waiting.
//!
//! A server may go on for a while after `tasks/cancel`. The caller is told that the task is cancelled all the same, unless
//! it has ended otherwise.

use std::{collections::BTreeMap, future::poll_fn, pin::Pin, sync::Arc, task::Poll, time::Duration};

use couplet_core::{BoxFuture, Call, Error, JsonText, Reply, ResultBody};
use couplet_types::{
    CreateTaskResult, DetailedTask, GetTaskParams, InputRequests, RequestMethod, RpcError, Task, TaskMetadata,
    TaskStatus, UpdateTaskParams, from_json,
};
use tokio::time::sleep;

use super::{Mode, broken, ended, held::HeldResults, known::Delivery, owner::TaskOwner, task_id, unknown, wire};
use crate::{call::Passing, upstream::Upstream};

/// The number of looks at a task that was cancelled, and the time between two of them.
const LOOKS: usize = 10;
const LOOK: Duration = Duration::from_millis(50);

/// The maximum number of input requests of a task, as far as one `tasks/result` delivers them.
const REQUESTS: usize = 1000;

pub(super) async fn run(passing: &Passing<'_>) -> Result<Reply, Error> {
    let call = passing.call;
    if call.known() == Some(RequestMethod::CallTool) {
        return begin(passing).await;
    }
    let id = task_id(call)?;
    if HeldResults::is_held(&id) {
        return held(passing, &id).map_err(Error::from);
    }
    let at = ExtensionTask { passing, upstream: passing.pool.lead()?, id };
    match call.known() {
        Some(RequestMethod::GetTask) => Ok(task(call, wire::bare(at.look().await?))),
        Some(RequestMethod::GetTaskPayload) => at.result().await,
        Some(RequestMethod::CancelTask) => at.cancel().await,
        _ => Err(RpcError::method_not_found(&call.method).into()),
    }
}

async fn begin(passing: &Passing<'_>) -> Result<Reply, Error> {
    let wanted: Option<TaskMetadata> = passing.call.params.read_opt("task")?;
    let params = passing.call.params.without("task").map_err(Error::other)?;
    let call = passing.call.with_params(params);
    let reply = Passing { call: &call, ..*passing }.run_as(Mode::Extension).await?;
    let begun = match reply {
        Reply::Extension { done, .. } => {
            let begun: DetailedTask = done.members().parse().map_err(broken)?;
            passing.pool.tasks.watched.watch(&call, passing.hooks, &begun.task_id);
            wire::bare(begun)
        }
        Reply::Complete(done) => {
            let is_error = done.is_failed_tool();
            passing.pool.tasks.held.put(
                TaskOwner::of(&call),
                done.text(),
                is_error,
                wanted.and_then(|wanted| wanted.ttl),
            )?
        }
        other => return Ok(other),
    };
    Ok(Reply::Complete(call.revision.encode(CreateTaskResult::new(begun))))
}

/// A request about a result that is held.
fn held(passing: &Passing<'_>, id: &str) -> Result<Reply, RpcError> {
    let call = passing.call;
    let (own, result) = passing.pool.tasks.held.get(call.principal(), id).ok_or_else(unknown)?;
    match call.known() {
        Some(RequestMethod::GetTask) => Ok(task(call, own)),
        Some(RequestMethod::GetTaskPayload) => {
            Ok(Reply::Complete(ResultBody::value(&wire::payload(call.revision, id, &result)?)))
        }
        Some(RequestMethod::CancelTask) => Err(ended(id)),
        _ => Err(RpcError::method_not_found(&call.method)),
    }
}

fn task(call: &Call, task: Task) -> Reply {
    Reply::Complete(call.revision.encode(task))
}

/// One task at the server.
pub(super) struct ExtensionTask<'a> {
    pub(super) passing: &'a Passing<'a>,
    pub(super) upstream: Arc<Upstream>,
    pub(super) id: String,
}

/// An input request that is with the caller.
struct Asked<'a> {
    /// The answer; `None` once it has come: the key is not used again in the task.
    answer: Option<BoxFuture<'a, Result<JsonText, RpcError>>>,
    /// No other request of the caller delivers it meanwhile.
    _delivery: Delivery<'a>,
}

impl<'a> ExtensionTask<'a> {
    /// The current state.
    pub(super) async fn look(&self) -> Result<DetailedTask, Error> {
        let params = wire::params(&GetTaskParams::new(&*self.id))?;
        let text = self.passing.ask_server(&self.upstream.client, "tasks/get", &params).await?;
        let task: DetailedTask = from_json(text.as_str()).map_err(broken)?;
        match task.task_id == self.id {
            true => Ok(task),
            false => Err(broken("it is another one than was asked for")),
        }
    }

    /// `tasks/result`: waits for the end of the task. Meanwhile its input requests go to the caller.
    async fn result(&self) -> Result<Reply, Error> {
        let mut asked = BTreeMap::new();
        loop {
            let news = self.passing.pool.tasks.watched.news.notified();
            let task = self.look().await?;
            match task.status {
                TaskStatus::Completed => {
                    let result = task.result.ok_or_else(|| broken("it is completed and has no result"))?;
                    let payload = wire::payload(self.passing.call.revision, &self.id, &result)?;
                    return Ok(Reply::Complete(ResultBody::value(&payload)));
                }
                TaskStatus::Failed => {
                    return Err(task.error.map_or_else(|| broken("it failed and has no error"), Error::from));
                }
                TaskStatus::Cancelled => {
                    return Err(RpcError::internal("the task was cancelled and has no result").into());
                }
                TaskStatus::InputRequired => self.ask(&mut asked, task.input_requests.unwrap_or_default())?,
                _ => asked.retain(|_, asked| asked.answer.is_none()),
            }
            tokio::select! {
                biased;
                (key, answer) = next(&mut asked) => self.update(key, answer?).await?,
                // Of any task: that is rare enough for a look.
                () = news => {}
                () = sleep(wire::pause(task.poll_interval_ms)) => {}
            }
        }
    }

    /// Sends new input requests to the caller, and takes back those that are not open any more.
    fn ask<'b>(&'b self, asked: &mut BTreeMap<String, Asked<'b>>, open: InputRequests) -> Result<(), Error> {
        asked.retain(|key, asked| asked.answer.is_none() || open.iter().any(|(open, _)| open == key));
        for (key, request) in open {
            if asked.len() >= REQUESTS {
                return Err(broken(format!("it has more than {REQUESTS} input requests")));
            }
            if asked.contains_key(&key) {
                continue;
            }
            let Some(delivery) = self.passing.pool.tasks.deliver(&self.id, &key) else { continue };
            let (passing, name) = (self.passing, key.clone());
            let request = wire::tagged(&self.id, request)?;
            let answer: BoxFuture<'b, _> = Box::pin(async move { passing.ask(&name, &request).await });
            asked.insert(key, Asked { answer: Some(answer), _delivery: delivery });
        }
        Ok(())
    }

    async fn update(&self, key: String, answer: JsonText) -> Result<(), Error> {
        let answers = std::iter::once((key, answer.to_raw())).collect();
        let params = wire::params(&UpdateTaskParams::new(&*self.id, answers))?;
        self.passing.ask_server(&self.upstream.client, "tasks/update", &params).await.map(drop)
    }

    async fn cancel(&self) -> Result<Reply, Error> {
        if self.look().await?.status.is_terminal() {
            return Err(ended(&self.id).into());
        }
        let params = wire::params(&GetTaskParams::new(&*self.id))?;
        self.passing.ask_server(&self.upstream.client, "tasks/cancel", &params).await?;
        let mut task = self.look().await?;
        for _ in 0..LOOKS {
            if task.status.is_terminal() {
                break;
            }
            sleep(LOOK).await;
            task = self.look().await?;
        }
        if matches!(task.status, TaskStatus::Completed | TaskStatus::Failed) {
            return Err(ended(&self.id).into());
        }
        task.status = TaskStatus::Cancelled;
        Ok(self::task(self.passing.call, wire::bare(task)))
    }
}

/// The next answer of the caller.
async fn next(asked: &mut BTreeMap<String, Asked<'_>>) -> (String, Result<JsonText, RpcError>) {
    poll_fn(|cx| {
        for (key, asked) in asked.iter_mut() {
            let Some(answer) = &mut asked.answer else { continue };
            if let Poll::Ready(said) = Pin::new(answer).poll(cx) {
                asked.answer = None;
                return Poll::Ready((key.clone(), said));
            }
        }
        Poll::Pending
    })
    .await
}
