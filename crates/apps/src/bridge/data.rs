//! What a host and a view tell each other.

use couplet_types::{CallToolParams, ContentBlock, Implementation, LogParams, RawJson, RequestId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a view is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DisplayMode {
    /// In the conversation.
    #[default]
    Inline,
    /// On the whole screen.
    Fullscreen,
    /// In a small window above everything else.
    Pip,
}

/// What a host says about itself.
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
    /// Its name and version.
    pub info: Implementation,
    /// What it can do for views: `openLinks`, `serverTools`, `serverResources`, `logging` and more.
    pub capabilities: Map<String, Value>,
    /// What is around the view.
    pub context: HostContext,
}

impl Host {
    /// A host that shows views in the conversation, and nothing else.
    pub fn new(info: Implementation) -> Self {
        Self { info, capabilities: Map::new(), context: HostContext::default() }
    }
}

/// What is around a view.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostContext {
    /// How the view is shown now.
    pub display_mode: DisplayMode,
    /// How it can be shown.
    pub available_display_modes: Vec<DisplayMode>,
    /// Everything else: `theme`, `styles`, `locale`, `timeZone`, `toolInfo` and more.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

impl Default for HostContext {
    fn default() -> Self {
        let display_mode = DisplayMode::Inline;
        Self { display_mode, available_display_modes: vec![display_mode], others: Map::new() }
    }
}

/// What came from a view, and what the host has to do about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FromView {
    /// Nothing but to send this answer to the view.
    Answer(Value),
    /// The view is there: from now on it can be told something.
    Initialized,
    /// Call a tool of the view's server, and [answer](crate::Bridge::answer). The view may call it.
    CallTool(RequestId, CallToolParams),
    /// Read a resource of the view's server, and answer.
    ReadResource(RequestId, String),
    /// Ask the person whether to open a page, and answer. It is an address of the web.
    OpenLink(RequestId, String),
    /// Put a message into the conversation, if the person agrees, and answer.
    Message(RequestId, ViewMessage),
    /// Tell the model this from now on, in place of what the view said before, and answer.
    UpdateContext(RequestId, ModelContext),
    /// Show the view in another way, and answer with [`Bridge::shown`](crate::Bridge::shown). The host has this way.
    ShowAs(RequestId, DisplayMode),
    /// The view has another size.
    SizeChanged(Size),
    /// The view logs something.
    Log(LogParams),
    /// The view is ready to be removed.
    Removable,
    /// Nothing.
    Nothing,
}

/// A message that a view wants to put into the conversation.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct ViewMessage {
    /// In whose name.
    pub role: String,
    /// What it says.
    pub content: Vec<ContentBlock>,
}

/// What a view tells the model.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ModelContext {
    /// For the model to read.
    pub content: Option<Vec<ContentBlock>>,
    /// As data.
    pub structured_content: Option<RawJson>,
}

/// How large a view is, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Size {
    /// How wide.
    pub width: Option<f64>,
    /// How high.
    pub height: Option<f64>,
}

/// What a view says about itself.
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
}
