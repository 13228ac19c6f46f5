//! Elicitation and sampling requests that clients run as tasks of their own.

use std::{mem, sync::Arc, time::Duration};

use couplet_core::{Backchannel, BoxFuture, Call, ClientNotification, Inputs, JsonText, Peer};
use couplet_types::{
    CancelTask, CancelTaskParams, ClientCapabilities, CreateMessage, Elicit, GetTask, GetTaskParams, GetTaskPayload,
    GetTaskPayloadParams, InputRequest, Notification, Request, RpcError, Task, TaskStatus, TaskStatusChanged,
};
use tokio::{sync::broadcast, time::timeout};

use super::wire;
use crate::clock;

type Answer = Result<JsonText, RpcError>;

/// The timeout of a cancellation request to a client.
const CANCELLING: Duration = Duration::from_secs(30);

/// Broadcasts the ids in `notifications/tasks/status` of clients. Waiters poll again on a match; they poll at their
/// interval in any case, so nothing depends on a notification.
#[derive(Clone)]
pub(super) struct StatusChanges(broadcast::Sender<Arc<str>>);

impl StatusChanges {
    pub(super) fn new() -> Self {
        Self(broadcast::Sender::new(64))
    }

    pub(super) fn receive(&self, notification: &ClientNotification) {
        if notification.method == TaskStatusChanged::METHOD
            && let Ok(id) = notification.params.read::<String>("taskId")
        {
            // There may be no receivers.
            let _ = self.0.send(id.into());
        }
    }
}

/// The backchannel to one client. It sends task-augmented requests if that is configured and the client supports them.
#[derive(Clone)]
pub(super) struct Asking {
    inputs: Inputs,
    peer: Arc<Peer>,
    changes: Option<StatusChanges>,
}

impl Asking {
    pub(super) fn new(call: &Call, changes: Option<StatusChanges>) -> Self {
        Self { inputs: call.inputs.clone(), peer: call.peer.clone(), changes }
    }

    /// Sends the request and waits for the answer; `None` if the client has disconnected.
    pub(super) async fn ask(&self, request: InputRequest) -> Option<Answer> {
        match &self.changes {
            Some(changes) if runs(&self.peer.capabilities, &request.method) => {
                self.ask_as_task(request, changes.0.subscribe()).await.transpose()
            }
            _ => self.inputs.request(request).await,
        }
    }

    async fn ask_as_task(
        &self,
        request: InputRequest,
        mut changes: broadcast::Receiver<Arc<str>>,
    ) -> Result<Option<JsonText>, RpcError> {
        let mut question = Question::new(self, wire::as_task(request));
        let Some(answer) = question.answer().await.transpose()? else { return Ok(None) };
        // A client may answer without a task.
        let Some(mut task) = wire::begun(&answer)? else { return Ok(Some(answer)) };
        question.state = State::Runs(task.task_id.clone());
        while task.status == TaskStatus::Working {
            let changed = changed(&mut changes, &task.task_id);
            let _ = timeout(clock::pause(task.poll_interval), changed).await;
            let Some(look) = self.request::<GetTask>(&GetTaskParams::new(&*task.task_id)).await? else {
                return Ok(None);
            };
            task = look
                .parse::<Task>()
                .map_err(|e| RpcError::internal(format!("the client's task cannot be parsed: {e}")))?;
        }
        if task.status == TaskStatus::Cancelled {
            question.state = State::Over;
            return Err(RpcError::internal("the client cancelled the request"));
        }
        let result = self.request::<GetTaskPayload>(&GetTaskPayloadParams::new(&*task.task_id)).await;
        question.state = State::Over;
        result
    }

    async fn request<R: Request>(&self, params: &R::Params) -> Result<Option<JsonText>, RpcError> {
        let request = InputRequest::new::<R>(params).map_err(|e| RpcError::internal(e.to_string()))?;
        self.inputs.request(request).await.transpose()
    }
}

impl Backchannel for Asking {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Answer> {
        let asking = self.clone();
        Box::pin(async move {
            let gone = || Err(RpcError::internal("the client has disconnected and cannot answer"));
            asking.ask(ask).await.unwrap_or_else(gone)
        })
    }
}

/// Whether a client supports a kind of request as a task.
fn runs(can: &ClientCapabilities, method: &str) -> bool {
    let Some(requests) = can.tasks.as_ref().and_then(|tasks| tasks.requests.as_ref()) else { return false };
    match method {
        Elicit::METHOD => requests.elicitation.as_ref().is_some_and(|can| can.create.is_some()),
        CreateMessage::METHOD => requests.sampling.as_ref().is_some_and(|can| can.create_message.is_some()),
        _ => false,
    }
}

/// Waits for a notification about a task.
async fn changed(changes: &mut broadcast::Receiver<Arc<str>>, id: &str) {
    loop {
        match changes.recv().await {
            Ok(changed) if &*changed == id => return,
            // The missed notifications may have been about this task.
            Err(broadcast::error::RecvError::Lagged(_)) => return,
            Ok(_) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// A request that a client runs as a task. Dropping it cancels the task, even if its id is not known yet: cancelling
/// the request itself would leave a task behind that this server has no id of.
struct Question {
    inputs: Inputs,
    cancels: bool,
    state: State,
}

enum State {
    Asked(BoxFuture<'static, Option<Answer>>),
    Runs(String),
    Over,
}

impl Question {
    fn new(asking: &Asking, request: InputRequest) -> Self {
        let Asking { inputs, peer, .. } = asking.clone();
        let (cancels, lasting) =
            (peer.capabilities.tasks.as_ref().is_some_and(|tasks| tasks.cancel.is_some()), inputs.lasting());
        let asked = Box::pin(async move { inputs.request(request).await });
        Self { inputs: lasting, cancels, state: State::Asked(asked) }
    }

    /// The first answer of the client.
    async fn answer(&mut self) -> Option<Answer> {
        let State::Asked(asked) = &mut self.state else { return None };
        let answer = asked.await;
        self.state = State::Over;
        answer
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        let (state, inputs) = (mem::replace(&mut self.state, State::Over), self.inputs.clone());
        if !self.cancels || matches!(state, State::Over) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(timeout(CANCELLING, cancel(inputs, state)));
        }
    }
}

/// Cancels the client's task, once its id is known.
async fn cancel(inputs: Inputs, state: State) -> Option<()> {
    let id = match state {
        State::Asked(asked) => wire::begun(&asked.await?.ok()?).ok()??.task_id,
        State::Runs(id) => id,
        State::Over => return None,
    };
    let request = InputRequest::new::<CancelTask>(&CancelTaskParams::new(id)).ok()?;
    inputs.request(request).await.map(drop)
}
