//! The host's side of a conversation with a view: what may be said when.

mod data;
mod receive;

use std::fmt;

use couplet_types::{CallToolResult, RequestId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::tools::{AppTools, Refusal};

pub use data::{DisplayMode, FromView, Host, HostContext, ModelContext, Size, ViewMessage};

/// The revision of what hosts and views speak.
const DIALECT: &str = "2026-01-26";

/// The code of an error that a view gets.
const REFUSED: i32 = -32000;

/// A conversation with one view. It moves no messages: what comes from the view goes in, what is to be sent comes out.
///
/// The host says nothing before the view is there, tells it the input of its tool once and then the result or that there
/// is none, and asks it before it is removed. What is not in this order is an error here, and not in the view.
///
/// ```
/// use couplet_apps::{AppTools, Bridge, FromView, Host};
/// use couplet_types::{CallToolResult, Implementation};
/// use serde_json::json;
///
/// let mut bridge = Bridge::new(Host::new(Implementation::new("host", "1.0.0")), AppTools::default());
/// assert!(bridge.tool_input(&json!({})).is_err(), "nobody is there yet");
///
/// let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ui/initialize", "params": {} });
/// let FromView::Answer(welcome) = bridge.receive(&hello) else { panic!() };
/// assert_eq!(welcome["result"]["protocolVersion"], "2026-01-26");
/// bridge.receive(&json!({ "jsonrpc": "2.0", "method": "ui/notifications/initialized" }));
///
/// let input = bridge.tool_input(&json!({ "city": "Oslo" }))?;
/// let result = bridge.tool_result(&CallToolResult::text("Sunny"))?;
/// # let _ = (input, result);
/// # Ok::<(), couplet_apps::WrongTime>(())
/// ```
#[derive(Debug)]
pub struct Bridge {
    host: Host,
    tools: AppTools,
    stage: Stage,
    /// How the view can be shown, if it says so.
    modes: Option<Vec<DisplayMode>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nobody is there.
    Loading,
    /// The view has said hello, and is not ready.
    Greeted,
    /// It is ready, and waits for the input.
    Ready,
    /// It has the input, and waits for the result.
    Running,
    /// It has the result.
    Done,
    /// It was asked to make itself ready to be removed.
    Leaving,
    /// It is.
    Gone,
}

impl Bridge {
    /// A conversation that has not begun, with a view that may call these tools: those of its own server.
    pub fn new(host: Host, tools: AppTools) -> Self {
        Self { host, tools, stage: Stage::Loading, modes: None }
    }

    /// How the view is shown.
    pub fn display_mode(&self) -> DisplayMode {
        self.host.context.display_mode
    }

    /// A part of the input while it comes: any number of them, before the input.
    ///
    /// # Errors
    /// When it is not the time.
    pub fn tool_input_partial(&self, arguments: &impl Serialize) -> Result<Value, WrongTime> {
        self.at(&[Stage::Ready], "part of the input")?;
        Ok(notification("ui/notifications/tool-input-partial", json!({ "arguments": arguments })))
    }

    /// The input of the tool: once.
    ///
    /// # Errors
    /// When it is not the time.
    pub fn tool_input(&mut self, arguments: &impl Serialize) -> Result<Value, WrongTime> {
        self.at(&[Stage::Ready], "the input")?;
        self.stage = Stage::Running;
        Ok(notification("ui/notifications/tool-input", json!({ "arguments": arguments })))
    }

    /// The result of the tool: once, after the input.
    ///
    /// # Errors
    /// When it is not the time.
    pub fn tool_result(&mut self, result: &CallToolResult) -> Result<Value, WrongTime> {
        self.at(&[Stage::Running], "the result")?;
        self.stage = Stage::Done;
        Ok(notification("ui/notifications/tool-result", json!(result)))
    }

    /// There is no result: once, after the input.
    ///
    /// # Errors
    /// When it is not the time.
    pub fn tool_cancelled(&mut self, reason: &str) -> Result<Value, WrongTime> {
        self.at(&[Stage::Running], "that the tool was cancelled")?;
        self.stage = Stage::Done;
        Ok(notification("ui/notifications/tool-cancelled", json!({ "reason": reason })))
    }

    /// Something around the view has changed: the members that did.
    ///
    /// # Errors
    /// When it is not the time.
    pub fn context_changed(&self, changes: &impl Serialize) -> Result<Value, WrongTime> {
        self.at(&[Stage::Ready, Stage::Running, Stage::Done], "what is around the view")?;
        Ok(notification("ui/notifications/host-context-changed", json!(changes)))
    }

    /// Asks the view to make itself ready to be removed; `None` if nobody is there who could be asked. The view can be
    /// removed when [`receive`](Bridge::receive) says so, or when the host has waited long enough.
    ///
    /// # Errors
    /// When it was asked before.
    pub fn teardown(&mut self, reason: &str) -> Result<Option<Value>, WrongTime> {
        if matches!(self.stage, Stage::Loading | Stage::Greeted) {
            self.stage = Stage::Gone;
            return Ok(None);
        }
        self.at(&[Stage::Ready, Stage::Running, Stage::Done], "that it is removed")?;
        self.stage = Stage::Leaving;
        let params = json!({ "reason": reason });
        Ok(Some(json!({ "jsonrpc": "2.0", "id": TEARDOWN, "method": "ui/resource-teardown", "params": params })))
    }

    /// The answer to what a view asked for.
    pub fn answer(&self, id: &RequestId, result: &impl Serialize) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    }

    /// The answer to what a view asked for, and does not get.
    pub fn refuse(&self, id: &RequestId, why: impl fmt::Display) -> Value {
        refused(&json!(id), &why.to_string())
    }

    /// The answer to a view that wants to be shown in another way: how it is shown now. A way that the host does not
    /// have changes nothing.
    pub fn shown(&mut self, id: &RequestId, mode: DisplayMode) -> Value {
        if self.host.context.available_display_modes.contains(&mode) {
            self.host.context.display_mode = mode;
        }
        self.answer(id, &json!({ "mode": self.display_mode() }))
    }

    fn at(&self, stages: &[Stage], what: &'static str) -> Result<(), WrongTime> {
        if stages.contains(&self.stage) { Ok(()) } else { Err(WrongTime { what, stage: self.stage }) }
    }
}

/// The id of the one request that a host sends.
const TEARDOWN: &str = "teardown";

/// Something was to be said to a view at the wrong time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongTime {
    what: &'static str,
    stage: Stage,
}

impl fmt::Display for WrongTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.stage {
            Stage::Loading | Stage::Greeted => "before it is initialized",
            Stage::Ready => "before it has the input",
            Stage::Running => "after it got the input",
            Stage::Done => "after it got the result",
            Stage::Leaving | Stage::Gone => "when it is being removed",
        };
        write!(f, "a view cannot be told {} {when}", self.what)
    }
}

impl std::error::Error for WrongTime {}

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
