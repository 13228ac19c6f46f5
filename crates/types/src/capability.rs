//! Capabilities of clients and servers.
//!
//! Where the protocol says `{}`, any settings are preserved as received; [`RawJson::empty_object`] declares such a
//! capability.

use serde::{Deserialize, Serialize};

use crate::{Map, RawJson};

/// The capabilities of a client.
///
/// ```
/// use couplet_types::{ClientCapabilities, ElicitationCapability};
///
/// let capabilities = ClientCapabilities::new().elicitation(ElicitationCapability::new());
/// assert_eq!(serde_json::to_string(&capabilities)?, r#"{"elicitation":{}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Non-standard capabilities, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It lists its roots.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// It supports sampling.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It supports elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It runs requests as tasks (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// Extensions and their settings, by identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<RawJson>>,
}

impl ClientCapabilities {
    /// Creates an empty value.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ClientCapabilities {
    into { experimental: Map<RawJson>, extensions: Map<RawJson> }
    value {
        roots: RootsCapability,
        sampling: SamplingCapability,
        elicitation: ElicitationCapability,
        tasks: TasksCapability,
    }
} }

/// The capabilities of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Non-standard capabilities, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It sends log messages.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<RawJson>,
    /// It supports completion of arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<RawJson>,
    /// It has prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<PromptsCapability>,
    /// It has resources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesCapability>,
    /// It has tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolsCapability>,
    /// It runs requests as tasks (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<TasksCapability>,
    /// Extensions and their settings, by identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Map<RawJson>>,
}

impl ServerCapabilities {
    /// Creates an empty value.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ServerCapabilities {
    into {
        experimental: Map<RawJson>,
        logging: RawJson,
        completions: RawJson,
        extensions: Map<RawJson>,
    }
    value {
        prompts: PromptsCapability,
        resources: ResourcesCapability,
        tools: ToolsCapability,
        tasks: TasksCapability,
    }
} }

/// Declares a capability struct whose members are all optional.
macro_rules! capability {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
        }

        impl $name {
            /// Creates the capability without any members.
            pub fn new() -> Self {
                Self::default()
            }
        }

        setters! { $name { value { $($field: $type),* } } }
    };
}

capability! {
    /// The client lists its roots.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    RootsCapability {
        /// It notifies of changes (up to 2025-11-25).
        list_changed: bool,
    }
}

capability! {
    /// The client supports sampling.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    SamplingCapability {
        /// It supports `includeContext`.
        context: RawJson,
        /// It supports tools in sampling.
        tools: RawJson,
    }
}

capability! {
    /// The client supports elicitation.
    ElicitationCapability {
        /// Form elicitation.
        form: RawJson,
        /// URL elicitation.
        url: RawJson,
    }
}

impl ElicitationCapability {
    /// Returns whether form elicitation is supported: it is if declared, and if neither mode is declared.
    pub fn allows_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Returns whether URL elicitation is supported.
    pub fn allows_url(&self) -> bool {
        self.url.is_some()
    }
}

capability! {
    /// The server has prompts.
    PromptsCapability {
        /// It notifies of changes of the list.
        list_changed: bool,
    }
}

capability! {
    /// The server has resources.
    ResourcesCapability {
        /// It supports subscriptions to resources.
        subscribe: bool,
        /// It notifies of changes of the list.
        list_changed: bool,
    }
}

capability! {
    /// The server has tools.
    ToolsCapability {
        /// It notifies of changes of the list.
        list_changed: bool,
    }
}

capability! {
    /// The peer runs requests as tasks (2025-11-25).
    TasksCapability {
        /// It supports `tasks/list`.
        list: RawJson,
        /// It supports `tasks/cancel`.
        cancel: RawJson,
        /// The requests that can be tasks.
        requests: TaskRequestsCapability,
    }
}

capability! {
    /// The requests that can be tasks (2025-11-25).
    TaskRequestsCapability {
        /// Tool requests; servers only.
        tools: TaskToolsCapability,
        /// Sampling requests; clients only.
        sampling: TaskSamplingCapability,
        /// Elicitation requests; clients only.
        elicitation: TaskElicitationCapability,
    }
}

capability! {
    /// The tool requests that can be tasks (2025-11-25).
    TaskToolsCapability {
        /// `tools/call`.
        call: RawJson,
    }
}

capability! {
    /// The sampling requests that can be tasks (2025-11-25).
    TaskSamplingCapability {
        /// `sampling/createMessage`.
        create_message: RawJson,
    }
}

capability! {
    /// The elicitation requests that can be tasks (2025-11-25).
    TaskElicitationCapability {
        /// `elicitation/create`.
        create: RawJson,
    }
}
