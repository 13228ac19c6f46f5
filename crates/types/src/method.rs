//! The methods: one marker type for each, which ties its name to its parameters and its result.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    CallToolParams, CallToolResult, CancelTaskParams, CancelTaskResult, CancelledParams, CompleteParams,
    CompleteResult, CreateMessageParams, CreateMessageResult, DetailedTask, DiscoverParams, DiscoverResult,
    ElicitParams, ElicitResult, ElicitationCompleteParams, EmptyResult, GetPromptParams, GetPromptResult,
    GetTaskParams, GetTaskPayloadParams, GetTaskPayloadResult, GetTaskResult, InitializeParams, InitializeResult,
    ListPromptsParams, ListPromptsResult, ListResourceTemplatesParams, ListResourceTemplatesResult,
    ListResourcesParams, ListResourcesResult, ListRootsParams, ListRootsResult, ListTasksParams, ListTasksResult,
    ListToolsParams, ListToolsResult, ListenParams, ListenResult, LogParams, Meta, NotificationParams, PingParams,
    ProgressParams, ReadResourceParams, ReadResourceResult, ResourceUpdatedParams, SetLevelParams, SubscribeParams,
    SubscriptionAckParams, TASKS_EXTENSION, TaskStatusParams, UnsubscribeParams, UpdateTaskParams,
};

/// A method that is answered.
///
/// ```
/// use couplet_types::{CallTool, CallToolParams, Request};
///
/// fn print<R: Request>(params: &R::Params) -> Result<String, serde_json::Error> {
///     Ok(format!("{} {}", R::METHOD, serde_json::to_string(params)?))
/// }
/// assert_eq!(print::<CallTool>(&CallToolParams::new("now"))?, r#"tools/call {"name":"now"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Request: Send + Sync + 'static {
    /// The name of the method.
    const METHOD: &'static str;
    /// The extension that has the method; `None` if the protocol itself has it.
    const EXTENSION: Option<&'static str> = None;
    /// The parameter that names what the request is about, if an extension has one: over HTTP it is mirrored in a
    /// header.
    const NAMED_BY: Option<&'static str> = None;
    /// What is asked.
    type Params: Serialize + DeserializeOwned + HasMeta + fmt::Debug + Send + Sync + 'static;
    /// What is answered.
    type Result: Serialize + DeserializeOwned + HasMeta + fmt::Debug + Send + Sync + 'static;
}

/// A method that is not answered.
pub trait Notification: Send + Sync + 'static {
    /// The name of the method.
    const METHOD: &'static str;
    /// What is said.
    type Params: Serialize + DeserializeOwned + HasMeta + fmt::Debug + Send + Sync + 'static;
}

/// Something with a `_meta` member: all parameters and all results.
pub trait HasMeta {
    /// The map, if there is one.
    fn meta(&self) -> Option<&Meta>;

    /// The place of the map, to change it or to put one there.
    fn meta_mut(&mut self) -> &mut Option<Meta>;
}

macro_rules! requests {
    ($($(#[$meta:meta])* $name:ident = $method:literal, $params:ty => $result:ty;)*) => {$(
        #[doc = concat!("`", $method, "`: ")]
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Request for $name {
            const METHOD: &'static str = $method;
            type Params = $params;
            type Result = $result;
        }
    )*};
}

macro_rules! notifications {
    ($($(#[$meta:meta])* $name:ident = $method:literal, $params:ty;)*) => {$(
        #[doc = concat!("`", $method, "`: ")]
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Notification for $name {
            const METHOD: &'static str = $method;
            type Params = $params;
        }
    )*};
}

requests! {
    /// opens a session (up to 2025-11-25).
    Initialize = "initialize", InitializeParams => InitializeResult;
    /// asks what a server speaks and can do (2026-07-28).
    Discover = "server/discover", DiscoverParams => DiscoverResult;
    /// asks whether the other side is there (up to 2025-11-25).
    Ping = "ping", PingParams => EmptyResult;
    /// asks for the tools.
    ListTools = "tools/list", ListToolsParams => ListToolsResult;
    /// calls a tool.
    CallTool = "tools/call", CallToolParams => CallToolResult;
    /// asks for the resources.
    ListResources = "resources/list", ListResourcesParams => ListResourcesResult;
    /// asks for the resource templates.
    ListResourceTemplates = "resources/templates/list", ListResourceTemplatesParams => ListResourceTemplatesResult;
    /// reads a resource.
    ReadResource = "resources/read", ReadResourceParams => ReadResourceResult;
    /// asks to be told about a resource (up to 2025-11-25).
    Subscribe = "resources/subscribe", SubscribeParams => EmptyResult;
    /// ends that (up to 2025-11-25).
    Unsubscribe = "resources/unsubscribe", UnsubscribeParams => EmptyResult;
    /// asks to be told about changes (2026-07-28).
    Listen = "subscriptions/listen", ListenParams => ListenResult;
    /// asks for the prompts.
    ListPrompts = "prompts/list", ListPromptsParams => ListPromptsResult;
    /// asks for a prompt's messages.
    GetPrompt = "prompts/get", GetPromptParams => GetPromptResult;
    /// asks for suggestions.
    Complete = "completion/complete", CompleteParams => CompleteResult;
    /// sets how much is logged (up to 2025-11-25).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    SetLevel = "logging/setLevel", SetLevelParams => EmptyResult;
    /// asks how a task is going (2025-11-25).
    GetTask = "tasks/get", GetTaskParams => GetTaskResult;
    /// waits for a task's result (2025-11-25).
    GetTaskPayload = "tasks/result", GetTaskPayloadParams => GetTaskPayloadResult;
    /// asks for the tasks (2025-11-25).
    ListTasks = "tasks/list", ListTasksParams => ListTasksResult;
    /// stops a task (2025-11-25).
    CancelTask = "tasks/cancel", CancelTaskParams => CancelTaskResult;
    /// asks the client's model for a message.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    CreateMessage = "sampling/createMessage", CreateMessageParams => CreateMessageResult;
    /// asks the client for its roots.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    ListRoots = "roots/list", ListRootsParams => ListRootsResult;
    /// asks the person something.
    Elicit = "elicitation/create", ElicitParams => ElicitResult;
}

/// Methods of the tasks extension, which are all about one task.
macro_rules! task_requests {
    ($($(#[$meta:meta])* $name:ident = $method:literal, $params:ty => $result:ty;)*) => {$(
        #[doc = concat!("`", $method, "`: ")]
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Request for $name {
            const METHOD: &'static str = $method;
            const EXTENSION: Option<&'static str> = Some(TASKS_EXTENSION);
            const NAMED_BY: Option<&'static str> = Some("taskId");
            type Params = $params;
            type Result = $result;
        }
    )*};
}

task_requests! {
    /// asks how a task is going (the extension of 2026-07-28).
    GetDetailedTask = "tasks/get", GetTaskParams => DetailedTask;
    /// hands input to a task (the extension of 2026-07-28).
    UpdateTask = "tasks/update", UpdateTaskParams => EmptyResult;
    /// asks a task to stop (the extension of 2026-07-28).
    CancelDetailedTask = "tasks/cancel", CancelTaskParams => EmptyResult;
}

notifications! {
    /// the session is open (up to 2025-11-25).
    Initialized = "notifications/initialized", NotificationParams;
    /// a request is no longer wanted.
    Cancelled = "notifications/cancelled", CancelledParams;
    /// how far a request is.
    Progress = "notifications/progress", ProgressParams;
    /// a line for the log.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    LogMessage = "notifications/message", LogParams;
    /// the list of tools changed.
    ToolListChanged = "notifications/tools/list_changed", NotificationParams;
    /// the list of prompts changed.
    PromptListChanged = "notifications/prompts/list_changed", NotificationParams;
    /// the list of resources changed.
    ResourceListChanged = "notifications/resources/list_changed", NotificationParams;
    /// a resource changed.
    ResourceUpdated = "notifications/resources/updated", ResourceUpdatedParams;
    /// what a subscription covers (2026-07-28).
    SubscriptionAcknowledged = "notifications/subscriptions/acknowledged", SubscriptionAckParams;
    /// the client's roots changed (up to 2025-11-25).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    RootsListChanged = "notifications/roots/list_changed", NotificationParams;
    /// a visit is over (2025-11-25).
    ElicitationComplete = "notifications/elicitation/complete", ElicitationCompleteParams;
    /// a task changed (2025-11-25).
    TaskStatusChanged = "notifications/tasks/status", TaskStatusParams;
    /// a task changed (the extension of 2026-07-28).
    TaskChanged = "notifications/tasks", DetailedTask;
}
