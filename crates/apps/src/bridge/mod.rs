//! The host's side of the protocol between host and view, as a state machine.

mod data;
mod outgoing;
mod receive;

use std::{collections::BTreeMap, fmt};

use couplet_types::{CallToolResult, RequestId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::tools::{AppTools, Refusal};

pub use data::{DisplayMode, Host, HostContext, ModelContext, ServerList, Size, ViewEvent, ViewMessage, ViewRequest};

/// The revision of the protocol between hosts and views.
const DIALECT: &str = "2026-01-26";

/// The error code of rejected requests.
const REFUSED: i32 = -32000;

/// The host's side of the connection to one view. It does no I/O: messages from the view go in, messages to the view
/// come out.
///
/// The order is enforced: the host sends nothing before the view is initialized, sends the tool input once and then
/// either the result or the cancellation, and requests a teardown before it removes the view. A call out of order is an
/// [`InvalidState`] error, and nothing reaches the view.
///
/// ```
/// use couplet_apps::{AppTools, Bridge, Host, ViewEvent};
/// use couplet_types::{CallToolResult, Implementation};
/// use serde_json::json;
///
/// let mut bridge = Bridge::new(Host::new(Implementation::new("host", "1.0.0")), AppTools::default());
/// assert!(bridge.tool_input(&json!({})).is_err(), "the view is not initialized");
///
/// let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ui/initialize", "params": {} });
/// let ViewEvent::Answer(welcome) = bridge.receive(&hello) else { panic!() };
/// assert_eq!(welcome["result"]["protocolVersion"], "2026-01-26");
/// bridge.receive(&json!({ "jsonrpc": "2.0", "method": "ui/notifications/initialized" }));
///
/// let input = bridge.tool_input(&json!({ "city": "Oslo" }))?;
/// let result = bridge.tool_result(&CallToolResult::text("Sunny"))?;
/// # let _ = (input, result);
/// # Ok::<(), couplet_apps::InvalidState>(())
/// ```
#[derive(Debug)]
pub struct Bridge {
    host: Host,
    tools: AppTools,
    stage: Stage,
    /// The display modes that the view supports, if it declares them.
    modes: Option<Vec<DisplayMode>>,
    /// Whether the view has tools of its own.
    has_tools: bool,
    /// The open requests to the view, by id.
    open: BTreeMap<i64, outgoing::Kind>,
    last_id: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The view is loading.
    Loading,
    /// `ui/initialize` was answered; the view is not ready.
    Greeted,
    /// The view is initialized and waits for the tool input.
    Ready,
    /// The view has the input and waits for the result.
    Running,
    /// The view has the result.
    Done,
    /// The teardown was requested.
    Leaving,
    /// The view can be removed.
    Gone,
}

impl Bridge {
    /// Creates a bridge to a view that is about to load. The view may call these tools: those of its own server.
    pub fn new(host: Host, tools: AppTools) -> Self {
        Self { host, tools, stage: Stage::Loading, modes: None, has_tools: false, open: BTreeMap::new(), last_id: 0 }
    }

    /// Returns the current display mode.
    pub fn display_mode(&self) -> DisplayMode {
        self.host.context.display_mode
    }

    /// Creates a notification with a part of the tool input. Any number of them may precede the input.
    ///
    /// # Errors
    /// Fails unless the view is initialized and waits for the input.
    pub fn tool_input_partial(&self, arguments: &impl Serialize) -> Result<Value, InvalidState> {
        self.at(&[Stage::Ready], "partial tool input")?;
        Ok(notification("ui/notifications/tool-input-partial", json!({ "arguments": arguments })))
    }

    /// Creates the notification with the tool input, once.
    ///
    /// # Errors
    /// Fails unless the view is initialized and waits for the input.
    pub fn tool_input(&mut self, arguments: &impl Serialize) -> Result<Value, InvalidState> {
        self.at(&[Stage::Ready], "the tool input")?;
        self.stage = Stage::Running;
        Ok(notification("ui/notifications/tool-input", json!({ "arguments": arguments })))
    }

    /// Creates the notification with the tool's result, once, after the input.
    ///
    /// # Errors
    /// Fails unless the view has the input and waits for the result.
    pub fn tool_result(&mut self, result: &CallToolResult) -> Result<Value, InvalidState> {
        self.at(&[Stage::Running], "the tool result")?;
        self.stage = Stage::Done;
        Ok(notification("ui/notifications/tool-result", json!(result)))
    }

    /// Creates the notification that the tool was cancelled and has no result, once, after the input.
    ///
    /// # Errors
    /// Fails unless the view has the input and waits for the result.
    pub fn tool_cancelled(&mut self, reason: &str) -> Result<Value, InvalidState> {
        self.at(&[Stage::Running], "the cancellation")?;
        self.stage = Stage::Done;
        Ok(notification("ui/notifications/tool-cancelled", json!({ "reason": reason })))
    }

    /// Creates the notification that members of the [`HostContext`] have changed.
    ///
    /// # Errors
    /// Fails if the view is not initialized, or is being removed.
    pub fn context_changed(&self, changes: &impl Serialize) -> Result<Value, InvalidState> {
        self.at(&[Stage::Ready, Stage::Running, Stage::Done], "a context change")?;
        Ok(notification("ui/notifications/host-context-changed", json!(changes)))
    }

    /// Creates the teardown request; `None` if the view is not initialized and can be removed at once. Otherwise remove
    /// the view on [`ViewEvent::TornDown`], or after a timeout of the host's choice.
    ///
    /// # Errors
    /// Fails if the teardown was requested before.
    pub fn teardown(&mut self, reason: &str) -> Result<Option<Value>, InvalidState> {
        if matches!(self.stage, Stage::Loading | Stage::Greeted) {
            self.stage = Stage::Gone;
            return Ok(None);
        }
        self.at(&[Stage::Ready, Stage::Running, Stage::Done], "a teardown request")?;
        self.stage = Stage::Leaving;
        let params = json!({ "reason": reason });
        Ok(Some(json!({ "jsonrpc": "2.0", "id": TEARDOWN, "method": "ui/resource-teardown", "params": params })))
    }

    /// Creates the response to a request of the view.
    pub fn answer(&self, id: &RequestId, result: &impl Serialize) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    }

    /// Creates the error response to a request of the view.
    pub fn refuse(&self, id: &RequestId, why: impl fmt::Display) -> Value {
        refused(&json!(id), &why.to_string())
    }

    /// Sets the display mode and creates the response to the view's request, which carries the mode in effect. A mode
    /// that the host does not support changes nothing.
    pub fn set_display_mode(&mut self, id: &RequestId, mode: DisplayMode) -> Value {
        if self.host.context.available_display_modes.contains(&mode) {
            self.host.context.display_mode = mode;
        }
        self.answer(id, &json!({ "mode": self.display_mode() }))
    }

    fn at(&self, stages: &[Stage], what: &'static str) -> Result<(), InvalidState> {
        if stages.contains(&self.stage) { Ok(()) } else { Err(InvalidState { what, why: Why::Stage(self.stage) }) }
    }
}

/// The id of the request for a teardown; other requests have numbers.
const TEARDOWN: &str = "teardown";

/// An error: a message to a view that is not valid in the current state of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidState {
    what: &'static str,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The connection is in this stage.
    Stage(Stage),
    /// The view does not declare tools.
    NoTools,
    /// Too many requests are open.
    Busy,
}

impl fmt::Display for InvalidState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.why {
            Why::Stage(Stage::Loading | Stage::Greeted) => "before the view is initialized",
            Why::Stage(Stage::Ready) => "before the tool input",
            Why::Stage(Stage::Running) => "after the tool input",
            Why::Stage(Stage::Done) => "after the result",
            Why::Stage(Stage::Leaving | Stage::Gone) => "after the teardown request",
            Why::NoTools => "to a view that declares no tools",
            Why::Busy => "while so many requests are open",
        };
        write!(f, "{} cannot be sent {when}", self.what)
    }
}

impl std::error::Error for InvalidState {}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn refused(id: &Value, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": REFUSED, "message": why } })
}

impl From<&'static str> for Refusal {
    fn from(why: &'static str) -> Self {
        Self(why.to_owned())
    }
}
