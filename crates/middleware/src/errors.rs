//! What errors reveal.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use couplet_core::{BoxFuture, Call, JsonText, Reply, ResultBody};
use couplet_server::{Middleware, Next};
use couplet_types::{RpcError, code};
use serde_json::Value;

type MapError = dyn Fn(RpcError) -> RpcError + Send + Sync;
type MapText = dyn Fn(&str) -> String + Send + Sync;

/// Maps errors, and removes what callers must not see.
///
/// ```
/// use couplet_middleware::ErrorPolicy;
/// use couplet_server::Server;
///
/// let policy = ErrorPolicy::new()
///     // Messages of internal errors go to the log; callers get a number to ask about.
///     .hide_internal()
///     // In all other messages, and in the texts of failed tools.
///     .redact(|text| text.replace("/srv/data", "…"));
/// let server: Server = Server::new("app", "1.0.0").middleware(policy);
/// # drop(server);
/// ```
#[derive(Clone, Default)]
pub struct ErrorPolicy {
    hide_internal: bool,
    map: Option<Arc<MapError>>,
    redact: Option<Arc<MapText>>,
    next_number: Arc<AtomicU64>,
}

impl ErrorPolicy {
    /// Creates a policy that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the message and data of internal errors (-32603) by a number, and logs them with it.
    #[must_use]
    pub fn hide_internal(mut self) -> Self {
        self.hide_internal = true;
        self
    }

    /// Sets a function for every error, which runs first.
    #[must_use]
    pub fn map(mut self, map: impl Fn(RpcError) -> RpcError + Send + Sync + 'static) -> Self {
        self.map = Some(Arc::new(map));
        self
    }

    /// Sets a function for the message of every error, and for the texts of failed tools.
    #[must_use]
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.redact = Some(Arc::new(redact));
        self
    }

    fn error(&self, method: &str, error: RpcError) -> RpcError {
        let mut error = match &self.map {
            Some(map) => map(error),
            None => error,
        };
        if self.hide_internal && error.code == code::INTERNAL_ERROR {
            let number = self.next_number.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(number, method, error = error.message, data = ?error.data, "internal error");
            return RpcError::internal(format!("internal error {number}"));
        }
        if let Some(redact) = &self.redact {
            error.message = redact(&error.message);
        }
        error
    }

    /// Changes the texts of a failed tool.
    fn failed(&self, body: ResultBody) -> ResultBody {
        let Some(redact) = &self.redact else { return body };
        let Ok(mut result) = serde_json::from_str::<Value>(body.members().as_str()) else { return body };
        for block in result.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(text)) = block.get_mut("text") {
                *text = redact(text);
            }
        }
        match JsonText::new(result.to_string()) {
            Ok(members) => body.with_members(&members),
            Err(_) => body,
        }
    }
}

impl Middleware for ErrorPolicy {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        let (policy, method) = (self.clone(), call.method.clone());
        Box::pin(async move {
            match next.run(call).await {
                Reply::Error(error) => Reply::Error(policy.error(&method, error)),
                Reply::Complete(body) if body.is_failed_tool() => Reply::Complete(policy.failed(body)),
                reply => reply,
            }
        })
    }
}

impl fmt::Debug for ErrorPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorPolicy").field("hide_internal", &self.hide_internal).finish_non_exhaustive()
    }
}
