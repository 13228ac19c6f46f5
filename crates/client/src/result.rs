//! What a tool gave back.

use couplet_core::{Error, ErrorKind};
use couplet_types::{CallToolResult, ContentBlock, from_json};
use serde::de::DeserializeOwned;

/// The result of a tool.
///
/// ```
/// use couplet_client::ToolResult;
/// use couplet_types::CallToolResult;
///
/// // A server of an older revision says its data as text.
/// let result = ToolResult::from(CallToolResult::text(r#"{"sky":"rain"}"#));
/// assert_eq!(result.structured::<serde_json::Value>()?["sky"], "rain");
/// # Ok::<(), couplet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult(CallToolResult);

impl ToolResult {
    /// The text of all text blocks, one after the other.
    pub fn text(&self) -> String {
        self.0.all_text()
    }

    /// The data, as a type of yours. A revision without structured results has it as text, which is read instead.
    ///
    /// # Errors
    /// When the tool says that it failed, or when there is no data of this shape.
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if self.is_error() {
            return Err(Error::new(ErrorKind::Rpc, format!("the tool failed: {}", self.text())));
        }
        let wrong = |what: &str, e: serde_json::Error| Error::new(ErrorKind::Protocol, what).with_source(e);
        match &self.0.structured_content {
            Some(data) => data.parse().map_err(|e| wrong("the tool's data has another shape", e)),
            None => from_json(&self.text()).map_err(|e| wrong("the tool gave text and no data of this shape", e)),
        }
    }

    /// The blocks of content.
    pub fn content(&self) -> &[ContentBlock] {
        &self.0.content
    }

    /// Whether the tool says that it failed. The text then says why, for the model.
    pub fn is_error(&self) -> bool {
        self.0.failed()
    }

    /// The result as it came.
    pub fn into_inner(self) -> CallToolResult {
        self.0
    }
}

impl From<CallToolResult> for ToolResult {
    fn from(result: CallToolResult) -> Self {
        Self(result)
    }
}
