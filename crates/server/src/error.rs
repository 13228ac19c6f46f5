//! Errors that handlers return.

use std::{error::Error, fmt};

/// An error of a handler. Every [`std::error::Error`] converts into it with `?`.
///
/// For tools, the model sees the error: as a result with `isError`, whose text has all causes of the error (`starting up:
/// loading the config: no such file`). Return an [`RpcError`](couplet_types::RpcError) of your own for a protocol error
/// instead, which the model does not see.
///
/// ```
/// use couplet_server::ToolError;
///
/// async fn parse(text: &str) -> Result<f64, ToolError> {
///     if text.is_empty() {
///         return Err(ToolError::new("which number?"));
///     }
///     Ok(text.parse::<f64>()?)
/// }
/// ```
pub struct ToolError(Box<dyn Error + Send + Sync>);

impl ToolError {
    /// Creates an error with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into().into())
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl From<ToolError> for Box<dyn Error + Send + Sync> {
    fn from(error: ToolError) -> Self {
        error.0
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The maximum number of causes in a message, and of bytes that they add.
const MAX_CAUSES: usize = 16;
const MAX_ADDED: usize = 2_000;

/// Formats an error with its causes in one line. A cause that the text before it contains already is not repeated.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let most = text.len() + MAX_ADDED;
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()).take(MAX_CAUSES) {
        let cause = cause.to_string();
        if text.contains(&cause) {
            continue;
        }
        if text.len() + cause.len() > most {
            text.push_str(": …");
            break;
        }
        text.push_str(": ");
        text.push_str(&cause);
    }
    text
}

/// The error of a resource handler for a resource that does not exist. Clients get the revision's own error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotFound;

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the resource does not exist")
    }
}

impl Error for NotFound {}
