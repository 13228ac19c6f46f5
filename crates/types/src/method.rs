//! The methods: one marker type for each, which ties its name to its parameters and its result, and one variant of an
//! enumeration for each that the protocol itself has.

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

/// A request: a method with a result.
///
/// ```
/// use couplet_types::{CallTool, CallToolParams, Request};
///
/// fn show<R: Request>(params: &R::Params) -> Result<String, serde_json::Error> {
///     Ok(format!("{} {}", R::METHOD, serde_json::to_string(params)?))
/// }
/// assert_eq!(show::<CallTool>(&CallToolParams::new("now"))?, r#"tools/call {"name":"now"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait Request: Send + Sync + 'static {
    /// The name of the method.
    const METHOD: &'static str;
    /// The method, if it is one of the protocol itself; `None` for a method of an extension.
    const KNOWN: Option<RequestMethod> = None;
    /// The extension that defines the method; `None` if the protocol itself does.
    const EXTENSION: Option<&'static str> = None;
    /// For a method of an extension, the parameter that names the request's target. Over HTTP, the header `Mcp-Name`
    /// repeats it.
    const NAMED_BY: Option<&'static str> = None;
    /// The parameters.
    type Params: Serialize + DeserializeOwned + HasMeta + fmt::Debug + Send + Sync + 'static;
    /// The result.
    type Result: Serialize + DeserializeOwned + HasMeta + fmt::Debug + Send + Sync + 'static;
}

/// A notification: a method without a result.
pub trait Notification: Send + Sync + 'static {
    /// The name of the method.
    const METHOD: &'static str;
    /// The parameters.
    type Params: Serialize + DeserializeOwned + HasMeta + fmt::Debug + Send + Sync + 'static;
}

/// Parameters or a result: any type with a `_meta` member.
pub trait HasMeta {
    /// Returns the map, if there is one.
    fn meta(&self) -> Option<&Meta>;

    /// Returns the member itself, to change it or to set one.
    fn meta_mut(&mut self) -> &mut Option<Meta>;
}

/// Writes the marker types of requests, and the enumeration of them.
macro_rules! requests {
    ($($(#[$meta:meta])* $name:ident = $method:literal, $params:ty => $result:ty;)*) => {
        $(
            #[doc = concat!("`", $method, "`: ")]
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Request for $name {
                const METHOD: &'static str = $method;
                const KNOWN: Option<RequestMethod> = Some(RequestMethod::$name);
                type Params = $params;
                type Result = $result;
            }
        )*

        /// A request of the protocol itself, in any revision.
        ///
        /// The enumeration grows with the specification, and a new variant is a breaking change on purpose: code that
        /// decides something for each method (a dispatcher, a proxy) must not compile until it has decided it for the
        /// new one. If you do not want that, end your `match` with `_`.
        ///
        /// ```
        /// use couplet_types::RequestMethod;
        ///
        /// assert_eq!(RequestMethod::from_name("tools/call"), Some(RequestMethod::CallTool));
        /// assert_eq!(RequestMethod::CallTool.as_str(), "tools/call");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum RequestMethod {
            $(
                #[doc = concat!("`", $method, "`, the method of [`", stringify!($name), "`](struct@", stringify!($name), ").")]
                $name,
            )*
        }

        enumerated!(RequestMethod $($name = $method,)*);
    };
}

/// Writes the marker types of notifications, and the enumeration of them.
macro_rules! notifications {
    ($($(#[$meta:meta])* $name:ident = $method:literal, $params:ty;)*) => {
        $(
            #[doc = concat!("`", $method, "`: ")]
            $(#[$meta])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Notification for $name {
                const METHOD: &'static str = $method;
                type Params = $params;
            }
        )*

        /// A notification of the protocol itself, in any revision.
        ///
        /// It grows with the specification, as [`RequestMethod`] does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum NotificationMethod {
            $(
                #[doc = concat!("`", $method, "`, the method of [`", stringify!($name), "`](struct@", stringify!($name), ").")]
                $name,
            )*
        }

        enumerated!(NotificationMethod $($name = $method,)*);
    };
}

/// Writes the functions that both enumerations have.
macro_rules! enumerated {
    ($enumeration:ident $($name:ident = $method:literal,)*) => {
        impl $enumeration {
            /// Every method, in the order of the variants.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the method's name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $method,)*
                }
            }

            /// Returns the method of this name; `None` if the protocol has none, in any revision.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($method => Some(Self::$name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $enumeration {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

// The methods of handlers come first, because names are looked up in this order.
requests! {
    /// calls a tool.
    CallTool = "tools/call", CallToolParams => CallToolResult;
    /// lists the tools.
    ListTools = "tools/list", ListToolsParams => ListToolsResult;
    /// reads a resource.
    ReadResource = "resources/read", ReadResourceParams => ReadResourceResult;
    /// lists the resources.
    ListResources = "resources/list", ListResourcesParams => ListResourcesResult;
    /// lists the resource templates.
    ListResourceTemplates = "resources/templates/list", ListResourceTemplatesParams => ListResourceTemplatesResult;
    /// gets the messages of a prompt.
    GetPrompt = "prompts/get", GetPromptParams => GetPromptResult;
    /// lists the prompts.
    ListPrompts = "prompts/list", ListPromptsParams => ListPromptsResult;
    /// completes an argument of a prompt or a resource template.
    Complete = "completion/complete", CompleteParams => CompleteResult;
    /// opens a session (up to 2025-11-25).
    Initialize = "initialize", InitializeParams => InitializeResult;
    /// checks that the other side responds (up to 2025-11-25).
    Ping = "ping", PingParams => EmptyResult;
    /// sets the minimum level of log messages (up to 2025-11-25).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    SetLevel = "logging/setLevel", SetLevelParams => EmptyResult;
    /// subscribes to updates of a resource (up to 2025-11-25).
    Subscribe = "resources/subscribe", SubscribeParams => EmptyResult;
    /// ends a subscription to a resource (up to 2025-11-25).
    Unsubscribe = "resources/unsubscribe", UnsubscribeParams => EmptyResult;
    /// returns the server's revisions and capabilities (2026-07-28).
    Discover = "server/discover", DiscoverParams => DiscoverResult;
    /// subscribes to changes (2026-07-28).
    Listen = "subscriptions/listen", ListenParams => ListenResult;
    /// returns the state of a task (2025-11-25).
    GetTask = "tasks/get", GetTaskParams => GetTaskResult;
    /// waits for the result of a task (2025-11-25).
    GetTaskPayload = "tasks/result", GetTaskPayloadParams => GetTaskPayloadResult;
    /// lists the tasks (2025-11-25).
    ListTasks = "tasks/list", ListTasksParams => ListTasksResult;
    /// cancels a task (2025-11-25).
    CancelTask = "tasks/cancel", CancelTaskParams => CancelTaskResult;
    /// requests a message from the client's model (sampling).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    CreateMessage = "sampling/createMessage", CreateMessageParams => CreateMessageResult;
    /// lists the client's roots.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    ListRoots = "roots/list", ListRootsParams => ListRootsResult;
    /// requests input from the user (elicitation).
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
    /// returns the state of a task (the extension of 2026-07-28).
    GetDetailedTask = "tasks/get", GetTaskParams => DetailedTask;
    /// passes input to a task (the extension of 2026-07-28).
    UpdateTask = "tasks/update", UpdateTaskParams => EmptyResult;
    /// cancels a task (the extension of 2026-07-28).
    CancelDetailedTask = "tasks/cancel", CancelTaskParams => EmptyResult;
}

notifications! {
    /// the client is ready (up to 2025-11-25).
    Initialized = "notifications/initialized", NotificationParams;
    /// a request was cancelled.
    Cancelled = "notifications/cancelled", CancelledParams;
    /// the progress of a request.
    Progress = "notifications/progress", ProgressParams;
    /// a log message.
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
    /// a resource was updated.
    ResourceUpdated = "notifications/resources/updated", ResourceUpdatedParams;
    /// the changes that a subscription covers (2026-07-28).
    SubscriptionAcknowledged = "notifications/subscriptions/acknowledged", SubscriptionAckParams;
    /// the client's roots changed (up to 2025-11-25).
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    RootsListChanged = "notifications/roots/list_changed", NotificationParams;
    /// a URL elicitation is complete (2025-11-25).
    ElicitationComplete = "notifications/elicitation/complete", ElicitationCompleteParams;
    /// the state of a task changed (2025-11-25).
    TaskStatusChanged = "notifications/tasks/status", TaskStatusParams;
}

/// `notifications/tasks`: the state of a task changed (the extension of 2026-07-28).
#[derive(Clone, Copy, Debug)]
pub struct TaskChanged;

impl Notification for TaskChanged {
    const METHOD: &'static str = "notifications/tasks";
    type Params = DetailedTask;
}

#[cfg(test)]
mod tests {
    use super::{NotificationMethod, RequestMethod};

    #[test]
    fn each_method_is_found_by_its_name_alone() {
        for (at, method) in RequestMethod::ALL.iter().enumerate() {
            assert_eq!(RequestMethod::from_name(method.as_str()), Some(*method));
            assert_eq!(*method as usize, at);
            assert_eq!(NotificationMethod::from_name(method.as_str()), None);
        }
        for (at, method) in NotificationMethod::ALL.iter().enumerate() {
            assert_eq!(NotificationMethod::from_name(method.as_str()), Some(*method));
            assert_eq!(*method as usize, at);
        }
        assert_eq!(RequestMethod::from_name("tools/call "), None);
    }
}
