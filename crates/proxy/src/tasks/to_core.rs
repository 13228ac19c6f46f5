//! A caller with the extension, and a server of 2025-11-25.
//!
//! The server decides by the tool: a task is requested for each call of a tool that can run as one. Requests about the task
//! go to the connection on which it was begun, because servers may tie tasks to their sessions; the connection stays open
//! for as long as the task runs.
//!
//! A server of 2025-11-25 sends the input requests of a task while a client waits in `tasks/result`. So once a caller finds
//! that its task requires input, the proxy waits there; the requests that come are listed in the task, and answered by
//! `tasks/update`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{Ask, Error, JsonText, Reply, ResultBody, message::Params, sync::lock};
use couplet_types::{
    DetailedTask, GetTaskParams, InputRequest, RequestMethod, RpcError, Task, TaskStatus, TaskSupport,
    UpdateTaskParams, from_json,
};
use tokio::time::Instant;

use super::{
    KIND, Mode, broken,
    known::{Begun, KnownTask},
    owner::TaskOwner,
    task_id, wire,
};
use crate::{call::Passing, upstream::Upstream};

pub(super) async fn run(passing: &Passing<'_>, lead: &Arc<Upstream>) -> Result<Reply, Error> {
    let call = passing.call;
    if call.known() == Some(RequestMethod::CallTool) {
        return begin(passing, lead).await;
    }
    let at = CoreTask::new(passing, task_id(call)?).await?;
    let done = match &*call.method {
        "tasks/get" => {
            let task = at.detailed(at.look().await?).await?;
            call.revision.encode(task)
        }
        "tasks/update" => at.update().await?,
        "tasks/cancel" => at.cancel().await?,
        method => return Err(RpcError::method_not_found(method).into()),
    };
    Ok(Reply::Complete(done))
}

async fn begin(passing: &Passing<'_>, lead: &Arc<Upstream>) -> Result<Reply, Error> {
    let name = passing.call.tool_name().unwrap_or_default().into_owned();
    let support = passing.pool.tasks.supports.of(lead, &name).await?;
    if !matches!(support, Some(TaskSupport::Optional | TaskSupport::Required)) {
        return passing.run_as(Mode::Same).await;
    }
    let params = passing.call.params.with("task", &JsonText::empty_object()).map_err(Error::other)?;
    let call = passing.call.with_params(params);
    Passing { call: &call, ..*passing }.run_as(Mode::Core).await
}

/// The reply to a call that became a task; `None` if the server responded with a result.
pub(crate) fn begun(passing: &Passing<'_>, upstream: &Arc<Upstream>, result: &Params) -> Result<Option<Reply>, Error> {
    let Some(task) = result.read_opt::<Task>("task").map_err(|e| broken(e.message))? else { return Ok(None) };
    let call = passing.call;
    passing.pool.tasks.note(&task.task_id, TaskOwner::of(call), Some(Begun::new(call, upstream, task.ttl)));
    let done = call.revision.encode(wire::detailed(task));
    Ok(Some(Reply::Extension { kind: KIND.into(), done }))
}

/// One task at the server.
struct CoreTask<'a> {
    passing: &'a Passing<'a>,
    upstream: Arc<Upstream>,
    id: String,
    /// The parameters of a request about the task.
    params: Params,
}

impl<'a> CoreTask<'a> {
    async fn new(passing: &'a Passing<'a>, id: String) -> Result<Self, Error> {
        let known = passing.pool.tasks.find(&id).and_then(|task| task.upstream());
        let upstream = match known {
            Some(upstream) => upstream,
            None => passing.pool.shared(&passing.needs()).await?,
        };
        let params = wire::params(&GetTaskParams::new(&*id))?;
        Ok(Self { passing, upstream, id, params })
    }

    async fn request(&self, method: &str) -> Result<JsonText, Error> {
        self.passing.ask_server(&self.upstream.client, method, &self.params).await
    }

    /// The current state.
    async fn look(&self) -> Result<Task, Error> {
        let task: Task = from_json(self.request("tasks/get").await?.as_str()).map_err(broken)?;
        match task.task_id == self.id {
            true => Ok(task),
            false => Err(broken("it is another one than was asked for")),
        }
    }

    /// What is known of the task here; it may have been begun at a replica.
    fn known(&self, ttl: Option<u64>) -> Arc<KnownTask> {
        let tasks = &self.passing.pool.tasks;
        tasks.find(&self.id).unwrap_or_else(|| {
            let owner = TaskOwner::of(self.passing.call);
            tasks.note(&self.id, owner, Some(Begun::new(self.passing.call, &self.upstream, ttl)))
        })
    }

    /// The task with the members of its status.
    async fn detailed(&self, task: Task) -> Result<DetailedTask, Error> {
        let known = self.known(task.ttl);
        let (status, mut detailed) = (task.status, wire::detailed(task));
        match status {
            TaskStatus::Completed | TaskStatus::Failed => {
                self.finish(&mut detailed).await?;
                known.end();
            }
            TaskStatus::Cancelled => known.end(),
            _ => {
                let open = known.questions(&self.upstream, status == TaskStatus::InputRequired).await;
                let open = self.rendered(&known, open).await;
                // The requests may be on their way.
                detailed.status = if open.is_empty() { TaskStatus::Working } else { TaskStatus::InputRequired };
                detailed.input_requests = (!open.is_empty()).then(|| open.into_iter().collect());
            }
        }
        Ok(detailed)
    }

    /// Adds the result or the error.
    async fn finish(&self, task: &mut DetailedTask) -> Result<(), Error> {
        let answer = match self.request("tasks/result").await {
            Ok(result) => Ok(result),
            Err(error) => Err(error.rpc().cloned().ok_or(error)?),
        };
        let finished = wire::finish(task, self.passing.call.revision, answer);
        finished.map_err(|e| broken(format!("its result cannot be parsed: {e}")))
    }

    /// The input requests for the caller. One that the caller cannot be sent is answered with the error.
    async fn rendered(&self, known: &KnownTask, open: Vec<(String, InputRequest)>) -> Vec<(String, InputRequest)> {
        let mut rendered = Vec::with_capacity(open.len());
        for (key, request) in open {
            match self.render(request).await {
                Ok(request) => rendered.push((key, request)),
                Err(error) => known.answer(&key, Err(error)),
            }
        }
        rendered
    }

    async fn render(&self, request: InputRequest) -> Result<InputRequest, RpcError> {
        let Passing { call, hooks, .. } = *self.passing;
        let mut request = wire::untagged(request)?;
        if let Some(hooks) = hooks {
            request = hooks.input_request(call, request).await?;
        }
        Ask::of(&request)?.render(call.revision, &call.peer.capabilities)
    }

    /// `tasks/update`: answers of the caller. Those under unknown keys are ignored.
    async fn update(&self) -> Result<ResultBody, Error> {
        let UpdateTaskParams { input_responses, .. } = self.passing.call.params.parse()?;
        let task = self.look().await?;
        let known = self.known(task.ttl);
        for (key, answer) in input_responses {
            if self.passing.pool.tasks.is_of_replica(&key) {
                let what = "the input request of this answer is at another replica of the proxy, or at one that was \
                            restarted; get the task again";
                return Err(RpcError::internal(what).into());
            }
            known.answer(&key, Ok(JsonText::from(&answer)));
        }
        Ok(ResultBody::empty())
    }

    /// `tasks/cancel`. A task that has ended is not an error in the extension.
    async fn cancel(&self) -> Result<ResultBody, Error> {
        if let Err(error) = self.request("tasks/cancel").await {
            let has_ended = error.rpc().is_some() && self.look().await?.status.is_terminal();
            if !has_ended {
                return Err(error);
            }
        }
        self.passing.pool.tasks.find(&self.id).iter().for_each(|task| task.end());
        Ok(ResultBody::empty())
    }
}

/// The tools of a server of 2025-11-25 that can run as tasks.
#[derive(Default)]
pub(crate) struct Supports(Mutex<Option<Listed>>);

#[derive(Clone)]
struct Listed {
    tools: Arc<BTreeMap<String, TaskSupport>>,
    until: Instant,
}

impl Supports {
    /// The time after which the tools are listed again, also if the server has not notified of a change.
    const TIME: Duration = Duration::from_secs(300);

    /// Forgets the tools: their list has changed.
    pub(crate) fn clear(&self) {
        lock(&self.0).take();
    }

    /// What a tool says about tasks.
    pub(super) async fn of(&self, server: &Upstream, name: &str) -> Result<Option<TaskSupport>, Error> {
        let known = lock(&self.0).clone().filter(|listed| listed.until > Instant::now());
        let listed = match known {
            Some(listed) => listed,
            None => {
                let tools = server.client.tools().await?.into_iter();
                let tools = tools.filter_map(|tool| Some((tool.name, tool.execution?.task_support?))).collect();
                let listed = Listed { tools: Arc::new(tools), until: Instant::now() + Self::TIME };
                *lock(&self.0) = Some(listed.clone());
                listed
            }
        };
        Ok(listed.tools.get(name).cloned())
    }
}
