//! Requests of the host to a view that has tools, and notifications about the view's server.

use couplet_types::{CallToolParams, CallToolResult, ListToolsResult, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    Bridge, InvalidState, Stage, Why,
    data::{ServerList, ViewEvent, ViewRequest},
    notification,
};

/// The maximum number of open requests: a view may never answer.
const MOST: usize = 64;

/// Where a view can be asked and notified.
const INITIALIZED: &[Stage] = &[Stage::Ready, Stage::Running, Stage::Done];

/// A request that the view has not answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    List,
    Call,
}

impl Bridge {
    /// Creates the notification that a list of the view's server has changed.
    ///
    /// # Errors
    /// Fails if the view is not initialized, or is being removed.
    pub fn list_changed(&self, list: ServerList) -> Result<Value, InvalidState> {
        self.at(INITIALIZED, "a change of a list")?;
        let method = match list {
            ServerList::Tools => "notifications/tools/list_changed",
            ServerList::Resources | ServerList::ResourceTemplates => "notifications/resources/list_changed",
            ServerList::Prompts => "notifications/prompts/list_changed",
        };
        Ok(notification(method, json!({})))
    }

    /// Returns whether the view declares tools of its own.
    pub fn has_view_tools(&self) -> bool {
        self.has_tools
    }

    /// Creates the request for one page of the view's own tools; the response is [`ViewEvent::Tools`].
    ///
    /// # Errors
    /// Fails if the view is not initialized or is being removed, declares no tools, or leaves too many requests open.
    pub fn view_tools(&mut self, cursor: Option<&str>) -> Result<ViewRequest, InvalidState> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        self.ask(Kind::List, "tools/list", &params, "a request for tools")
    }

    /// Creates a call of one of the view's own tools; the response is [`ViewEvent::ToolResult`].
    ///
    /// # Errors
    /// As [`Bridge::view_tools`].
    pub fn call_view_tool(&mut self, params: &CallToolParams) -> Result<ViewRequest, InvalidState> {
        self.ask(Kind::Call, "tools/call", &json!(params), "a tool call")
    }

    fn ask(
        &mut self,
        kind: Kind,
        method: &str,
        params: &Value,
        what: &'static str,
    ) -> Result<ViewRequest, InvalidState> {
        self.at(INITIALIZED, what)?;
        let refused = |why| Err(InvalidState { what, why });
        if !self.has_tools {
            return refused(Why::NoTools);
        }
        if self.open.len() >= MOST {
            return refused(Why::Busy);
        }
        self.last_id += 1;
        let id = self.last_id;
        self.open.insert(id, kind);
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        Ok(ViewRequest { id: RequestId::Number(id), message })
    }

    /// The response to a request of the host.
    pub(super) fn answered(&mut self, id: &Value, message: &Value) -> ViewEvent {
        let Some((number, kind)) = id.as_i64().and_then(|id| self.open.remove_entry(&id)) else {
            return ViewEvent::Ignored;
        };
        let id = RequestId::Number(number);
        let result = match kind {
            Kind::List => parsed(message).map(|tools: ListToolsResult| ViewEvent::Tools(id.clone(), tools)),
            Kind::Call => parsed(message).map(|done: CallToolResult| ViewEvent::ToolResult(id.clone(), Box::new(done))),
        };
        result.unwrap_or_else(|why| ViewEvent::Failed(id, why))
    }
}

fn parsed<T: DeserializeOwned>(message: &Value) -> Result<T, String> {
    match message.get("result") {
        Some(result) => serde_json::from_value(result.clone()).map_err(|e| format!("the result is invalid: {e}")),
        None => Err(message["error"]["message"].as_str().unwrap_or("the view answered with an error").to_owned()),
    }
}
