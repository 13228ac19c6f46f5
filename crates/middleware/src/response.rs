//! Limits of the size of tool results.

use couplet_core::{BoxFuture, Call, JsonText, Reply, ResultBody};
use couplet_server::{Middleware, Next};
use couplet_types::{CallToolResult, ContentBlock, RequestMethod, Resource};
use serde_json::{Value, json};

use crate::{
    names::owner,
    spill::{Spill, uri},
    spilled::{Document, fitting},
};

/// A limit of the size of tool results: long texts are truncated, with a hint for the model.
///
/// Text blocks are truncated at the end, one after the other, and other blocks that do not fit are replaced by a line of
/// text. Structured content cannot be truncated without breaking its schema: such a result becomes a failed tool with the
/// hint.
///
/// With a [`Spill`], the whole result is stored, and the truncated one has links to its parts: resources, each of which
/// fits the limit. Parts are text: the texts of the result, or its structured content or its blocks as JSON.
///
/// ```
/// use couplet_middleware::{ResponseLimit, Spill};
/// use couplet_server::Server;
///
/// let limit = ResponseLimit::new(100_000).hint("use `offset` and `limit` to read the rest");
/// let server: Server = Server::new("app", "1.0.0").middleware(limit);
/// # drop(server);
///
/// let spill = Spill::new();
/// let server: Server = Server::new("app", "1.0.0")
///     .resource(spill.resource())
///     .middleware(ResponseLimit::new(100_000).spill(&spill));
/// # drop(server);
/// ```
#[derive(Clone, Debug)]
pub struct ResponseLimit {
    bytes: usize,
    hint: String,
    spill: Option<Spill>,
}

/// The least limit: the hint needs room.
const LEAST: usize = 1_000;
/// The room for everything that surrounds a text in a result.
const FRAME: usize = 300;
/// The room for the link to a part.
const LINK: usize = 400;
/// The maximum number of links.
const MAX_LINKS: usize = 8;

impl ResponseLimit {
    /// Creates a limit in bytes of the encoded result; at least 1,000.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: bytes.max(LEAST), hint: "ask for a smaller part".to_owned(), spill: None }
    }

    /// Sets the hint: what the model can do to get the rest.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Stores results that are too large, so that the client can read them in parts. The [resource](Spill::resource) of the
    /// store must be registered.
    #[must_use]
    pub fn spill(mut self, spill: &Spill) -> Self {
        self.spill = Some(spill.clone());
        self
    }

    fn limited(&self, call: &Call, body: ResultBody) -> Reply {
        let size = body.size();
        if size <= self.bytes {
            return Reply::Complete(body);
        }
        let too_large = || {
            Reply::tool_error(
                call,
                format!("the result has {size} bytes; at most {} are allowed; {}", self.bytes, self.hint),
            )
        };
        let Ok(mut result) = serde_json::from_str::<Value>(body.members().as_str()) else { return too_large() };
        if let Some(spilled) = self.spilled(call, &result, size) {
            return Reply::Complete(body.with_members(&call.revision.encode(spilled).members()));
        }
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

    /// Stores a result, and returns one with its start and links to its parts; `None` if it cannot be stored.
    fn spilled(&self, call: &Call, result: &Value, size: usize) -> Option<CallToolResult> {
        let spill = self.spill.as_ref().filter(|spill| {
            let is_registered = spill.is_registered();
            if !is_registered {
                tracing::warn!("a result is truncated only, because `Spill::resource` is not registered");
            }
            is_registered
        })?;
        let is_structured = result.get("structuredContent").is_some();
        let (text, mime_type) = document(result)?;
        let document = Document::new(text, mime_type, self.bytes - FRAME - LINK / 2);
        let (parts, links) = (document.parts(), MAX_LINKS.min(self.bytes / 2 / LINK).max(1));
        let sizes: Vec<usize> = (1..=parts.min(links)).filter_map(|n| document.part(n)).map(str::len).collect();
        let hint = format!("[truncated: the whole result has {size} bytes; read its {parts} linked parts]");
        let room = self.bytes.saturating_sub(FRAME + hint.len() + sizes.len() * LINK);
        let start = if is_structured { "" } else { fitting(&document.text, room) };
        let start = format!("{start}{}{hint}", if start.is_empty() { "" } else { "\n" });
        let id = spill.store(&owner(call), document)?;
        let mut content = vec![ContentBlock::text(start)];
        for (at, bytes) in sizes.iter().enumerate() {
            let name = format!("part {} of {parts}", at + 1);
            let mut link = Resource::new(uri(&id, at + 1), name).mime_type(mime_type).size(*bytes as u64);
            if at + 1 == sizes.len() && at + 1 < parts {
                link.description =
                    Some(format!("the other parts have the same URI with a number up to {parts} at its end"));
            }
            content.push(ContentBlock::link(link));
        }
        let failed = is_structured || result.get("isError") == Some(&Value::Bool(true));
        let spilled = CallToolResult::new(content);
        Some(if failed { spilled.is_error(true) } else { spilled })
    }

    /// Truncates blocks. What remains fits, unless there are very many blocks.
    fn truncate(&self, content: &mut [Value], size: usize) {
        // The hint and the frame of the result.
        let mut room = self.bytes.saturating_sub(self.hint.len() + FRAME);
        for block in content {
            let needed = block.to_string().len() + 1;
            if needed <= room {
                room -= needed;
                continue;
            }
            let hint = format!("[truncated: the whole result has {size} bytes; {}]", self.hint);
            let text = match block.get("text").and_then(Value::as_str).filter(|_| block["type"] == "text") {
                Some(text) => format!("{}\n{hint}", fitting(text, room.saturating_sub(60))),
                None => format!("[left out: content of the type {}]\n{hint}", block["type"]),
            };
            // Whatever follows has no room.
            room = 0;
            *block = json!({ "type": "text", "text": text });
        }
    }
}

/// Returns what is stored of a result, and its media type.
fn document(result: &Value) -> Option<(String, &'static str)> {
    if let Some(structured) = result.get("structuredContent") {
        return Some((structured.to_string(), "application/json"));
    }
    let content = result.get("content")?;
    let text = |block: &Value| (block["type"] == "text").then(|| block["text"].as_str().map(str::to_owned))?;
    let texts: Option<Vec<String>> = content.as_array()?.iter().map(text).collect();
    Some(match texts {
        Some(texts) => (texts.join("\n"), "text/plain"),
        None => (content.to_string(), "application/json"),
    })
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
