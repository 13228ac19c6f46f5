//! The items of a view: what clients see of a definition.

use std::sync::Arc;

use couplet_core::{JsonText, Revision, message::Params};
use couplet_types::RawJson;

use crate::{
    catalog::Definition,
    names::Kind,
    policy::{Effects, Labels},
    profile::ToolChanges,
};

/// A tool, prompt, resource or template of one of the view's servers.
#[derive(Clone)]
pub(crate) struct ViewItem {
    /// The position of the server in the view.
    pub(crate) member: usize,
    pub(crate) kind: Kind,
    /// The server's own name or URI.
    pub(crate) raw: Arc<str>,
    pub(crate) definition: Definition,
    pub(crate) effects: Effects,
    pub(crate) labels: Labels,
    pub(crate) changes: Option<Arc<ToolChanges>>,
}

impl ViewItem {
    /// The definition in a revision under its exposed name; `None` if the revision does not have it.
    pub(crate) fn exposed(&self, name: &str, revision: Revision) -> Option<JsonText> {
        let text = self.definition.projected(revision)?;
        if name == &*self.raw && self.changes.is_none() {
            return Some(text);
        }
        let mut members = Params::from_text(text).ok()?;
        if name != &*self.raw {
            members = members.with("name", &JsonText::string(name)).ok()?;
        }
        if let Some(changes) = &self.changes {
            members = changes.applied_to(members)?;
        }
        Some(members.text().clone())
    }

    /// The arguments of a call with those that the profile sets; `None` if there are none to set.
    ///
    /// # Errors
    /// If the arguments are not an object.
    pub(crate) fn preset(&self, params: &Params) -> Option<Result<Params, String>> {
        let changes = self.changes.as_ref().filter(|changes| !changes.presets.is_empty())?;
        Some(changes.preset(params).map_err(|fault| fault.to_string()))
    }
}

impl ToolChanges {
    fn applied_to(&self, mut members: Params) -> Option<Params> {
        if let Some(description) = &self.description {
            members = members.with("description", &JsonText::string(description)).ok()?;
        }
        if !self.presets.is_empty()
            && let Some(schema) = members.get("inputSchema")
        {
            members = members.with("inputSchema", &self.without_presets(schema)).ok()?;
        }
        Some(members)
    }

    /// The schema without the arguments that the profile sets.
    fn without_presets(&self, schema: JsonText) -> JsonText {
        let without = || {
            let mut schema = Params::from_text(schema.clone()).ok()?;
            if let Some(properties) = schema.get("properties") {
                let mut properties = Params::from_text(properties).ok()?;
                for name in self.presets.keys() {
                    properties = properties.without(name).ok()?;
                }
                schema = schema.with("properties", properties.text()).ok()?;
            }
            if let Some(required) = schema.get("required") {
                let mut required: Vec<String> = required.parse().ok()?;
                required.retain(|name| !self.presets.contains_key(name));
                let required = RawJson::new(&required).ok()?;
                schema = schema.with("required", &JsonText::from(&required)).ok()?;
            }
            Some(schema.text().clone())
        };
        without().unwrap_or(schema)
    }

    fn preset(&self, params: &Params) -> Result<Params, couplet_core::Fault> {
        let given = params.get("arguments").filter(|given| given.as_str() != "null");
        let mut arguments = Params::from_text(given.unwrap_or_else(JsonText::empty_object))?;
        for (name, value) in &self.presets {
            arguments = arguments.with(name, &JsonText::from(value))?;
        }
        params.with("arguments", arguments.text())
    }
}
