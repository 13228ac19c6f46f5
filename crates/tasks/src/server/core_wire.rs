//! The methods that only tasks as a part of the protocol have.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use couplet_core::{Call, Done, Inputs, Reply};
use couplet_types::{InputRequest, ListTasksResult, RpcError};
use tokio::task::JoinSet;

use super::methods::{reply, task_id};
use crate::{engine::Engine, live::Live, wire};

/// How many tasks a page has.
const PAGE: usize = 100;

/// `tasks/result`: waits for the end. Meanwhile, what the task asks is asked here: this is the one request of the
/// client that is there for the task.
pub(super) async fn result(engine: Arc<Engine>, call: Call) -> Reply {
    let wait = async {
        let (id, owner) = (task_id(&call)?, call.principal());
        let mut asking = JoinSet::new();
        loop {
            let live = engine.live(&id);
            let changes = live.as_ref().map(|live| live.changes.subscribe());
            let record = engine.get(owner, &id).await?;
            if record.status.is_terminal() {
                return Ok(Done::value(&wire::payload(&record)?));
            }
            if let Some(live) = &live {
                while let Some((key, ask)) = live.undelivered() {
                    let question = Delivery { engine: engine.clone(), live: live.clone(), open: Some((key, ask)) };
                    asking.spawn(question.deliver(call.inputs.clone()));
                }
            }
            let mut change = pin!(async {
                match changes {
                    Some(mut changes) => drop(changes.changed().await),
                    None => tokio::time::sleep(engine.limits.poll_interval).await,
                }
            });
            let gone = poll_fn(|cx| {
                while let Poll::Ready(Some(delivered)) = asking.poll_join_next(cx) {
                    if matches!(delivered, Ok(false)) {
                        return Poll::Ready(true);
                    }
                }
                change.as_mut().poll(cx).map(|()| false)
            });
            if gone.await {
                // The task goes on, and waits for whoever comes next.
                return Err(RpcError::internal("the client is gone and cannot answer"));
            }
        }
    };
    reply(wait.await)
}

/// `tasks/list`: the caller's own tasks.
pub(super) async fn list(engine: Arc<Engine>, call: Call) -> Reply {
    let list = async {
        let unknown = || RpcError::invalid_params("the cursor is not one of this list");
        let cursor: Option<String> = call.params.read_opt("cursor")?;
        let after = match cursor {
            Some(cursor) => {
                let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unknown())?;
                Some(String::from_utf8(bytes).map_err(|_| unknown())?)
            }
            None => None,
        };
        let page = engine.list(call.principal(), after.as_deref(), PAGE + 1).await?;
        let mut page = page.ok_or_else(unknown)?;
        let more = page.len() > PAGE;
        page.truncate(PAGE);
        let mut result = ListTasksResult::new(page.iter().map(wire::bare).collect());
        result.next_cursor = page.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(&last.id));
        Ok(call.shape.done(result))
    };
    reply(list.await)
}

/// A question on its way to the client. If the client goes away first, the next one is asked.
struct Delivery {
    engine: Arc<Engine>,
    live: Arc<Live>,
    open: Option<(String, InputRequest)>,
}

impl Delivery {
    /// Asks the client; false if it is gone.
    async fn deliver(mut self, inputs: Inputs) -> bool {
        let Some((key, ask)) = self.open.clone() else { return true };
        let Some(answer) = inputs.request(wire::tagged(&self.live.id, ask)).await else { return false };
        self.open = None;
        drop(self.engine.answer(&self.live.id, key, answer).await);
        true
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some((key, ask)) = self.open.take() {
            self.live.redeliver(key, ask);
        }
    }
}
