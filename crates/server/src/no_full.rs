//! The empty substitute of the complete validator, without the feature `validate`.

use serde_json::Value;

use crate::checks::Validation;

#[derive(Clone, Debug, Default)]
pub(crate) struct Full;

impl Full {
    pub(crate) fn new(
        _: Validation,
        _given: Option<&Value>,
        _typed: Option<&Value>,
        _output: Option<&Value>,
    ) -> Result<Self, String> {
        Ok(Self)
    }

    pub(crate) fn arguments(&self, _: &str, basic: impl FnOnce() -> Option<String>) -> Option<String> {
        basic()
    }

    pub(crate) fn output(&self, _: &str, basic: impl FnOnce() -> Option<String>) -> Option<String> {
        basic()
    }
}
