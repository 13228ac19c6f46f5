//! Tools: functions that a model can call.

use serde::{Deserialize, Serialize};

use crate::{
    CacheScope, ContentBlock, Icon, InputResponses, Meta, PaginatedParams, RawJson, ResultType, TaskMetadata, content,
    field,
};

/// A tool, as a server lists it.
///
/// ```
/// use couplet_types::{RawJson, Tool};
///
/// let schema = RawJson::from_text(r#"{"type":"object","properties":{"a":{"type":"number"}}}"#)?;
/// let tool = Tool::new("add", schema).title("Add").description("Adds numbers.");
/// assert_eq!(tool.display_name(), "Add");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Tool {
    /// The programmatic name.
    pub name: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The description, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: RawJson,
    /// The JSON Schema of the structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints on the behaviour of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// The execution options (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Icons to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Tool {
    /// Creates a tool with a name and the JSON Schema of its arguments.
    pub fn new(name: impl Into<String>, input_schema: impl Into<RawJson>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
        }
    }

    /// Returns the name to show to users: the title, or the annotations' title, or the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref().and_then(|annotations| annotations.title.as_deref());
        self.title.as_deref().or_else(annotated).unwrap_or(&self.name)
    }
}

setters! { Tool {
    into { title: String, description: String, output_schema: RawJson, meta: Meta }
    value { annotations: ToolAnnotations, execution: ToolExecution, icons: Vec<Icon> }
} }

/// Hints on the behaviour of a tool. They are not guarantees: do not rely on those of an untrusted server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the tool does not modify its environment. `false` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether the tool may perform destructive updates. `true` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether repeated calls with the same arguments have no further effect. `false` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether the tool interacts with external systems. `true` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// Creates a value without any hints.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ToolAnnotations {
    into { title: String }
    value { read_only_hint: bool, destructive_hint: bool, idempotent_hint: bool, open_world_hint: bool }
} }

/// The execution options of a tool (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether a call may, or has to, run as a task. `forbidden` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

impl ToolExecution {
    /// Creates empty options.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ToolExecution { value { task_support: TaskSupport } } }

open_strings! {
    /// Whether calls of a tool run as tasks (2025-11-25).
    TaskSupport {
        /// Calls cannot run as tasks.
        Forbidden = "forbidden",
        /// Calls run as tasks if the caller requests it.
        Optional = "optional",
        /// Calls have to run as tasks.
        Required = "required",
    }
}

/// Parameters of `tools/list`.
pub type ListToolsParams = PaginatedParams;

/// Result of `tools/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// The tools on this page.
    pub tools: Vec<Tool>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The time in milliseconds for which the result may be cached.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Whether the cached result may be shared between callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListToolsResult {
    /// Creates a page of tools.
    pub fn new(tools: Vec<Tool>) -> Self {
        Self { tools, ..Self::default() }
    }
}

setters! { ListToolsResult {
    into { next_cursor: String, meta: Meta }
    value { ttl_ms: u64, cache_scope: CacheScope, result_type: ResultType }
} }

/// Parameters of `tools/call`.
#[doc(alias = "CallToolRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolParams {
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Requests to run the call as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The responses to the input requests of the previous round (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The request state of the previous round, returned unchanged (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolParams {
    /// Creates the parameters of a call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

setters! { CallToolParams {
    into { arguments: RawJson, request_state: String, meta: Meta }
    value { task: TaskMetadata, input_responses: InputResponses }
} }

/// Result of `tools/call`.
///
/// ```
/// use couplet_types::CallToolResult;
///
/// let result = CallToolResult::error("no such city");
/// assert_eq!(result.is_error, Some(true));
/// assert_eq!(result.all_text(), "no such city");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CallToolResult {
    /// The content, for the model.
    pub content: Vec<ContentBlock>,
    /// The structured content: an object before 2026-07-28, any value since. `null` is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::present")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolResult {
    /// Creates a result of content blocks.
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self { content, ..Self::default() }
    }

    /// Creates a result of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// Creates a failed result (`isError`), with a text for the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).is_error(true)
    }

    /// Returns the text of all text blocks, concatenated.
    pub fn all_text(&self) -> String {
        content::all_text(&self.content)
    }

    /// Returns whether the tool failed (`isError`).
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }
}

setters! { CallToolResult {
    into { structured_content: RawJson, meta: Meta }
    value { is_error: bool, result_type: ResultType }
} }

has_meta!(ListToolsResult, CallToolParams, CallToolResult);
