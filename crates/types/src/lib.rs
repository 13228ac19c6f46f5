//! The messages of the Model Context Protocol as Rust types: one model for all five revisions.
//!
//! The model is a superset: a field that only some revisions have is an `Option`, which `couplet-core` removes for the
//! others. Schemas, arguments, structured content and `_meta` are preserved as received, in [`RawJson`].
//!
//! This crate has data types only: no transport, no era, no behaviour beyond constructors and validation.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod macros;

mod annotation;
mod capability;
mod completion;
mod content;
mod decode;
mod elicit;
mod elicit_check;
mod elicit_keywords;
mod elicit_schema;
mod error_data;
mod extension;
mod field;
mod implementation;
mod input;
mod json;
mod jsonrpc;
mod lifecycle;
mod log;
mod map;
mod meta;
mod method;
pub mod mime;
mod page;
mod progress;
mod prompt;
mod resource;
mod roots;
mod sampling;
mod subscription;
mod tagged;
mod task;
mod task_extension;
mod tool;
mod trace;
mod uri;
mod version;

pub use annotation::{Annotations, Role};
pub use capability::{
    ClientCapabilities, ElicitationCapability, PromptsCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, ServerCapabilities, TaskElicitationCapability, TaskRequestsCapability, TaskSamplingCapability,
    TaskToolsCapability, TasksCapability, ToolsCapability,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    PromptReference, ResourceTemplateReference,
};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, OtherContent, TextContent, ToolResultContent,
    ToolUseContent,
};
pub use decode::from_json;
pub use elicit::{ElicitAction, ElicitMode, ElicitParams, ElicitResult, ElicitationCompleteParams};
pub use elicit_schema::{
    BooleanSchema, Choices, ElicitSchema, EnumSchema, MultiEnumSchema, NumberSchema, PrimitiveSchema, StringFormat,
    StringSchema, TitledChoice,
};
pub use error_data::{MissingCapabilityData, UnsupportedVersionData, UrlElicitationRequiredData};
pub use extension::{APPS_EXTENSION, SKILLS_EXTENSION};
pub use implementation::{Icon, IconTheme, Implementation};
pub use input::{InputRequest, InputRequests, InputRequiredResult, InputResponses};
pub use json::{RawJson, is_json_type};
pub use jsonrpc::{ProgressToken, RequestId, RpcError, code};
pub use lifecycle::{DiscoverParams, DiscoverResult, InitializeParams, InitializeResult, PingParams};
pub use log::{LogParams, LoggingLevel, SetLevelParams};
pub use map::Map;
pub use meta::Meta;
pub use method::*;
pub use page::{CacheHints, CacheScope, EmptyResult, NotificationParams, PaginatedParams, ResultType};
pub use progress::{CancelledParams, ProgressParams};
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsParams, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    ListResourceTemplatesParams, ListResourceTemplatesResult, ListResourcesParams, ListResourcesResult,
    ReadResourceParams, ReadResourceResult, Resource, ResourceBody, ResourceContents, ResourceTemplate,
};
pub use roots::{ListRootsParams, ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingContent,
    SamplingMessage, StopReason, ToolChoice, ToolChoiceMode,
};
pub use subscription::{
    ListenParams, ListenResult, ResourceUpdatedParams, SubscribeParams, SubscriptionAckParams, SubscriptionFilter,
    UnsubscribeParams,
};
pub use task::{
    CancelTaskParams, CancelTaskResult, CreateTaskResult, GetTaskParams, GetTaskPayloadParams, GetTaskPayloadResult,
    GetTaskResult, ListTasksParams, ListTasksResult, RelatedTask, Task, TaskMetadata, TaskStatus, TaskStatusParams,
};
pub use task_extension::{DetailedTask, TASKS_EXTENSION, UpdateTaskParams};
pub use tool::{
    CallToolParams, CallToolResult, ListToolsParams, ListToolsResult, TaskSupport, Tool, ToolAnnotations, ToolExecution,
};
pub use trace::TraceContext;
pub use uri::{Captures, TemplateError, TemplateValue, UriTemplate};
pub use version::{ProtocolVersion, UnknownVersion};
