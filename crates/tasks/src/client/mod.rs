//! The client side: waiting for tasks, and running requests of servers as tasks.

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

/// The tasks extension of a client.
///
/// With it, [`Client::call`] waits for the result of a call that becomes a task, and [`CallTask`] gives access to the
/// task itself.
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
    /// Creates the extension. It waits for the tasks of servers and accepts none from them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts task-augmented `elicitation/create` and `sampling/createMessage` requests (2025-11-25), and stores their
    /// tasks. The server is notified of status changes.
    pub fn accept_tasks(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets how many such tasks may run at the same time (default: 256). Further requests are rejected with an error.
    pub fn max_running(mut self, most: usize) -> Self {
        self.limits.running = most;
        self
    }

    /// Sets the maximum time to live of such a task, counted from its creation (default: 24 hours).
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
        extension
            .capabilities(host::declare)
            .on_server_request(move |asked, next| host::answer(engine.clone(), asked, next))
    }
}

/// Waits for the task that a call became.
async fn finish(client: Client, created: JsonText) -> Result<JsonText, Error> {
    TaskHandle::created(&client, &created)?.wait_text().await
}

impl TaskHandle {
    fn created(client: &Client, created: &JsonText) -> Result<Self, Error> {
        let task: DetailedTask = from_json(created.as_str())
            .map_err(|e| Error::new(ErrorKind::Protocol, "the task cannot be parsed").with_source(e))?;
        Ok(Self::new(client, task.task_id))
    }
}

impl std::fmt::Debug for ClientTasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientTasks").field("accepts_tasks", &self.store.is_some()).finish_non_exhaustive()
    }
}
