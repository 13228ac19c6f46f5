//! Messages between a host and a view.

use couplet_types::{
    CallToolParams, CallToolResult, ContentBlock, CreateMessageParams, Implementation, ListToolsResult, LogParams,
    RawJson, RequestId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The display mode of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DisplayMode {
    /// Inside the conversation.
    #[default]
    Inline,
    /// Covering the whole screen.
    Fullscreen,
    /// Picture in picture: a small floating window.
    Pip,
}

/// The host's answer to `ui/initialize`: identity, capabilities and context.
///
/// ```
/// use couplet_apps::{DisplayMode, Host};
/// use couplet_types::Implementation;
/// use serde_json::json;
///
/// let mut host = Host::new(Implementation::new("host", "1.0.0"));
/// host.capabilities.insert("openLinks".to_owned(), json!({}));
/// host.context.available_display_modes = vec![DisplayMode::Inline, DisplayMode::Fullscreen];
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Host {
    /// Name and version of the host.
    pub info: Implementation,
    /// Capabilities towards views: `openLinks`, `downloadFile`, `serverTools`, `serverResources`, `sampling`, `logging` and
    /// others. Requests for downloads, lists of resources and sampling are rejected unless their capability is there.
    pub capabilities: Map<String, Value>,
    /// The context of the view.
    pub context: HostContext,
}

impl Host {
    /// Creates a host that shows views inline, without further capabilities.
    pub fn new(info: Implementation) -> Self {
        Self { info, capabilities: Map::new(), context: HostContext::default() }
    }
}

/// The context in which a view is shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostContext {
    /// The current display mode.
    pub display_mode: DisplayMode,
    /// The display modes that the host supports.
    pub available_display_modes: Vec<DisplayMode>,
    /// Further members: `theme`, `styles`, `locale`, `timeZone`, `toolInfo` and others.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Default for HostContext {
    fn default() -> Self {
        let display_mode = DisplayMode::Inline;
        Self { display_mode, available_display_modes: vec![display_mode], others: Map::new() }
    }
}

/// An event from a view, with the action that it requires of the host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ViewEvent {
    /// Send this response to the view. Nothing else is to be done.
    Answer(Value),
    /// The view is initialized: the host can send it the tool input.
    Initialized,
    /// Call a tool of the view's server and [answer](crate::Bridge::answer). The tool is visible to views.
    CallTool(RequestId, CallToolParams),
    /// Read a resource of the view's server and answer.
    ReadResource(RequestId, String),
    /// Request one page of a list of the view's server, from this cursor on, and answer with it.
    List(RequestId, ServerList, Option<String>),
    /// Ask the user whether to save these files and answer: embedded resources, and links to resources of the view's
    /// server.
    DownloadFile(RequestId, Vec<ContentBlock>),
    /// Sample the model, if the user agrees, and answer.
    Sample(RequestId, Box<CreateMessageParams>),
    /// Ask the user whether to open a link and answer. The URL is `http` or `https`.
    OpenLink(RequestId, String),
    /// Add a message to the conversation, if the user agrees, and answer.
    Message(RequestId, ViewMessage),
    /// Replace the context that this view gives to the model, and answer.
    UpdateContext(RequestId, ModelContext),
    /// Change the display mode and answer with [`Bridge::set_display_mode`](crate::Bridge::set_display_mode). Both
    /// sides support the mode.
    RequestDisplayMode(RequestId, DisplayMode),
    /// The view has changed its size.
    SizeChanged(Size),
    /// The view sent a log message.
    Log(LogParams),
    /// The tools of the view: the response to [`Bridge::view_tools`](crate::Bridge::view_tools).
    Tools(RequestId, ListToolsResult),
    /// The response to [`Bridge::call_view_tool`](crate::Bridge::call_view_tool).
    ToolResult(RequestId, Box<CallToolResult>),
    /// The view answered a request of the host with an error, or with a result that is invalid; the message is untrusted.
    Failed(RequestId, String),
    /// The tools of the view have changed.
    ToolsChanged,
    /// The view asks to be removed: [`Bridge::teardown`](crate::Bridge::teardown) does it, if the host agrees.
    RequestTeardown,
    /// The view has answered the teardown request and can be removed.
    TornDown,
    /// Nothing is to be done: the message was invalid, unknown or out of order.
    Ignored,
}

/// A list of a view's server that the view can request, or is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerList {
    /// The tools. Views are notified of changes, and do not request it.
    Tools,
    /// The resources.
    Resources,
    /// The resource templates, which change with the resources.
    ResourceTemplates,
    /// The prompts.
    Prompts,
}

/// A request of the host to a view.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ViewRequest {
    /// The id, which the [event](ViewEvent) of the response has.
    pub id: RequestId,
    /// The message to send to the view.
    pub message: Value,
}

/// A message that a view adds to the conversation.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct ViewMessage {
    /// The role of the sender, such as `user`.
    pub role: String,
    /// The content blocks.
    pub content: Vec<ContentBlock>,
}

/// Context that a view gives to the model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ModelContext {
    /// Content blocks for the model.
    pub content: Option<Vec<ContentBlock>>,
    /// The same as structured data.
    pub structured_content: Option<RawJson>,
}

/// The size of a view in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Size {
    /// The width.
    pub width: Option<f64>,
    /// The height.
    pub height: Option<f64>,
}

/// The parameters of `ui/initialize`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Greeting {
    #[serde(default)]
    pub(super) app_capabilities: AppCapabilities,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AppCapabilities {
    pub(super) available_display_modes: Option<Vec<DisplayMode>>,
    /// Set if the view has tools of its own.
    pub(super) tools: Option<RawJson>,
}
