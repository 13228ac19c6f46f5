//! The items of a view: what clients see of a definition.

use std::sync::Arc;

use couplet_core::{JsonText, Revision, http::headers::ParamHeader, message::Params};
use couplet_transform::ToolTransform;

use crate::{
    catalog::Definition,
    names::Kind,
    policy::{Effects, Labels},
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
    pub(crate) changes: Option<Arc<ToolTransform>>,
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
            members = changes.definition(members, revision).ok()?;
        }
        Some(members.text().clone())
    }

    /// The arguments that HTTP clients repeat in headers.
    pub(crate) fn header_params(&self) -> Option<Arc<[ParamHeader]>> {
        let own = self.definition.header_params();
        match &self.changes {
            Some(changes) => changes.header_params(own),
            None => own,
        }
    }
}
