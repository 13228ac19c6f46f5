//! What comes from a view. Nothing of it can be trusted.

use couplet_types::{CallToolParams, LogParams, ReadResourceParams, RequestId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    Bridge, DIALECT, Stage, TEARDOWN,
    data::{AppCapabilities, DisplayMode, FromView, Greeting, ModelContext, Size, ViewMessage},
    refused,
};
use crate::tools::Refusal;

impl Bridge {
    /// Takes a message of the view, and says what to do. What the view may not do is answered with an error.
    pub fn receive(&mut self, message: &Value) -> FromView {
        let method = message["method"].as_str();
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                let asked = serde_json::from_value(id.clone()).map_err(|_| Refusal::from("the id is not one"));
                asked.and_then(|request| self.request(request, method, params)).unwrap_or_else(|why| {
                    let id = if id.is_string() || id.is_number() { id } else { &Value::Null };
                    FromView::Answer(refused(id, &why.0))
                })
            }
            (Some(method), None) => self.notified(method, params),
            (None, Some(id)) if self.stage == Stage::Leaving && *id == json!(TEARDOWN) => {
                self.stage = Stage::Gone;
                FromView::Removable
            }
            _ => FromView::Nothing,
        }
    }

    fn request(&mut self, id: RequestId, method: &str, params: Value) -> Result<FromView, Refusal> {
        match method {
            "ui/initialize" if self.stage == Stage::Loading => {
                let greeting: Greeting = read(params)?;
                let AppCapabilities { available_display_modes } = greeting.app_capabilities;
                self.modes = available_display_modes;
                self.stage = Stage::Greeted;
                Ok(FromView::Answer(self.answer(&id, &self.welcome())))
            }
            "ui/initialize" => Err("the view has said hello before".into()),
            "ping" => Ok(FromView::Answer(self.answer(&id, &json!({})))),
            _ if !self.is_ready() => Err("the view has not said that it is initialized".into()),
            "tools/call" => {
                let params: CallToolParams = read(params)?;
                self.tools.allows(&params.name)?;
                Ok(FromView::CallTool(id, params))
            }
            "resources/read" => read(params).map(|read: ReadResourceParams| FromView::ReadResource(id, read.uri)),
            "ui/open-link" => match params["url"].as_str().filter(|url| is_web_address(url)) {
                Some(url) => Ok(FromView::OpenLink(id, url.to_owned())),
                None => Err("only addresses of the web can be opened".into()),
            },
            "ui/message" => read::<ViewMessage>(params).map(|message| FromView::Message(id, message)),
            "ui/update-model-context" => {
                read::<ModelContext>(params).map(|context| FromView::UpdateContext(id, context))
            }
            "ui/request-display-mode" => Ok(self.asked_mode(id, &params["mode"])),
            _ => Err("there is no such method".into()),
        }
    }

    fn notified(&mut self, method: &str, params: Value) -> FromView {
        match method {
            "ui/notifications/initialized" if self.stage == Stage::Greeted => {
                self.stage = Stage::Ready;
                FromView::Initialized
            }
            "ui/notifications/size-changed" if self.is_ready() => {
                let fits = |side: Option<f64>| side.is_none_or(|pixels| pixels.is_finite() && pixels >= 0.0);
                match read::<Size>(params) {
                    Ok(size) if fits(size.width) && fits(size.height) => FromView::SizeChanged(size),
                    _ => FromView::Nothing,
                }
            }
            "notifications/message" if self.is_ready() => {
                read::<LogParams>(params).map_or(FromView::Nothing, FromView::Log)
            }
            _ => FromView::Nothing,
        }
    }

    /// A way to be shown that one of both sides does not have is answered with the present one.
    fn asked_mode(&mut self, id: RequestId, mode: &Value) -> FromView {
        let mode = DisplayMode::deserialize_opt(mode);
        let has = |mode: &DisplayMode| {
            self.host.context.available_display_modes.contains(mode)
                && self.modes.as_ref().is_none_or(|modes| modes.contains(mode))
        };
        match mode.filter(has) {
            Some(mode) => FromView::ShowAs(id, mode),
            None => FromView::Answer(self.shown(&id, self.display_mode())),
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
    serde_json::from_value(params).map_err(|e| Refusal(format!("the parameters cannot be read: {e}")))
}

/// Whether a text is an absolute address of the web, without anything that could be taken for something else.
fn is_web_address(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    matches!(scheme, "https" | "http")
        && !host.is_empty()
        && !host.contains('@')
        && url.bytes().all(|b| b.is_ascii_graphic() && !br#""<>\^`{|}"#.contains(&b))
}
