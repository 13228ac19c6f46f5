//! What stands in for the checks of a tool's schemas where the feature `validate` is off: nothing.

use std::borrow::Cow;

use couplet_core::JsonText;
use couplet_types::{CallToolResult, Tool};

use crate::signature::Signature;

#[derive(Clone, Debug, Default)]
pub(crate) struct Checks {}

impl Checks {
    pub(crate) fn new(_: &Tool, _given: bool, _: &Signature) -> Result<Self, String> {
        Ok(Self {})
    }

    pub(crate) fn arguments(&self, _: &JsonText) -> Option<String> {
        None
    }

    pub(crate) fn output(&self, _: &CallToolResult) -> Option<Cow<'static, str>> {
        None
    }
}
