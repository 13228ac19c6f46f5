//! Tools: what a server can do for a model.

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
    /// The name for programs.
    pub name: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON Schema of the arguments.
    pub input_schema: RawJson,
    /// The JSON Schema of the structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<RawJson>,
    /// Hints on how it behaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<ToolAnnotations>,
    /// How it may be run (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<ToolExecution>,
    /// Pictures to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl Tool {
    /// A tool with a name and the JSON Schema of its arguments.
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

    /// What to show to people: the title, or the annotations' title, or the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref().and_then(|annotations| annotations.title.as_deref());
        self.title.as_deref().or_else(annotated).unwrap_or(&self.name)
    }
}

setters! { Tool {
    into { title: String, description: String, output_schema: RawJson, meta: Meta }
    value { annotations: ToolAnnotations, execution: ToolExecution, icons: Vec<Icon> }
} }

/// Hints on how a tool behaves. Nobody has to keep to them, so do not trust those of a server that you do not trust.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it leaves its surroundings alone. Taken as false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// Whether it may destroy something. Taken as true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Whether calling it twice does no more than calling it once. Taken as false when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Whether it deals with the world outside. Taken as true when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

impl ToolAnnotations {
    /// No hints yet.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ToolAnnotations {
    into { title: String }
    value { read_only_hint: bool, destructive_hint: bool, idempotent_hint: bool, open_world_hint: bool }
} }

/// How a tool may be run (2025-11-25).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether a call may, or has to, run as a task. Taken as forbidden when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_support: Option<TaskSupport>,
}

impl ToolExecution {
    /// Nothing said yet.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ToolExecution { value { task_support: TaskSupport } } }

open_strings! {
    /// Whether calls of a tool run as tasks (2025-11-25).
    TaskSupport {
        /// Never.
        Forbidden = "forbidden",
        /// When the caller asks for it.
        Optional = "optional",
        /// Always.
        Required = "required",
    }
}

/// Parameters of `tools/list`.
pub type ListToolsParams = PaginatedParams;

/// The answer to `tools/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListToolsResult {
    /// The tools on this page.
    pub tools: Vec<Tool>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// For how many milliseconds the answer may be reused.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::ttl")]
    pub ttl_ms: Option<u64>,
    /// Who may share a stored copy of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListToolsResult {
    /// A page of tools.
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
    /// The tool.
    pub name: String,
    /// The arguments: an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<RawJson>,
    /// Asks to run the call as a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The answers to what the previous round asked for (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_responses: Option<InputResponses>,
    /// The state that the previous round handed out, returned unchanged (2026-07-28).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_state: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolParams {
    /// A call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

setters! { CallToolParams {
    into { arguments: RawJson, request_state: String, meta: Meta }
    value { task: TaskMetadata, input_responses: InputResponses }
} }

/// The answer to `tools/call`.
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
    /// What the tool says.
    pub content: Vec<ContentBlock>,
    /// The same as data: an object before 2026-07-28, any value since. `null` is a value.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "field::present")]
    pub structured_content: Option<RawJson>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CallToolResult {
    /// A result made of blocks.
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self { content, ..Self::default() }
    }

    /// A result that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// A failure of the tool that the model should read.
    pub fn error(text: impl Into<String>) -> Self {
        Self::text(text).is_error(true)
    }

    /// The text of all text blocks, one after the other.
    pub fn all_text(&self) -> String {
        content::all_text(&self.content)
    }

    /// Whether the tool says that it failed.
    pub fn failed(&self) -> bool {
        self.is_error == Some(true)
    }
}

setters! { CallToolResult {
    into { structured_content: RawJson, meta: Meta }
    value { is_error: bool, result_type: ResultType }
} }

has_meta!(ListToolsResult, CallToolParams, CallToolResult);
