//! From a request to its response: parse, call, serialize.

use std::{borrow::Cow, sync::OnceLock};

use serde::Deserialize;
use serde_json::{json, value::RawValue};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize)]
struct Echo<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Payload {
    bytes: usize,
}

const INITIALIZE: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1.0.0"}}"#;

/// The response to `server/discover`.
const DISCOVER: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1.0.0"},"ttlMs":0,"cacheScope":"private"}"#;

/// Appends the response. Returns `None` for a notification.
pub(crate) fn answer(message: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let request: Request<'_> = serde_json::from_slice(message).ok()?;
    let id = request.id?;
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.get().as_bytes());
    out.extend_from_slice(b",\"result\":");
    match &*request.method {
        "initialize" => out.extend_from_slice(INITIALIZE.as_bytes()),
        "server/discover" => out.extend_from_slice(DISCOVER.as_bytes()),
        "tools/list" => {
            out.extend_from_slice(b"{\"tools\":");
            out.extend_from_slice(tools().as_bytes());
            out.push(b'}');
        }
        "tools/call" => {
            let call: Call<'_> = serde_json::from_str(request.params?.get()).ok()?;
            out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":");
            serde_json::to_writer(&mut *out, &text(&call)?).ok()?;
            out.extend_from_slice(b"}],\"isError\":false}");
        }
        _ => out.extend_from_slice(b"{}"),
    }
    out.push(b'}');
    Some(())
}

fn text<'a>(call: &Call<'a>) -> Option<Cow<'a, str>> {
    let arguments = call.arguments?.get();
    Some(match &*call.name {
        "add" => {
            let Add { a, b } = serde_json::from_str(arguments).ok()?;
            (a + b).to_string().into()
        }
        "echo" => serde_json::from_str::<Echo<'_>>(arguments).ok()?.text,
        "payload" => "x".repeat(serde_json::from_str::<Payload>(arguments).ok()?.bytes).into(),
        _ => "ok".into(),
    })
}

/// The list of tools, serialized once.
fn tools() -> &'static str {
    static TOOLS: OnceLock<String> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let tool = |name: &str, description: &str, properties: serde_json::Value, required: &[&str]| {
            json!({"name": name, "description": description,
                "inputSchema": {"type": "object", "properties": properties, "required": required}})
        };
        let of = |kind: &str, what: &str| json!({"type": kind, "description": what});
        let numbers = json!({"a": of("integer", "left operand"), "b": of("integer", "right operand")});
        let mut tools = vec![
            tool("add", "Add two integers", numbers, &["a", "b"]),
            tool("echo", "Return the text unchanged", json!({"text": of("string", "text to return")}), &["text"]),
            tool(
                "payload",
                "Return a text of the given size",
                json!({"bytes": of("integer", "size of the result text")}),
                &["bytes"],
            ),
        ];
        let query = json!({"query": of("string", "what to look for"), "limit": of("integer", "how many")});
        tools.extend(
            (0..100)
                .map(|i| tool(&format!("dummy_{i:03}"), &format!("Dummy tool number {i}"), query.clone(), &["query"])),
        );
        json!(tools).to_string()
    })
}
