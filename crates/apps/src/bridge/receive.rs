//! Messages from a view. They are untrusted.

use couplet_types::{CallToolParams, ContentBlock, CreateMessageParams, LogParams, ReadResourceParams, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    Bridge, DIALECT, Stage, TEARDOWN,
    data::{AppCapabilities, DisplayMode, Greeting, ModelContext, ServerList, Size, ViewEvent, ViewMessage},
    refused,
};
use crate::tools::Refusal;

impl Bridge {
    /// Processes a message from the view and returns the event for the host. A request that the view is not allowed to
    /// make is answered with an error ([`ViewEvent::Answer`]).
    pub fn receive(&mut self, message: &Value) -> ViewEvent {
        let method = message["method"].as_str();
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                let asked = serde_json::from_value(id.clone())
                    .map_err(|_| Refusal::from("the `id` must be a string or a number"));
                asked.and_then(|request| self.request(request, method, params)).unwrap_or_else(|why| {
                    let id = if id.is_string() || id.is_number() { id } else { &Value::Null };
                    ViewEvent::Answer(refused(id, &why.0))
                })
            }
            (Some(method), None) => self.notified(method, params),
            (None, Some(id)) if self.stage == Stage::Leaving && *id == json!(TEARDOWN) => {
                self.stage = Stage::Gone;
                ViewEvent::TornDown
            }
            (None, Some(id)) => self.answered(id, message),
            _ => ViewEvent::Ignored,
        }
    }

    fn request(&mut self, id: RequestId, method: &str, params: Value) -> Result<ViewEvent, Refusal> {
        match method {
            "ui/initialize" if self.stage == Stage::Loading => {
                let greeting: Greeting = read(params)?;
                let AppCapabilities { available_display_modes, tools } = greeting.app_capabilities;
                self.modes = available_display_modes;
                self.has_tools = tools.is_some_and(|tools| tools.is_object());
                self.stage = Stage::Greeted;
                Ok(ViewEvent::Answer(self.answer(&id, &self.welcome())))
            }
            "ui/initialize" => Err("the view is initialized already".into()),
            "ping" => Ok(ViewEvent::Answer(self.answer(&id, &json!({})))),
            _ if !self.is_ready() => Err("the view must send `ui/notifications/initialized` first".into()),
            "tools/call" => {
                let params: CallToolParams = read(params)?;
                self.tools.allows(&params.name)?;
                Ok(ViewEvent::CallTool(id, params))
            }
            "resources/read" => read(params).map(|read: ReadResourceParams| ViewEvent::ReadResource(id, read.uri)),
            "resources/list" => self.list(id, ServerList::Resources, &params),
            "resources/templates/list" => self.list(id, ServerList::ResourceTemplates, &params),
            "prompts/list" => self.list(id, ServerList::Prompts, &params),
            "sampling/createMessage" => self.sample(id, params),
            "ui/download-file" => self.download(id, params),
            "ui/open-link" => match params["url"].as_str().filter(|url| is_web_address(url)) {
                Some(url) => Ok(ViewEvent::OpenLink(id, url.to_owned())),
                None => Err("`url` must be an absolute `http` or `https` URL".into()),
            },
            "ui/message" => read::<ViewMessage>(params).map(|message| ViewEvent::Message(id, message)),
            "ui/update-model-context" => {
                read::<ModelContext>(params).map(|context| ViewEvent::UpdateContext(id, context))
            }
            "ui/request-display-mode" => Ok(self.asked_mode(id, &params["mode"])),
            _ => Err(Refusal(format!("there is no method `{method}`"))),
        }
    }

    fn notified(&mut self, method: &str, params: Value) -> ViewEvent {
        match method {
            "ui/notifications/initialized" if self.stage == Stage::Greeted => {
                self.stage = Stage::Ready;
                ViewEvent::Initialized
            }
            "ui/notifications/size-changed" if self.is_ready() => {
                let fits = |side: Option<f64>| side.is_none_or(|pixels| pixels.is_finite() && pixels >= 0.0);
                match read::<Size>(params) {
                    Ok(size) if fits(size.width) && fits(size.height) => ViewEvent::SizeChanged(size),
                    _ => ViewEvent::Ignored,
                }
            }
            "ui/notifications/request-teardown" if self.is_ready() => ViewEvent::RequestTeardown,
            "notifications/tools/list_changed" if self.is_ready() && self.has_tools => ViewEvent::ToolsChanged,
            "notifications/message" if self.is_ready() => {
                read::<LogParams>(params).map_or(ViewEvent::Ignored, ViewEvent::Log)
            }
            _ => ViewEvent::Ignored,
        }
    }

    /// Without the capability, a host may not know the request at all.
    fn needs(&self, capability: &str) -> Result<&Value, Refusal> {
        let declared = self.host.capabilities.get(capability);
        declared.ok_or_else(|| Refusal(format!("the host does not declare `{capability}`")))
    }

    fn list(&self, id: RequestId, list: ServerList, params: &Value) -> Result<ViewEvent, Refusal> {
        if list != ServerList::Prompts {
            self.needs("serverResources")?;
        }
        match params.get("cursor") {
            None | Some(Value::Null) => Ok(ViewEvent::List(id, list, None)),
            Some(Value::String(cursor)) => Ok(ViewEvent::List(id, list, Some(cursor.clone()))),
            Some(_) => Err("`cursor` must be a string".into()),
        }
    }

    fn sample(&self, id: RequestId, params: Value) -> Result<ViewEvent, Refusal> {
        let has_tools = self.needs("sampling")?.get("tools").is_some();
        let params: CreateMessageParams = read(params)?;
        if (params.tools.is_some() || params.tool_choice.is_some()) && !has_tools {
            return Err("the host does not declare `sampling.tools`".into());
        }
        Ok(ViewEvent::Sample(id, Box::new(params)))
    }

    fn download(&self, id: RequestId, mut params: Value) -> Result<ViewEvent, Refusal> {
        self.needs("downloadFile")?;
        let contents: Vec<ContentBlock> = read(params["contents"].take())?;
        let is_file = |block: &ContentBlock| matches!(block, ContentBlock::Resource(_) | ContentBlock::ResourceLink(_));
        if contents.is_empty() || !contents.iter().all(is_file) {
            return Err("`contents` must have resources and links to resources".into());
        }
        Ok(ViewEvent::DownloadFile(id, contents))
    }

    /// A display mode that one side does not support is answered with the current one.
    fn asked_mode(&mut self, id: RequestId, mode: &Value) -> ViewEvent {
        let mode = DisplayMode::deserialize_opt(mode);
        let has = |mode: &DisplayMode| {
            self.host.context.available_display_modes.contains(mode)
                && self.modes.as_ref().is_none_or(|modes| modes.contains(mode))
        };
        match mode.filter(has) {
            Some(mode) => ViewEvent::RequestDisplayMode(id, mode),
            None => ViewEvent::Answer(self.set_display_mode(&id, self.display_mode())),
        }
    }

    fn welcome(&self) -> Value {
        let host = &self.host;
        json!({
            "protocolVersion": DIALECT,
            "hostInfo": host.info,
            "hostCapabilities": host.capabilities,
            "hostContext": host.context,
        })
    }

    fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready | Stage::Running | Stage::Done | Stage::Leaving)
    }
}

impl DisplayMode {
    fn deserialize_opt(mode: &Value) -> Option<Self> {
        serde_json::from_value(mode.clone()).ok()
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|e| Refusal(format!("the parameters are invalid: {e}")))
}

/// Whether a string is an absolute `http` or `https` URL without user information or ambiguous characters.
fn is_web_address(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    matches!(scheme, "https" | "http")
        && !host.is_empty()
        && !host.contains('@')
        && url.bytes().all(|b| b.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&b))
}
