//! What the connections of the server share.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::*,
    service::{RequestContext, SubscriptionContext},
    task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions},
};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::{Id, wrong};

pub(crate) const GREETING: &str = "interop://greeting";

pub(crate) struct Shared {
    /// What became of the calls of `wait`.
    calls: Mutex<HashMap<String, &'static str>>,
    pub(crate) tasks: TaskManager,
    touched: broadcast::Sender<()>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { calls: Mutex::default(), tasks: TaskManager::new(), touched: broadcast::Sender::new(16) }
    }
}

impl Shared {
    pub(crate) fn note(&self, id: &str, state: &'static str) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), state);
    }

    pub(crate) fn waited(&self, id: &str) -> &'static str {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied().unwrap_or("unknown")
    }

    /// Reports a change, in a session to its client.
    pub(crate) async fn touch(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        if context.protocol_version() == Some(ProtocolVersion::V_2026_07_28) {
            // A listener begins after its acknowledgement is sent, and there may be none.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let _ = self.touched.send(());
        } else {
            let change = ResourceUpdatedNotificationParam::new(GREETING);
            context.peer.notify_resource_updated(change).await.map_err(|e| wrong(e.to_string()))?;
        }
        Ok("touched".to_owned())
    }

    /// Sends changes to a listener until it is gone.
    pub(crate) async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut touched = self.touched.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = touched.recv() => {
                    change.map_err(|e| wrong(e.to_string()))?;
                    context.sink().notify_resource_updated(GREETING).await.map_err(|e| wrong(e.to_string()))?;
                }
            }
        }
    }

    /// A task that asks for the id.
    pub(crate) fn job(&self, id: String) -> CallToolResponse {
        let options = TaskOptions::new().with_poll_interval_ms(100);
        let task = self.tasks.spawn(options, |context| Box::pin(work(context, id)));
        CallToolResponse::Task(CreateTaskResult::new(task))
    }
}

async fn work(context: TaskContext, id: String) -> Result<CallToolResult, TaskExit> {
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("Confirm {id}"),
        requested_schema: ElicitationSchema::from_type::<Id>().map_err(|e| wrong(e.to_string()))?,
    };
    let question = InputRequest::Elicitation(ElicitRequest::new(form));
    let answer: Value = context.request_input("confirm", question).await?;
    if (&answer["action"], &answer["content"]) != (&json!("accept"), &json!({ "id": id })) {
        return Err(wrong(format!("the answer: {answer}")).into());
    }
    Ok(CallToolResult::success(vec![ContentBlock::text(format!("done {id}"))]))
}
