//! The requests, serialized once with an id of fixed width that is patched in place, and the expected responses.

use serde_json::{Value, json};

use crate::{Failure, args::Args};

/// Ids have nine digits, so that a patched request keeps its length.
pub(crate) const FIRST_ID: u64 = 100_000_000;
const ID_DIGITS: usize = 9;
const PLACEHOLDER: &str = "111111111";

/// The cases that every server must support.
pub(crate) const NAMES: [&str; 6] = ["echo", "add", "list", "payload-100k", "payload-1m", "arg-1m"];

/// The expected number of tools, unless `--tools` is given: `add`, `echo`, `payload` and a hundred dummies.
const TOOLS: usize = 103;

/// The lifecycle of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// With `initialize`, and a session over HTTP: 2025-11-25.
    Session,
    /// Stateless; every request carries the client's metadata: 2026-07-28.
    Stateless,
}

impl Life {
    pub(crate) fn new(name: &str) -> Result<Self, Failure> {
        match name {
            "2025" => Ok(Self::Session),
            "2026" => Ok(Self::Stateless),
            _ => Err("`--life` is 2025 or 2026".into()),
        }
    }

    pub(crate) const fn version(self) -> &'static str {
        match self {
            Self::Session => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }
}

/// A request that is sent repeatedly.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) method: &'static str,
    pub(crate) tool: Option<String>,
    pub(crate) body: Vec<u8>,
    /// The offset of the id in the body.
    pub(crate) id_at: usize,
    /// The payload size of a request, for the throughput in bytes.
    pub(crate) payload: usize,
    /// The expected number of tools.
    tools: usize,
}

impl Case {
    /// A case; the options may change the prefix of tool names and the expected number of tools.
    pub(crate) fn new(name: &str, life: Life, args: &Args) -> Result<Self, Failure> {
        let prefix = args.text("prefix").unwrap_or_default();
        let tools = args.number("tools", TOOLS)?;
        let call = |tool: &str, arguments: Value| {
            let tool = format!("{prefix}{tool}");
            let params = json!({"name": tool, "arguments": arguments});
            ("tools/call", Some(tool), params)
        };
        let (payload, (method, tool, mut params)) = match name {
            "echo" => (0, call("echo", json!({"text": "hello, world"}))),
            "add" => (0, call("add", json!({"a": 19, "b": 23}))),
            "list" => (0, ("tools/list", None, json!({}))),
            "payload-100k" => (100_000, call("payload", json!({"bytes": 100_000}))),
            "payload-1m" => (1_000_000, call("payload", json!({"bytes": 1_000_000}))),
            // The argument is echoed: two megabytes are transferred, one is counted.
            "arg-1m" => (1_000_000, call("echo", json!({"text": "y".repeat(1_000_000)}))),
            _ => return Err(format!("unknown case `{name}`").into()),
        };
        if life == Life::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": life.version(),
                "io.modelcontextprotocol/clientInfo": {"name": "bench-load", "version": "1.0.0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let body = format!(r#"{{"jsonrpc":"2.0","id":{PLACEHOLDER},"method":"{method}","params":{params}}}"#);
        let id_at = body.find(PLACEHOLDER).unwrap_or_default();
        Ok(Self { name: name.to_owned(), method, tool, body: body.into_bytes(), id_at, payload, tools })
    }

    /// Verifies a response.
    pub(crate) fn check(&self, id: u64, message: &Value) -> Result<(), String> {
        let shown = || message.to_string().chars().take(400).collect::<String>();
        if message["id"] != json!(id) {
            return Err(format!("the id is not {id}: {}", shown()));
        }
        let result = &message["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let right = match self.name.as_str() {
            "echo" => text == "hello, world",
            "add" => text == "42",
            "list" => result["tools"].as_array().is_some_and(|tools| tools.len() == self.tools),
            _ => text.len() == self.payload,
        };
        if right && result["isError"] != json!(true) { Ok(()) } else { Err(shown()) }
    }
}

/// Overwrites the id.
pub(crate) fn patch_id(body: &mut [u8], at: usize, id: u64) {
    let mut rest = id;
    for digit in body[at..at + ID_DIGITS].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// The first message of a session.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench-load","version":"1.0.0"}}}"#;

/// The notification that completes the handshake.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
