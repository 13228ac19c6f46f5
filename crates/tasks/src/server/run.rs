//! Tool calls as tasks.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use couplet_core::{BoxFuture, Call, ExtensionEvent, Inputs, NotificationSink, Outbox, Reply, sync::lock};
use couplet_server::{ServerHandle, ToolCall, ToolNext};
use couplet_types::{
    CreateTaskResult, Meta, Notification, Progress, ProgressParams, RelatedTask, RpcError, TASKS_EXTENSION,
    TaskChanged, TaskMetadata, TaskStatus, TaskStatusChanged, code,
};

use super::{
    Task,
    asking::{Asking, StatusChanges},
    request::new_task,
    rerun, wire,
};
use crate::{
    engine::{Changed, Engine, Live, OnChange},
    inputs::Back,
    record::{Change, Finished},
};

/// The `resultType` of a call that became a task.
pub(super) const KIND: &str = "task";
/// The member of a subscription filter that selects tasks.
pub(super) const FILTER: &str = "taskIds";

/// Decides whether a call becomes a task.
pub(super) async fn middleware(
    engine: Arc<Engine>,
    changes: Option<StatusChanges>,
    mut asked: ToolCall,
    next: ToolNext,
) -> Reply {
    if let Some(live) = rerun::continued(&engine) {
        return rerun::run(engine, live, asked, next).await;
    }
    let revision = asked.call.revision;
    let task = asked.data::<Task>().cloned();
    if revision.has_core_tasks() {
        if changes.is_some() {
            asked.call.inputs = Inputs::live(Asking::new(&asked.call, changes));
        }
        return requested(engine, asked, next, task).await.unwrap_or_else(Reply::Error);
    }
    let declared = !revision.has_sessions() && asked.call.peer.extension(TASKS_EXTENSION).is_some();
    match task {
        Some(task) if declared => unsolicited(engine, asked, next, &task).await.unwrap_or_else(Reply::Error),
        Some(task) if task.required => Reply::Error(revision.missing_extension(TASKS_EXTENSION)),
        _ => next.run(asked.call).await,
    }
}

/// Where tasks are part of the protocol, the caller requests one.
async fn requested(
    engine: Arc<Engine>,
    asked: ToolCall,
    next: ToolNext,
    task: Option<Task>,
) -> Result<Reply, RpcError> {
    let wanted: Option<TaskMetadata> = asked.call.params.read_opt("task")?;
    let name = &asked.tool().name;
    let refuse = |what: &str| Err(RpcError::new(code::METHOD_NOT_FOUND, format!("tool `{name}` {what}")));
    let (wanted, task) = match (wanted, task) {
        (Some(_), None) => return refuse("cannot run as a task"),
        (None, Some(task)) if task.required => return refuse("runs only as a task"),
        (None, _) => return Ok(next.run(asked.call).await),
        (Some(wanted), Some(task)) => (wanted, task),
    };
    let ToolCall { mut call, .. } = asked;
    let new = new_task(&call, &task, wanted.ttl)?;
    let lasting = call.outbox.lasting();
    let live = engine.prepare(task.repeatable, notify_session(lasting.clone()))?;
    detach(&mut call, &engine, &live, Some(lasting));
    let revision = call.revision;
    let running = next.timeout(None).run(call);
    let work = Box::pin(async move { failed_or_finished(running.await) });
    let record = engine.start(live, new, work).await?;
    Ok(Reply::Complete(revision.encode(CreateTaskResult::new(wire::bare(&record)))))
}

/// Where tasks are an extension, the server decides.
async fn unsolicited(engine: Arc<Engine>, asked: ToolCall, next: ToolNext, task: &Task) -> Result<Reply, RpcError> {
    let ToolCall { mut call, server, .. } = asked;
    let new = new_task(&call, task, None)?;
    let live = engine.prepare(task.repeatable, notify_subscribers(server))?;
    let revision = call.revision;
    let mut running = if task.input_first {
        call.outbox = call.outbox.with_sink(Reports::new(&engine, &live, None));
        let inputs = call.inputs.clone();
        let mut running = next.timeout(None).run(call);
        // Answers of earlier rounds are available at once, so a handler that is pending here waits for something else.
        let begun = poll_fn(|cx| match running.as_mut().poll(cx) {
            Poll::Pending if inputs.is_yielding() => Poll::Pending,
            polled => Poll::Ready(polled),
        });
        if let Poll::Ready(reply) = begun.await {
            return Ok(reply);
        }
        inputs.turn(Back { engine: engine.clone(), live: live.clone() });
        running
    } else {
        detach(&mut call, &engine, &live, None);
        next.timeout(None).run(call)
    };
    let work = Box::pin(async move { finished(running.as_mut().await) });
    let record = engine.start(live, new, work).await?;
    Ok(Reply::Extension { kind: KIND.into(), done: revision.encode(wire::created(&record)) })
}

/// Redirects the call's input requests and progress to the task.
pub(super) fn detach(call: &mut Call, engine: &Arc<Engine>, live: &Arc<Live>, lasting: Option<Outbox>) {
    call.outbox = call.outbox.with_sink(Reports::new(engine, live, lasting));
    call.inputs = Inputs::live(Back { engine: engine.clone(), live: live.clone() });
}

/// The outcome of a call where tasks are an extension: a tool result with `isError` completes the task.
pub(super) fn finished(reply: Reply) -> Finished {
    match reply {
        Reply::Complete(done) => Finished::Result(done.text().to_raw(), TaskStatus::Completed),
        Reply::Error(error) => Finished::Error(error),
        _ => Finished::Error(RpcError::internal("a task cannot end with a result of this kind")),
    }
}

/// The outcome of a call where tasks are part of the protocol: a tool result with `isError` fails the task.
pub(super) fn failed_or_finished(reply: Reply) -> Finished {
    match finished(reply) {
        Finished::Result(result, _) if wire::says_error(&result) => Finished::Result(result, TaskStatus::Failed),
        finished => finished,
    }
}

/// Notifies subscribers of the task.
pub(super) fn notify_subscribers(server: ServerHandle) -> OnChange {
    Box::new(move |record, _| {
        let params = serde_json::json!(wire::detailed(record));
        let news = ExtensionEvent::new(FILTER, record.id.as_str(), TaskChanged::METHOD, params);
        server.publish(news.for_principal(record.owner.clone()));
    })
}

/// Notifies the session that created the task, on a best-effort basis.
pub(super) fn notify_session(outbox: Outbox) -> OnChange {
    Box::new(move |record, changed| {
        if changed == Changed::Status {
            notify_now(outbox.notify(TaskStatusChanged::METHOD, wire::bare(record)));
        }
    })
}

/// Sends a notification if the client's queue has room. A task must not wait for a client that may never read again.
fn notify_now(sent: impl Future<Output = ()>) {
    let _ = pin!(sent).poll(&mut Context::from_waker(Waker::noop()));
}

/// Receives the progress of a task.
struct Reports {
    engine: Arc<Engine>,
    live: Arc<Live>,
    /// Where progress notifications go, too, if the wire format has them.
    lasting: Option<Outbox>,
    reached: Mutex<f64>,
}

impl Reports {
    fn new(engine: &Arc<Engine>, live: &Arc<Live>, lasting: Option<Outbox>) -> Self {
        Self { engine: engine.clone(), live: live.clone(), lasting, reached: Mutex::new(f64::NEG_INFINITY) }
    }

    /// The notification, if the client requested progress and the value has increased.
    fn notification(&self, progress: f64, total: Option<f64>, message: Option<&String>) -> Option<ProgressParams> {
        let token = self.lasting.as_ref()?.progress_token()?.clone();
        let mut reached = lock(&self.reached);
        if !progress.is_finite() || progress <= *reached {
            return None;
        }
        *reached = progress;
        let mut params = ProgressParams::new(token, progress);
        (params.total, params.message) = (total, message.cloned());
        params.meta = Some(Meta::new().with(RelatedTask::KEY, wire::related(&self.live.id)));
        Some(params)
    }
}

impl NotificationSink for Reports {
    fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>) -> BoxFuture<'static, ()> {
        let notification = self.notification(progress, total, message.as_ref()).zip(self.lasting.clone());
        let (engine, live) = (self.engine.clone(), self.live.clone());
        Box::pin(async move {
            if let Some(message) = message {
                drop(engine.change_by(&live, Change::Message(message)).await);
            }
            if let Some((params, outbox)) = notification {
                notify_now(outbox.notify(Progress::METHOD, params));
            }
        })
    }
}
