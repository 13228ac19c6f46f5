//! Servers that run tools as tasks.

mod asking;
mod core_wire;
mod methods;
mod run;
mod tool;

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

use asking::Told;
pub use tool::{Task, TaskTool};

/// The extension of a server that runs tools as tasks, on both wires.
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
    /// Tasks that are kept in a store.
    pub fn new(store: impl Store) -> Self {
        Self { store: Arc::new(store), limits: Limits::default(), list: false, asking: false }
    }

    /// Tasks that end with the process.
    pub fn in_memory() -> Self {
        Self::new(Memory::new())
    }

    /// How many tasks may run at the same time: 256 by default. More are refused.
    pub fn running(mut self, most: usize) -> Self {
        self.limits.running = most;
        self
    }

    /// For how long a task is kept at most, from its beginning: 24 hours by default. Clients may ask for less.
    pub fn max_ttl(mut self, ttl: Duration) -> Self {
        self.limits.ttl = ttl;
        self
    }

    /// How long clients are asked to wait between two looks: half a second by default.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.limits.poll_interval = interval;
        self
    }

    /// Limits how long one call of the store may take: 10 s by default. A result that cannot be stored is kept in memory
    /// and tried again until the task's time to live is over.
    pub fn store_timeout(mut self, limit: Duration) -> Self {
        self.limits.store = limit;
        self
    }

    /// Lets clients of 2025-11-25 list their tasks. Only for servers that know who asks: without authentication,
    /// everybody is the same and would see everybody's tasks.
    pub fn list(mut self) -> Self {
        self.list = true;
        self
    }

    /// Asks clients of 2025-11-25 that run questions as tasks in that way: what a tool asks with `elicit` or `sample` is
    /// answered at once with a task of the client's, which is looked at until it is done, and cancelled when the tool
    /// does not wait for it any more. Other clients are asked as always, and the tool does not know.
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
    /// let server = Server::new("ci", "1.0.0").extension(Tasks::in_memory().asking()).tool(tool("review", review));
    /// let client = Client::new("reviewer", "1.0.0")
    ///     .versions([ProtocolVersion::V2025_11_25])
    ///     .extension(ClientTasks::new().hosting(Memory::new()))
    ///     .on_elicit(|ask| async move { ask.accept(json!({ "good": true })) })
    ///     .connect(server.build())
    ///     .await?;
    /// assert_eq!(client.call("review", ()).await?.text(), "true");
    /// # Ok(())
    /// # }
    /// ```
    pub fn asking(mut self) -> Self {
        self.asking = true;
        self
    }
}

impl From<Tasks> for Extension {
    fn from(tasks: Tasks) -> Self {
        let Tasks { store, limits, list, asking } = tasks;
        let told = asking.then(Told::new);
        let engine = Arc::new(Engine::new(store, limits));
        let [run, get, update, cancel, result, page] = std::array::from_fn(|_| engine.clone());
        let [run_told, result_told] = [told.clone(), told.clone()];
        let mut extension = Self::new(TASKS_EXTENSION)
            .stateless()
            .result_type(run::KIND)
            .filter(run::FILTER)
            .named_method("tasks/get", "taskId", move |call, _| methods::get(get.clone(), call))
            .named_method("tasks/update", "taskId", move |call, _| methods::update(update.clone(), call))
            .named_method("tasks/cancel", "taskId", move |call, _| methods::cancel(cancel.clone(), call))
            .core_method("tasks/result", move |call, _| core_wire::result(result.clone(), result_told.clone(), call))
            .capabilities(move |can| declare(can, list))
            .tool_middleware(move |asked: ToolCall, next: ToolNext| {
                run::middleware(run.clone(), run_told.clone(), asked, next)
            });
        if let Some(told) = told {
            extension = extension.on_notification(move |note| told.hear(note));
        }
        if list {
            return extension.core_method("tasks/list", move |call, _| core_wire::list(page.clone(), call));
        }
        extension
    }
}

/// Tasks as a part of the protocol, where they are.
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
            .field("asking", &self.asking)
            .finish_non_exhaustive()
    }
}
