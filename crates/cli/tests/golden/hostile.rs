//! A gateway in front of a server whose names, URIs and errors are hostile. Names with `sNN` are attacks that must not succeed.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::SeqCst},
    },
};

use couplet::{
    core::{
        BoxFuture, Call, Description, Hub, JsonText, Limits, Reply, ResultBody, Service, Transport,
        http::headers::{decode, encode},
    },
    http::server::HttpTransport,
    types::{Implementation, ResourcesCapability, RpcError, ServerCapabilities, ToolsCapability},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    gateway::{Gateway, Recorded, write},
    kit::{Folder, run},
};

/// Names of tools: new lines, NUL, texts that are not ASCII, the beginning and end of an encoded header, commands of terminals.
const NAMES: &[&str] = &[
    "plain",
    "x\r\nX-Evil: 1",
    "x\nX-Evil: 2",
    "x\rX-Evil: 3",
    "nul\0X-Evil: 4",
    "naïve→",
    "=?base64?WC1FdmlsOiA1?=",
    "=?base64?",
    " padded\t",
    "\u{1b}[2J\u{1b}]52;c;eA==\u{7}",
    "\u{9b}31m\u{202e}evil\u{200b}",
    "tag\u{e0041}\u{e007f}",
];

const URIS: &[&str] = &[
    "file:///plain",
    "file:///x\r\nX-Evil: 6",
    "file:///nul\0X-Evil: 7",
    "file:///naïve→\u{202e}",
    "=?base64?WC1FdmlsOiA4?=",
    "file:///\u{1b}[2J",
];

/// A value of an argument that is also sent as a header.
const VALUE: &str = "\r\nX-Evil: 9\0ï";

/// What the server offers.
const PLAIN: u8 = 0;
const HOSTILE: u8 = 1;
const BROKEN: u8 = 2;

struct Server {
    hub: Hub,
    mode: AtomicU8,
}

impl Server {
    fn answer(&self, call: &Call) -> Result<Value, RpcError> {
        let params: Value = serde_json::from_str(call.params.text().as_str()).unwrap_or_default();
        let of = |all: &[&str], few: &[&str]| -> Vec<String> {
            let all = if self.mode.load(SeqCst) == PLAIN { few } else { all };
            all.iter().map(|&text| text.to_owned()).collect()
        };
        let schema =
            json!({ "type": "object", "properties": { "city": { "type": "string", "x-mcp-header": "City" } } });
        Ok(match &*call.method {
            _ if self.mode.load(SeqCst) == BROKEN => {
                return Err(RpcError::internal("no\u{1b}[2J\r\nX-Evil: 10\u{202e}"));
            }
            "tools/list" => {
                let tool = |name: &String| json!({ "name": name, "description": name, "inputSchema": schema });
                json!({ "tools": of(NAMES, &["plain"]).iter().map(tool).collect::<Vec<_>>() })
            }
            "resources/list" => {
                let resource = |uri: &String| json!({ "name": uri, "uri": uri });
                json!({ "resources": of(URIS, &["file:///plain"]).iter().map(resource).collect::<Vec<_>>() })
            }
            "tools/call" => json!({ "content": [{ "type": "text", "text": params["name"].to_string() }] }),
            "resources/read" => json!({ "contents": [{ "uri": params["uri"], "text": params["uri"].to_string() }] }),
            _ => json!({ "resourceTemplates": [], "prompts": [] }),
        })
    }
}

impl Service for Server {
    fn describe(&self) -> Arc<Description> {
        let mut can = ServerCapabilities::default();
        can.tools = Some(ToolsCapability::new());
        can.resources = Some(ResourcesCapability::new());
        Arc::new(Description::new(Implementation::new("x\r\nX-Evil: 11\u{1b}[2J", "1\u{202e}"), can))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let answer = self.answer(&call);
        Box::pin(async move {
            match answer {
                Ok(value) => Reply::Complete(ResultBody::json(&JsonText::new(value.to_string()).unwrap())),
                Err(error) => Reply::Error(error),
            }
        })
    }

    fn hub(&self) -> &Hub {
        &self.hub
    }
}

/// Sends a request, and returns the message that answers it.
fn ask(gateway: &Gateway, method: &str, name: Option<&str>, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = name.map(|name| format!("Mcp-Name: {}\r\n", encode(name))).unwrap_or_default();
    let param = params["arguments"]["city"].as_str().map(|city| format!("Mcp-Param-City: {}\r\n", encode(city)));
    let headers =
        format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}{}", param.unwrap_or_default());
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let text = gateway.post(&headers, &body.to_string());
    let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str(body).ok());
    body.unwrap_or_else(|| panic!("{method}: {text:?}"))
}

/// The strings of a member of each item of a list.
fn strings(list: &Value, member: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item[member].as_str().unwrap().to_owned()).collect()
}

/// The headers of each request that the server got, which all have one line.
fn heads(sent: &str) -> Vec<Vec<(String, String)>> {
    let heads = sent.split("POST /mcp HTTP/1.1\r\n").skip(1).map(|text| text.split_once("\r\n\r\n").unwrap().0);
    let line = |line: &str| {
        assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
        let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?}"));
        (name.to_ascii_lowercase(), value.to_owned())
    };
    heads.map(|head| head.split("\r\n").map(line).collect()).collect()
}

fn start(folder: &Folder, url: &str, more: &str) -> Gateway {
    let text = format!(
        r#"{{ "mcpServers": {{ "far": {{ "url": "{url}", "start": "eager"{more} }} }}, "audit": {{ "file": "audit.jsonl" }} }}"#
    );
    Gateway::start(&write(folder, "gateway.json", &text), &[], &[("RUST_LOG", "trace")])
}

#[test]
fn s13_names_of_a_server_reach_it_in_one_header_each() {
    let folder = Folder::new("gateway-hostile");
    let runtime = Runtime::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Arc::new(Server { hub: Hub::new(), mode: AtomicU8::new(HOSTILE) });
    let serving = {
        let _runtime = runtime.enter();
        let transport = HttpTransport::from_listener(tokio::net::TcpListener::from_std(listener).unwrap());
        transport.serve(server, Limits::default())
    };
    runtime.spawn(serving);
    let recorded = Recorded::before(&url);

    let gateway = start(&folder, &recorded.url, r#", "pin": false"#);
    let tools = strings(&ask(&gateway, "tools/list", None, json!({}))["result"]["tools"], "name");
    let uris = strings(&ask(&gateway, "resources/list", None, json!({}))["result"]["resources"], "uri");
    let is_plain = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    assert!(tools.len() == NAMES.len() && tools.iter().all(is_plain), "{tools:?}");
    assert_eq!(uris, URIS, "URIs are locators: they stay as they are");
    let mut called = BTreeSet::new();
    for name in &tools {
        let params = json!({ "name": name, "arguments": { "city": VALUE } });
        let answer = ask(&gateway, "tools/call", Some(name), params);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{name}: {answer}"));
        called.insert(serde_json::from_str::<String>(text).unwrap());
    }
    assert_eq!(called, NAMES.iter().map(|&name| name.to_owned()).collect(), "each call reaches its tool");
    for uri in &uris {
        let answer = ask(&gateway, "resources/read", Some(uri), json!({ "uri": uri }));
        assert_eq!(answer["result"]["contents"][0]["text"], json!(uri).to_string(), "{answer}");
    }

    let sent = recorded.sent();
    let (mut named, mut params) = (BTreeSet::new(), 0);
    for head in heads(&sent) {
        let of =
            |name: &str| head.iter().filter(|(own, _)| own == name).map(|(_, value)| value.clone()).collect::<Vec<_>>();
        assert!(!head.iter().any(|(name, _)| name == "x-evil"), "{head:?}");
        let values = of("mcp-name");
        assert!(values.len() <= 1, "{head:?}");
        named.extend(values.iter().map(|value| decode(value.as_bytes()).unwrap().into_owned()));
        for value in of("mcp-param-city") {
            assert_eq!(decode(value.as_bytes()).unwrap(), VALUE);
            params += 1;
        }
    }
    assert_eq!(named, NAMES.iter().chain(URIS).map(|&name| name.to_owned()).collect(), "each name has its header");
    assert_eq!(params, NAMES.len());

    let audit = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(
        audit.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object())),
        "{audit}"
    );
    assert!(!audit.contains(['\u{1b}', '\u{7}', '\0', '\r']) && !audit.contains("\nX-Evil"), "{audit}");
    let errors = gateway.errors.lock().unwrap().clone();
    assert!(!errors.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\0']), "{errors:?}");
    assert!(!errors.lines().any(|line| line.trim_start().starts_with("X-Evil")), "{errors}");
}

/// Names and errors of a server are on one line each of the status, escaped.
#[test]
fn s17_names_and_errors_of_a_server_are_escaped_in_the_status() {
    let folder = Folder::new("gateway-hostile-status");
    let runtime = Runtime::new().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let server = Arc::new(Server { hub: Hub::new(), mode: AtomicU8::new(PLAIN) });
    let serving = {
        let _runtime = runtime.enter();
        let transport = HttpTransport::from_listener(tokio::net::TcpListener::from_std(listener).unwrap());
        transport.serve(server.clone(), Limits::default())
    };
    runtime.spawn(serving);
    let path = folder.file("gateway.json");
    let status = |says: &str, lines: usize| {
        let gateway = start(&folder, &url, "");
        gateway.until("list", &["tools"], |_| run(&["gateway", "status", &path]).contains(says));
        let page = run(&["gateway", "status", &path]);
        let raw = crate::kit::couplet().args(["gateway", "status", &path]).output().unwrap().stdout;
        let raw = String::from_utf8(raw).unwrap();
        assert!(
            !raw.contains(['\u{1b}', '\u{9b}', '\u{7}', '\u{202e}', '\u{200b}', '\u{e0041}', '\0', '\r']),
            "{raw:?}"
        );
        assert_eq!(raw.lines().count(), lines, "{page}");
        assert!(!raw.lines().any(|line| line.starts_with("X-Evil")), "{page}");
    };
    // The heading, the columns, the server.
    status("far", 3);
    server.mode.store(HOSTILE, SeqCst);
    status("hidden until approved: ", 4);
    server.mode.store(BROKEN, SeqCst);
    status("X-Evil: 10", 4);
}
