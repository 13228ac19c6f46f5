//! The result of a tool call.

use couplet_core::{Error, ErrorKind};
use couplet_types::{CallToolResult, ContentBlock, from_json};
use serde::de::DeserializeOwned;

/// The result of a tool call, of a tool that succeeded or of one that failed.
///
/// A tool that fails still returns a result, whose text tells a model why. A program that takes the content of every
/// result for output has to rule that out first, with [`ToolResult::into_result`]:
///
/// ```
/// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
/// use serde_json::json;
///
/// let sum = client.call("add", json!({ "a": 2, "b": 3 })).await?.into_result()?;
/// assert_eq!(sum.text(), "5");
/// # Ok(())
/// # }
/// ```
#[doc = include_str!("docs/results.md")]
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult(CallToolResult);

impl ToolResult {
    /// Turns the result of a tool that failed into an error, like `error_for_status` of an HTTP client.
    ///
    /// # Errors
    /// If the tool failed: an error of kind [`ErrorKind::Tool`] with the text of the result.
    ///
    /// ```
    /// use couplet_client::ToolResult;
    /// use couplet_core::ErrorKind;
    /// use couplet_types::CallToolResult;
    ///
    /// let failed = ToolResult::from(CallToolResult::error("no such city"));
    /// let error = failed.into_result().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Tool);
    /// assert_eq!(error.to_string(), "the tool failed: no such city");
    /// ```
    pub fn into_result(self) -> Result<Self, Error> {
        self.check().map(|()| self)
    }

    /// Returns the text of all text blocks, concatenated. The text of a tool that failed is included.
    pub fn text(&self) -> String {
        self.0.all_text()
    }

    /// Deserializes the structured content. In revisions without structured content, the text is parsed as JSON
    /// instead.
    ///
    /// # Errors
    /// If the tool failed (kind [`ErrorKind::Tool`]), or if the content is not a `T` (kind [`ErrorKind::Protocol`]).
    ///
    /// ```
    /// use couplet_client::ToolResult;
    /// use couplet_types::CallToolResult;
    ///
    /// let result = ToolResult::from(CallToolResult::text(r#"{"sky":"rain"}"#));
    /// assert_eq!(result.structured::<serde_json::Value>()?["sky"], "rain");
    /// # Ok::<(), couplet_core::Error>(())
    /// ```
    pub fn structured<T: DeserializeOwned>(&self) -> Result<T, Error> {
        self.check()?;
        let wrong = |what: &str, e: serde_json::Error| Error::new(ErrorKind::Protocol, what).with_source(e);
        match &self.0.structured_content {
            Some(data) => data.parse().map_err(|e| wrong("the tool's structured content has another type", e)),
            None => from_json(&self.text())
                .map_err(|e| wrong("the tool gave no structured content, and its text is not JSON of this type", e)),
        }
    }

    /// Returns the content blocks.
    pub fn content(&self) -> &[ContentBlock] {
        &self.0.content
    }

    /// Returns whether the tool failed (`isError`). The text then says why.
    pub fn is_error(&self) -> bool {
        self.0.failed()
    }

    /// Returns the result as it was received.
    pub fn into_inner(self) -> CallToolResult {
        self.0
    }

    fn check(&self) -> Result<(), Error> {
        if !self.is_error() {
            return Ok(());
        }
        let text = self.text();
        let what = if text.is_empty() {
            "the tool failed without a text".to_owned()
        } else {
            format!("the tool failed: {text}")
        };
        Err(Error::new(ErrorKind::Tool, what))
    }
}

impl From<CallToolResult> for ToolResult {
    fn from(result: CallToolResult) -> Self {
        Self(result)
    }
}
