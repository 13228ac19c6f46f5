//! What a client and a server can do.
//!
//! Where the protocol says `{}`, any settings are kept as they were written; [`RawJson::empty_object`] switches such
//! a capability on.

use serde::{Deserialize, Serialize};

use crate::{Map, RawJson};

/// What a client can do.
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
    /// Things outside of the protocol, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It tells its roots.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// It lets servers ask its model.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It lets servers ask the person.
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
    /// Nothing yet.
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

/// What a server can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// Things outside of the protocol, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<Map<RawJson>>,
    /// It writes to the client's log.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with
    /// OpenTelemetry, instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logging: Option<RawJson>,
    /// It completes arguments.
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
    /// Nothing yet.
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

/// Declares a capability whose members are all optional.
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
            /// The capability, with nothing more said.
            pub fn new() -> Self {
                Self::default()
            }
        }

        setters! { $name { value { $($field: $type),* } } }
    };
}

capability! {
    /// The client tells its roots.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: take folders as arguments of tools, as
    /// resources or from the configuration instead.
    RootsCapability {
        /// It says when they change (up to 2025-11-25).
        list_changed: bool,
    }
}

capability! {
    /// The client lets servers ask its model.
    ///
    /// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: ask a model through its provider instead.
    SamplingCapability {
        /// It can add the context of servers.
        context: RawJson,
        /// Its model can ask for tools.
        tools: RawJson,
    }
}

capability! {
    /// The client lets servers ask the person.
    ElicitationCapability {
        /// With forms.
        form: RawJson,
        /// With addresses to visit.
        url: RawJson,
    }
}

impl ElicitationCapability {
    /// Whether forms work: they do when said so, and when nothing is said.
    pub fn allows_form(&self) -> bool {
        self.form.is_some() || self.url.is_none()
    }

    /// Whether addresses to visit work.
    pub fn allows_url(&self) -> bool {
        self.url.is_some()
    }
}

capability! {
    /// The server has prompts.
    PromptsCapability {
        /// It says when the list changes.
        list_changed: bool,
    }
}

capability! {
    /// The server has resources.
    ResourcesCapability {
        /// It says when a resource changes.
        subscribe: bool,
        /// It says when the list changes.
        list_changed: bool,
    }
}

capability! {
    /// The server has tools.
    ToolsCapability {
        /// It says when the list changes.
        list_changed: bool,
    }
}

capability! {
    /// A peer runs requests as tasks (2025-11-25).
    TasksCapability {
        /// It lists them.
        list: RawJson,
        /// It cancels them.
        cancel: RawJson,
        /// Which requests can be tasks.
        requests: TaskRequestsCapability,
    }
}

capability! {
    /// Which requests can be tasks (2025-11-25).
    TaskRequestsCapability {
        /// Requests about tools; servers only.
        tools: TaskToolsCapability,
        /// Requests to the model; clients only.
        sampling: TaskSamplingCapability,
        /// Requests to the person; clients only.
        elicitation: TaskElicitationCapability,
    }
}

capability! {
    /// Which requests about tools can be tasks (2025-11-25).
    TaskToolsCapability {
        /// `tools/call`.
        call: RawJson,
    }
}

capability! {
    /// Which requests to the model can be tasks (2025-11-25).
    TaskSamplingCapability {
        /// `sampling/createMessage`.
        create_message: RawJson,
    }
}

capability! {
    /// Which requests to the person can be tasks (2025-11-25).
    TaskElicitationCapability {
        /// `elicitation/create`.
        create: RawJson,
    }
}
