//! Clients that wait for tasks, and that run what servers ask as tasks.

mod call;
mod handle;
mod host;
mod updates;

use std::{sync::Arc, time::Duration};

use couplet_client::{Client, Extension};
use couplet_core::{Error, ErrorKind, JsonText};
use couplet_types::{DetailedTask, Request, TASKS_EXTENSION, from_json};

use crate::{
    engine::{Engine, Limits},
    store::Store,
};

pub use call::{CallTask, Called, TaskCall};
pub use handle::{TaskHandle, TaskState};
pub use updates::TaskUpdates;

/// The extension of a client that knows tasks.
///
/// With it, [`Client::call`] waits for a call that becomes a task to its end, and [`CallTask`] gives the task itself.
///
/// ```
/// use couplet_client::Client;
/// use couplet_tasks::ClientTasks;
///
/// let client = Client::new("demo", "1.0.0").extension(ClientTasks::new());
/// # drop(client);
/// ```
#[derive(Clone, Default)]
#[must_use = "register it with `ClientBuilder::extension`"]
pub struct ClientTasks {
    store: Option<Arc<dyn Store>>,
    limits: Limits,
}

impl ClientTasks {
    /// Waits for the tasks of servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets servers of 2025-11-25 ask the person and the model as tasks, which are kept in a store. A server is told when
    /// the status of a task changes.
    pub fn hosting(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// How many questions may run as tasks at the same time: 256 by default.
    pub fn running(mut self, most: usize) -> Self {
        self.limits.running = most;
        self
    }

    /// For how long the task of a question is kept at most: 24 hours by default.
    pub fn max_ttl(mut self, ttl: Duration) -> Self {
        self.limits.ttl = ttl;
        self
    }
}

impl From<ClientTasks> for Extension {
    fn from(tasks: ClientTasks) -> Self {
        let extension = Self::new(TASKS_EXTENSION).stateless().result(couplet_types::CallTool::METHOD, "task", finish);
        let Some(store) = tasks.store else { return extension };
        let engine = Arc::new(Engine::new(store, tasks.limits));
        extension.capabilities(host::declare).asked_layer(move |asked, next| host::answer(engine.clone(), asked, next))
    }
}

/// Waits for the task that a call became.
async fn finish(client: Client, created: JsonText) -> Result<JsonText, Error> {
    TaskHandle::created(&client, &created)?.wait_text().await
}

impl TaskHandle {
    fn created(client: &Client, created: &JsonText) -> Result<Self, Error> {
        let task: DetailedTask = from_json(created.as_str())
            .map_err(|e| Error::new(ErrorKind::Protocol, "the task cannot be read").with_source(e))?;
        Ok(Self::new(client, task.task_id))
    }
}

impl std::fmt::Debug for ClientTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTasks").field("hosts", &self.store.is_some()).finish_non_exhaustive()
    }
}
