//! The requests that a client supports, by its revision and its capabilities.

use couplet_types::{ClientCapabilities, ElicitationCapability, RpcError};

use super::revision::{Elicit, Revision};
use crate::service::Call;

impl Revision {
    /// Whether a client with these capabilities supports form elicitation.
    pub(crate) fn can_elicit(self, can: &ClientCapabilities) -> bool {
        self.0.elicit != Elicit::Never && can.elicitation.as_ref().is_some_and(ElicitationCapability::allows_form)
    }

    /// Whether a client with these capabilities supports URL elicitation.
    pub(crate) fn can_elicit_url(self, can: &ClientCapabilities) -> bool {
        let spoken = matches!(self.0.elicit, Elicit::Url | Elicit::UrlWithId);
        spoken && can.elicitation.as_ref().is_some_and(ElicitationCapability::allows_url)
    }

    /// Whether a client with these capabilities supports sampling with tools.
    pub(crate) fn can_sample_with_tools(self, can: &ClientCapabilities) -> bool {
        self.0.sampling_tools && can.sampling.as_ref().is_some_and(|sampling| sampling.tools.is_some())
    }
}

impl Call {
    /// Whether the client supports form elicitation.
    pub fn can_elicit(&self) -> bool {
        self.inputs.are_open() && self.revision.can_elicit(&self.peer.capabilities)
    }

    /// Whether the client supports URL elicitation.
    pub fn can_elicit_url(&self) -> bool {
        self.inputs.are_open() && self.revision.can_elicit_url(&self.peer.capabilities)
    }

    /// Whether the client supports sampling.
    pub fn can_sample(&self) -> bool {
        self.inputs.are_open() && self.peer.capabilities.sampling.is_some()
    }

    /// Whether the client lists its roots.
    pub fn can_list_roots(&self) -> bool {
        self.inputs.are_open() && self.peer.capabilities.roots.is_some()
    }

    /// Checks that the client has all of these capabilities: elicitation, sampling, roots and extensions.
    ///
    /// # Errors
    /// The protocol's own error for a missing capability, with `needed` in its data: -32021, or -32600 in revisions
    /// without that code.
    pub fn require(&self, needed: &ClientCapabilities) -> Result<(), RpcError> {
        match self.lacks(needed) {
            None => Ok(()),
            Some(what) => Err(self.revision.missing_capability(&format!("{what}, which this request needs"), needed)),
        }
    }

    /// Returns the first of some capabilities that the client lacks.
    fn lacks(&self, needed: &ClientCapabilities) -> Option<String> {
        let has = &self.peer.capabilities;
        let (elicitation, sampling) = (needed.elicitation.as_ref(), needed.sampling.as_ref());
        let tools = sampling.is_some_and(|sampling| sampling.tools.is_some());
        let checks = [
            ("elicitation", elicitation.is_some_and(|e| e.allows_form()) && !self.can_elicit()),
            ("URL elicitation", elicitation.is_some_and(|e| e.allows_url()) && !self.can_elicit_url()),
            ("sampling", sampling.is_some() && !self.can_sample()),
            ("sampling with tools", tools && !self.revision.can_sample_with_tools(has)),
            ("roots", needed.roots.is_some() && !self.can_list_roots()),
        ];
        let missing = checks.into_iter().find(|(_, missing)| *missing).map(|(what, _)| what.to_owned());
        let mut extensions = needed.extensions.iter().flat_map(|extensions| extensions.keys());
        missing.or_else(|| {
            let id = extensions.find(|id| self.peer.extension(id).is_none())?;
            Some(format!("the extension `{id}`"))
        })
    }
}
