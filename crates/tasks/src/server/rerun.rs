//! Tasks that run again, on a replica that finds them without a process.

use std::{cell::Cell, sync::Arc};

use couplet_core::{BoxFuture, Call, JsonText, Reply, Service, message::Params};
use couplet_server::{ServerHandle, ToolCall, ToolNext};
use couplet_types::{CallTool, Request, RpcError};

use super::{
    Task,
    run::{detach, failed_or_finished, finished, notify_session, notify_subscribers},
};
use crate::{
    engine::{Access, Changed, Engine, Live, OnChange},
    record::{Finished, Record},
};

tokio::task_local! {
    /// The task that a call of a tool continues.
    static RERUN: Cell<Option<(Arc<Engine>, Arc<Live>)>>;
}

/// A request of a client about tasks.
pub(super) struct TaskRequest<'a> {
    call: &'a Call,
    server: &'a ServerHandle,
}

impl<'a> TaskRequest<'a> {
    pub(super) fn new(call: &'a Call, server: &'a ServerHandle) -> Self {
        Self { call, server }
    }
}

impl Access for TaskRequest<'_> {
    fn owner(&self) -> Option<&str> {
        self.call.principal()
    }

    fn notify(&self, record: &Record) {
        notify_subscribers(self.server.clone())(record, Changed::Status);
    }

    /// The caller is the owner; its present token must also permit the tool.
    fn can_rerun(&self, record: &Record) -> bool {
        let Some(params) = params(record) else { return false };
        let required = self.server.required_scopes(CallTool::METHOD, &params, self.call.into());
        required.is_none_or(|scopes| self.call.caller.as_ref().is_some_and(|caller| caller.has_scopes(&*scopes)))
    }

    fn on_change(&self) -> OnChange {
        match self.call.revision.has_core_tasks() {
            true => notify_session(self.call.outbox.lasting()),
            false => notify_subscribers(self.server.clone()),
        }
    }

    fn rerun(&self, engine: &Arc<Engine>, live: &Arc<Live>, record: &Record) -> BoxFuture<'static, Finished> {
        let (mut call, server) = (self.call.clone(), self.server.clone());
        (call.method, call.params) = (CallTool::METHOD.into(), params(record).unwrap_or_default());
        call.outbox = call.outbox.lasting();
        let is_core = call.revision.has_core_tasks();
        let again = Cell::new(Some((engine.clone(), live.clone())));
        // The call is made within the scope, too: middleware may run before the first poll.
        let run = RERUN.scope(again, async move { server.call(call).await });
        Box::pin(async move {
            let reply = run.await;
            if is_core { failed_or_finished(reply) } else { finished(reply) }
        })
    }
}

fn params(record: &Record) -> Option<Params> {
    Params::from_text(JsonText::from(record.request.as_ref()?)).ok()
}

/// The task of this engine that the present call of a tool continues.
pub(super) fn continued(engine: &Arc<Engine>) -> Option<Arc<Live>> {
    let take = |again: &Cell<Option<(Arc<Engine>, Arc<Live>)>>| {
        let (of, live) = again.take()?;
        if Arc::ptr_eq(&of, engine) {
            return Some(live);
        }
        again.set(Some((of, live)));
        None
    };
    RERUN.try_with(take).ok().flatten()
}

/// Runs a tool again for a task whose process is gone.
pub(super) async fn run(engine: Arc<Engine>, live: Arc<Live>, asked: ToolCall, next: ToolNext) -> Reply {
    let most = asked.data::<Task>().and_then(|task| task.repeatable.then_some(task.max_runs));
    // A graceful shutdown is not a failed attempt.
    let released = live.record().map_or(0, |record| record.released);
    match most {
        Some(most) if live.generation.saturating_sub(released) <= most => {}
        Some(most) => {
            let message = format!("the task was started {most} times, and its process ended each time");
            return Reply::Error(RpcError::internal(message));
        }
        None => {
            let message = "the process that ran the task is gone, and its tool is not repeatable";
            return Reply::Error(RpcError::internal(message));
        }
    }
    let mut call = asked.call;
    let lasting = call.revision.has_core_tasks().then(|| call.outbox.clone());
    detach(&mut call, &engine, &live, lasting);
    next.timeout(None).run(call).await
}
