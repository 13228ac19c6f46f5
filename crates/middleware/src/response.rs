//! Limits of the size of tool results.

use couplet_core::{BoxFuture, Call, JsonText, Reply, ResultBody};
use couplet_server::{Middleware, Next};
use couplet_types::RequestMethod;
use serde_json::{Value, json};

/// A limit of the size of tool results: long texts are truncated, with a hint for the model.
///
/// Text blocks are truncated at the end, one after the other, and other blocks that do not fit are replaced by a line of
/// text. Structured content cannot be truncated without breaking its schema: such a result becomes a failed tool with the
/// hint.
///
/// ```
/// use couplet_middleware::ResponseLimit;
/// use couplet_server::Server;
///
/// let limit = ResponseLimit::new(100_000).hint("use `offset` and `limit` to read the rest");
/// let server: Server = Server::new("app", "1.0.0").middleware(limit);
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct ResponseLimit {
    bytes: usize,
    hint: String,
}

/// The least limit: the hint needs room.
const LEAST: usize = 1_000;

impl ResponseLimit {
    /// Creates a limit in bytes of the encoded result; at least 1,000.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: bytes.max(LEAST), hint: "ask for a smaller part".to_owned() }
    }

    /// Sets the hint: what the model can do to get the rest.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    fn limited(&self, call: &Call, body: ResultBody) -> Reply {
        let members = body.members();
        let size = members.as_bytes().len();
        if size <= self.bytes {
            return Reply::Complete(body);
        }
        let too_large = || {
            Reply::tool_error(
                call,
                format!("the result has {size} bytes; at most {} are allowed; {}", self.bytes, self.hint),
            )
        };
        let Ok(mut result) = serde_json::from_str::<Value>(members.as_str()) else { return too_large() };
        if result.get("structuredContent").is_some() {
            return too_large();
        }
        let Some(content) = result.get_mut("content").and_then(Value::as_array_mut) else { return too_large() };
        self.truncate(content, size);
        match JsonText::new(result.to_string()) {
            Ok(members) if members.as_bytes().len() <= self.bytes => Reply::Complete(body.with_members(&members)),
            _ => too_large(),
        }
    }

    /// Truncates blocks. What remains fits, unless there are very many blocks.
    fn truncate(&self, content: &mut [Value], size: usize) {
        // The hint and the frame of the result.
        let mut room = self.bytes.saturating_sub(self.hint.len() + 300);
        for block in content {
            let needed = block.to_string().len() + 1;
            if needed <= room {
                room -= needed;
                continue;
            }
            let hint = format!("[truncated: the whole result has {size} bytes; {}]", self.hint);
            let text = match block.get("text").and_then(Value::as_str).filter(|_| block["type"] == "text") {
                Some(text) => format!("{}\n{hint}", fitting(text, room)),
                None => format!("[left out: content of the type {}]\n{hint}", block["type"]),
            };
            // Whatever follows has no room.
            room = 0;
            *block = json!({ "type": "text", "text": text });
        }
    }
}

/// Returns the start of a text whose encoded form has at most `room` bytes.
fn fitting(text: &str, room: usize) -> &str {
    let mut used = 60;
    let end = text.char_indices().find(|(_, c)| {
        used += match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c.is_control() => 6,
            c => c.len_utf8(),
        };
        used > room
    });
    end.map_or(text, |(end, _)| &text[..end])
}

impl Middleware for ResponseLimit {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        if call.known() != Some(RequestMethod::CallTool) {
            return next.run(call);
        }
        let limit = self.clone();
        Box::pin(async move {
            match next.run(call.clone()).await {
                Reply::Complete(body) => limit.limited(&call, body),
                reply => reply,
            }
        })
    }
}
