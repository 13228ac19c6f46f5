//! One tool, prompt, resource or template of a server.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use couplet_core::{JsonText, Project, Revision, http::headers::ParamHeader, message::Params};
use couplet_types::{Prompt, Resource, ResourceTemplate, Tool, from_json};
use serde::{Serialize, de::DeserializeOwned};

use super::List;
use crate::pins::{Fingerprint, fingerprint};

/// A definition as the server sent it: a tool, a prompt, a resource or a resource template. Clones are cheap.
#[derive(Clone)]
pub struct Definition(Arc<Parts>);

struct Parts {
    list: List,
    raw: Arc<str>,
    text: JsonText,
    revision: Revision,
    fingerprint: OnceLock<Option<Fingerprint>>,
    /// The definition in other revisions.
    projected: OnceLock<[OnceLock<Option<JsonText>>; Revision::COUNT]>,
    /// The arguments that HTTP clients repeat in headers.
    header_params: OnceLock<Option<Arc<[ParamHeader]>>>,
}

impl Definition {
    pub(super) fn new(list: List, raw: Arc<str>, text: JsonText, revision: Revision) -> Self {
        let (fingerprint, projected, header_params) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self(Arc::new(Parts { list, raw, text, revision, fingerprint, projected, header_params }))
    }

    /// Returns the list that it is in.
    pub fn list(&self) -> List {
        self.0.list
    }

    /// Returns the name that the server gave it; the URI of a resource, and the URI template of a template.
    pub fn raw(&self) -> &Arc<str> {
        &self.0.raw
    }

    /// Returns the definition, byte for byte.
    pub fn text(&self) -> &JsonText {
        &self.0.text
    }

    /// Returns one member, unparsed.
    pub fn get(&self, key: &str) -> Option<JsonText> {
        Params::from_text(self.0.text.clone()).ok()?.get(key)
    }

    /// Returns the fingerprint of the whole definition, which is computed once; `None` if the definition has no canonical
    /// form, and so cannot be pinned.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        *self.0.fingerprint.get_or_init(|| fingerprint(&self.0.text).ok())
    }

    /// Returns the arguments of a tool that HTTP clients repeat in headers, which are found once; `None` if there are none.
    pub fn header_params(&self) -> Option<Arc<[ParamHeader]>> {
        self.0.header_params.get_or_init(|| self.find_header_params()).clone()
    }

    fn find_header_params(&self) -> Option<Arc<[ParamHeader]>> {
        let schema = self.get("inputSchema")?;
        // Most tools have none, and parsing a schema takes a while.
        if !schema.as_str().contains(ParamHeader::KEYWORD) {
            return None;
        }
        let params = ParamHeader::all(&schema.parse().ok()?).ok()?;
        (!params.is_empty()).then(|| params.into())
    }

    /// Returns the definition for a caller of a revision: as the server sent it if the server has the same revision, and
    /// otherwise without the members that the revision lacks. `None` if it is not valid.
    pub fn projected(&self, to: Revision) -> Option<JsonText> {
        if to.index() == self.0.revision.index() {
            return Some(self.0.text.clone());
        }
        let all = self.0.projected.get_or_init(Default::default);
        all.get(to.index())?.get_or_init(|| self.project(to)).clone()
    }

    fn project(&self, to: Revision) -> Option<JsonText> {
        let text = self.0.text.as_str();
        let projected = match self.0.list {
            List::Tools => again::<Tool>(text, to),
            List::Prompts => again::<Prompt>(text, to),
            List::Resources => again::<Resource>(text, to),
            List::Templates => again::<ResourceTemplate>(text, to),
        };
        let invalid = |error| {
            tracing::debug!(name = &*self.0.raw, "a definition is not valid and is hidden from some callers: {error}");
        };
        projected.map_err(invalid).ok()
    }
}

/// Parses a definition, and serializes it for another revision.
fn again<T: DeserializeOwned + Project + Serialize>(text: &str, to: Revision) -> Result<JsonText, String> {
    let mut typed: T = from_json(text).map_err(|error| error.to_string())?;
    typed.project(to);
    let bytes = serde_json::to_vec(&typed).map_err(|error| error.to_string())?;
    JsonText::new(bytes).map_err(|fault| fault.to_string())
}

/// Definitions are equal if their text is, in one revision.
impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.list == other.0.list
                && self.0.text == other.0.text
                && self.0.revision.index() == other.0.revision.index())
    }
}

impl Eq for Definition {}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition").field("list", &self.0.list).field("text", &self.0.text).finish_non_exhaustive()
    }
}
