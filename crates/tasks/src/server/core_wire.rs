//! Methods of revisions in which tasks are part of the protocol.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use couplet_core::{Call, Reply, ResultBody};
use couplet_types::{InputRequest, RpcError};
use tokio::task::JoinSet;

use super::{
    asking::{Asking, StatusChanges},
    methods::reply,
    wire,
};
use crate::{
    engine::Engine,
    live::Live,
    requests::{self, task_id},
};

/// `tasks/result`: waits for the end. Meanwhile, the task's input requests are sent here: this is the one open request
/// of the client that belongs to the task.
pub(super) async fn result(engine: Arc<Engine>, changes: Option<StatusChanges>, call: Call) -> Reply {
    let wait = async {
        let (id, owner) = (task_id(&call.params)?, call.principal());
        let client = Asking::new(&call, changes);
        let mut asking = JoinSet::new();
        loop {
            let mut change = pin!(engine.next_change(&id));
            let record = engine.get(owner, &id).await?;
            if record.status.is_terminal() {
                return Ok(ResultBody::value(&wire::payload(&record)?));
            }
            if let Some(live) = engine.live(&id) {
                while let Some((key, ask)) = live.inputs.undelivered() {
                    let question = Delivery { engine: engine.clone(), live: live.clone(), open: Some((key, ask)) };
                    asking.spawn(question.deliver(client.clone()));
                }
            }
            let gone = poll_fn(|cx| {
                while let Poll::Ready(Some(delivered)) = asking.poll_join_next(cx) {
                    if matches!(delivered, Ok(false)) {
                        return Poll::Ready(true);
                    }
                }
                change.as_mut().poll(cx).map(|()| false)
            });
            if gone.await {
                // The task keeps running; its input requests wait for the next client.
                return Err(RpcError::internal("the client has disconnected and cannot answer"));
            }
        }
    };
    reply(wait.await)
}

/// `tasks/list`: the caller's own tasks.
pub(super) async fn list(engine: Arc<Engine>, call: Call) -> Reply {
    let list = requests::list(&engine, call.principal(), &call.params).await;
    reply(list.map(|list| call.revision.encode(list)))
}

/// An input request on its way to the client. If the client disconnects first, it is queued for the next one.
struct Delivery {
    engine: Arc<Engine>,
    live: Arc<Live>,
    open: Option<(String, InputRequest)>,
}

impl Delivery {
    /// Sends the request to the client; `false` if the client has disconnected.
    async fn deliver(mut self, client: Asking) -> bool {
        let Some((key, ask)) = self.open.clone() else { return true };
        let Some(answer) = client.ask(wire::tagged(&self.live.id, ask)).await else { return false };
        self.open = None;
        drop(self.engine.answer(&self.live.id, key, answer).await);
        true
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some((key, ask)) = self.open.take() {
            self.live.inputs.redeliver(key, ask);
        }
    }
}
