//! The server side: tools that run as tasks.

mod asking;
mod core_wire;
mod methods;
mod request;
mod rerun;
mod run;
mod tool;
mod wire;

use std::{sync::Arc, time::Duration};

use couplet_server::{Extension, ToolCall, ToolNext};
use couplet_types::{
    RawJson, ServerCapabilities, TASKS_EXTENSION, TaskRequestsCapability, TaskToolsCapability, TasksCapability,
};

use crate::{
    engine::{Engine, Limits},
    memory::Memory,
    store::Store,
};

use asking::StatusChanges;
pub use tool::{Task, TaskTool};

/// The tasks extension of a server, in both wire formats.
///
/// ```
/// use couplet_server::{Server, tool};
/// use couplet_tasks::{Task, TaskTool, Tasks};
///
/// async fn build() -> &'static str {
///     "built"
/// }
///
/// let server: Server = Server::new("ci", "1.0.0")
///     .extension(Tasks::in_memory())
///     .tool(tool("build", build).task(Task::optional()));
/// ```
#[derive(Clone)]
#[must_use = "register it with `Server::extension`"]
pub struct Tasks {
    store: Arc<dyn Store>,
    limits: Limits,
    list: bool,
    asking: bool,
}

impl Tasks {
    /// Creates the extension with a store.
    pub fn new(store: impl Store) -> Self {
        Self { store: Arc::new(store), limits: Limits::default(), list: false, asking: false }
    }

    /// Creates the extension with a [`Memory`] store: tasks are lost with the process.
    pub fn in_memory() -> Self {
        Self::new(Memory::new())
    }

    /// Sets how many tasks may run at the same time (default: 256). Further calls are rejected with an error.
    pub fn max_running(mut self, most: usize) -> Self {
        self.limits.running = most;
        self
    }

    /// Sets the maximum time to live of a task, counted from its creation (default: 24 hours). Clients may request
    /// less.
    pub fn max_ttl(mut self, ttl: Duration) -> Self {
        self.limits.ttl = ttl;
        self
    }

    /// Sets the interval at which clients are asked to poll (default: 500 ms).
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.limits.poll_interval = interval;
        self
    }

    /// Sets the timeout of each store operation (default: 10 s). A result that cannot be stored is held in memory and
    /// retried until the task's time to live has passed.
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.limits.store = limit;
        self
    }

    /// Sets the lease of a replica that runs tasks, where replicas share a store (default: 15 s). It is renewed at a third
    /// of that time. When it has expired, another replica reports the task as failed, or runs it again if its tool is
    /// [repeatable](Task::repeatable). The minimum is 10 ms.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.limits.lease = lease.max(Duration::from_millis(10));
        self
    }

    /// Enables `tasks/list` (2025-11-25). Use it on servers with authentication only: unauthenticated callers share one
    /// identity and would see each other's tasks.
    pub fn list(mut self) -> Self {
        self.list = true;
        self
    }

    /// Sends elicitation and sampling requests as task-augmented requests to clients that support them (2025-11-25).
    ///
    /// The client then answers a `ctx.elicit` or `ctx.sample` with a task of its own. The server polls that task until
    /// it ends, and cancels it when the handler is dropped. Other clients get plain requests; handlers do not see a
    /// difference.
    ///
    /// ```
    /// use couplet_client::Client;
    /// use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
    /// use couplet_tasks::{ClientTasks, Memory, Tasks};
    /// use couplet_types::ProtocolVersion;
    /// use serde_json::json;
    ///
    /// #[derive(serde::Deserialize, JsonSchema)]
    /// struct Review {
    ///     good: bool,
    /// }
    ///
    /// async fn review(ctx: Ctx) -> Result<String, ToolError> {
    ///     let review: Review = ctx.elicit("review", "Is it good?").await?.accepted()?;
    ///     Ok(review.good.to_string())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), couplet_core::Error> {
    /// let tasks = Tasks::in_memory().use_client_tasks();
    /// let server = Server::new("ci", "1.0.0").extension(tasks).tool(tool("review", review));
    /// let client = Client::new("reviewer", "1.0.0")
    ///     .versions([ProtocolVersion::V2025_11_25])
    ///     .extension(ClientTasks::new().accept_tasks(Memory::new()))
    ///     .on_elicit(|ask| async move { ask.accept(json!({ "good": true })) })
    ///     .connect(server.build())
    ///     .await?;
    /// assert_eq!(client.call("review", ()).await?.into_result()?.text(), "true");
    /// # Ok(())
    /// # }
    /// ```
    pub fn use_client_tasks(mut self) -> Self {
        self.asking = true;
        self
    }
}

impl From<Tasks> for Extension {
    fn from(tasks: Tasks) -> Self {
        let Tasks { store, limits, list, asking } = tasks;
        let changes = asking.then(StatusChanges::new);
        let engine = Arc::new(Engine::new(store, limits));
        let [run, get, update, cancel, result, page, counted, drained] = std::array::from_fn(|_| engine.clone());
        let [run_changes, result_changes] = [changes.clone(), changes.clone()];
        let mut extension = Self::new(TASKS_EXTENSION)
            .stateless()
            .result_type(run::KIND)
            .filter(run::FILTER)
            .named_method("tasks/get", "taskId", move |call, server| methods::get(get.clone(), call, server))
            .named_method("tasks/update", "taskId", move |call, server| methods::update(update.clone(), call, server))
            .named_method("tasks/cancel", "taskId", move |call, server| methods::cancel(cancel.clone(), call, server))
            .core_method("tasks/result", move |call, server| {
                core_wire::result(result.clone(), result_changes.clone(), call, server)
            })
            .capabilities(move |can| declare(can, list))
            .metrics(move || counted.metrics())
            .on_drain(move |grace| drained.clone().drain(grace))
            .tool_middleware(move |asked: ToolCall, next: ToolNext| {
                run::middleware(run.clone(), run_changes.clone(), asked, next)
            });
        if let Some(changes) = changes {
            extension = extension.on_notification(move |note| changes.receive(note));
        }
        if list {
            return extension
                .core_method("tasks/list", move |call, server| core_wire::list(page.clone(), call, server));
        }
        extension
    }
}

/// Declares tasks, in revisions where they are part of the protocol.
fn declare(can: &mut ServerCapabilities, list: bool) {
    let tools = TaskToolsCapability::new().call(RawJson::empty_object());
    let mut tasks =
        TasksCapability::new().cancel(RawJson::empty_object()).requests(TaskRequestsCapability::new().tools(tools));
    tasks.list = list.then(RawJson::empty_object);
    can.tasks = Some(tasks);
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks")
            .field("limits", &self.limits)
            .field("list", &self.list)
            .field("use_client_tasks", &self.asking)
            .finish_non_exhaustive()
    }
}
