//! The arguments of a server's tools that are mirrored in headers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
};

use couplet_core::{
    Error, ErrorKind, JsonText, Outgoing,
    http::headers::{ParamHeader, encode},
    message::Params,
    sync::lock,
};
use http::HeaderName;
use serde_json::{Value, value::RawValue};

use super::headers::{Mirrored, value};

/// The tools that were seen in a list and have arguments to mirror.
#[derive(Debug, Default)]
pub(crate) struct Tools(Mutex<HashMap<String, Arc<[ParamHeader]>>>);

impl Tools {
    /// The number of tools that are remembered.
    const MOST: usize = 10_000;

    /// Reads a list of tools and returns it without those that break the rules.
    pub(crate) fn learn(&self, list: JsonText) -> JsonText {
        self.sifted(&list).unwrap_or(list)
    }

    /// The list without the tools that break the rules; `None` if there are none, or if it cannot be read.
    fn sifted(&self, list: &JsonText) -> Option<JsonText> {
        let members = Params::from_text(list.clone()).ok()?;
        let tools = members.get("tools")?;
        let tools: Vec<&RawValue> = serde_json::from_str(tools.as_str()).ok()?;
        let kept: Vec<&RawValue> = tools.iter().copied().filter(|tool| self.keep(tool.get())).collect();
        if kept.len() == tools.len() {
            return None;
        }
        let mut text = String::from("{");
        for (key, member) in members.iter() {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&serde_json::to_string(&*key).ok()?);
            text.push(':');
            match &*key {
                "tools" => text.push_str(&serde_json::to_string(&kept).ok()?),
                _ => text.push_str(member.as_str()),
            }
        }
        text.push('}');
        JsonText::new(text).ok()
    }

    /// Remembers a tool; false if it breaks the rules. Anything that is no tool is left to the client.
    fn keep(&self, tool: &str) -> bool {
        let Ok(tool) = serde_json::from_str::<Value>(tool) else { return true };
        let Some(name) = tool.get("name").and_then(Value::as_str) else { return true };
        let found = tool.get("inputSchema").map_or_else(|| Ok(Vec::new()), ParamHeader::all);
        let mut known = self.known();
        match found {
            Ok(params) if params.is_empty() => {
                known.remove(name);
            }
            Ok(params) if known.len() < Self::MOST || known.contains_key(name) => {
                known.insert(name.to_owned(), params.into());
            }
            Ok(_) => tracing::warn!(tool = name, "too many tools; the arguments of this one are not mirrored"),
            Err(reason) => {
                known.remove(name);
                tracing::warn!(tool = name, reason, "a tool is left out of the list");
                return false;
            }
        }
        true
    }

    /// Adds the headers that mirror the arguments of a call.
    ///
    /// # Errors
    /// When an argument cannot be mirrored.
    pub(crate) fn add_mirrored(&self, mirrored: &mut Mirrored, tool: &str, request: &Outgoing) -> Result<(), Error> {
        let Some(params) = self.known().get(tool).cloned() else { return Ok(()) };
        let arguments = request.param("arguments").unwrap_or_else(JsonText::empty_object);
        for param in params.iter() {
            let wrong = |what: String| Error::new(ErrorKind::Config, format!("the argument {what}"));
            if let Some(text) = param.text(&arguments).map_err(wrong)? {
                let name = param.header();
                let header = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| Error::new(ErrorKind::Protocol, format!("`{name}` is not the name of a header")))?;
                mirrored.push((header, value(&name, &encode(&text))?));
            }
        }
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<[ParamHeader]>>> {
        lock(&self.0)
    }
}
