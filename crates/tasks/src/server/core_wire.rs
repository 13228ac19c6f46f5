//! Methods of revisions in which tasks are part of the protocol.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use couplet_core::{Call, Reply, ResultBody};
use couplet_server::ServerHandle;
use couplet_types::{InputRequest, RpcError};
use tokio::{sync::oneshot, task::JoinSet};

use super::{
    asking::{Asking, StatusChanges},
    methods::reply,
    rerun::TaskRequest,
    wire,
};
use crate::{
    engine::Engine,
    record::Record,
    requests::{self, task_id},
};

/// `tasks/result`: waits for the end. Meanwhile, the task's input requests are sent here: this is the one open request
/// of the client that belongs to the task.
pub(super) async fn result(
    engine: Arc<Engine>,
    changes: Option<StatusChanges>,
    call: Call,
    server: ServerHandle,
) -> Reply {
    let wait = async {
        let (id, by) = (task_id(&call.params)?, TaskRequest::new(&call, &server));
        let mut asking = Deliverer::new(engine.clone(), Asking::new(&call, changes));
        loop {
            let changes = engine.subscribe(&id);
            let record = engine.get(&by, &id).await?;
            if record.status.is_terminal() {
                return Ok(ResultBody::value(&wire::payload(&record)?));
            }
            asking.deliver(&record);
            let mut change = pin!(engine.changed(changes, &record));
            let gone = poll_fn(|cx| {
                while let Poll::Ready(Some(delivered)) = asking.running.poll_join_next(cx) {
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
pub(super) async fn list(engine: Arc<Engine>, call: Call, server: ServerHandle) -> Reply {
    let list = requests::list(&engine, &TaskRequest::new(&call, &server), &call.params).await;
    reply(list.map(|list| call.revision.encode(list)))
}

/// Delivers the input requests of a task to one client.
struct Deliverer {
    engine: Arc<Engine>,
    client: Asking,
    /// The requests on their way, by key. Dropping a sender takes the request back.
    open: BTreeMap<String, oneshot::Sender<()>>,
    running: JoinSet<bool>,
}

impl Deliverer {
    fn new(engine: Arc<Engine>, client: Asking) -> Self {
        Self { engine, client, open: BTreeMap::new(), running: JoinSet::new() }
    }

    /// Sends the open requests that are not sent elsewhere, and takes back those that were answered elsewhere.
    fn deliver(&mut self, record: &Record) {
        self.open.retain(|key, sent| !sent.is_closed() && record.asks.iter().any(|(open, _)| open == key));
        for (key, ask) in &record.asks {
            if !self.engine.deliveries.begin(&record.id, key) {
                continue;
            }
            let (sender, taken_back) = oneshot::channel();
            self.open.insert(key.clone(), sender);
            let delivery = Delivery { engine: self.engine.clone(), id: record.id.clone(), key: key.clone() };
            self.running.spawn(delivery.deliver(self.client.clone(), ask.clone(), taken_back));
        }
    }
}

/// An input request on its way to the client. If the client disconnects first, another one can receive it.
struct Delivery {
    engine: Arc<Engine>,
    id: String,
    key: String,
}

impl Delivery {
    /// Sends the request to the client; `false` if the client has disconnected.
    async fn deliver(self, client: Asking, ask: InputRequest, mut taken_back: oneshot::Receiver<()>) -> bool {
        let answer = {
            let mut asked = pin!(client.ask(wire::tagged(&self.id, ask)));
            poll_fn(|cx| match asked.as_mut().poll(cx) {
                Poll::Pending => pin!(&mut taken_back).poll(cx).map(|_| None),
                answer => answer.map(Some),
            })
            .await
        };
        match answer {
            Some(Some(answer)) => {
                let by = None::<&str>;
                // The caller was checked when the task was read.
                drop(self.engine.answer(&by, &self.id, self.key.clone(), answer).await);
                true
            }
            Some(None) => false,
            None => true,
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.engine.deliveries.end(&self.id, &self.key);
        // Another client may wait for the same task.
        if let Some(live) = self.engine.live(&self.id) {
            live.changes.send_modify(|count| *count += 1);
        }
    }
}
