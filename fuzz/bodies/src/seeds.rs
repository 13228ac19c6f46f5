//! Inputs to begin with: messages of all revisions, whole sessions, and the edges of JSON.

use serde_json::{Value, json};

use crate::server::{CURSOR, QUESTION, STATE};

const HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";

/// Single messages, good and bad.
pub fn messages() -> Vec<Vec<u8>> {
    let mut all: Vec<String> = EDGES.iter().map(|edge| (*edge).to_owned()).collect();
    for session in sessions() {
        let text = String::from_utf8(session).expect("seeds are text");
        all.extend(text.lines().map(str::to_owned));
    }
    all.push(format!("{}{}", "[".repeat(65), "]".repeat(65)));
    all.push(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{}{}}}"#,
        r#"{"a":"#.repeat(63),
        "}".repeat(63)
    ));
    let members: Vec<_> = (0..260).map(|n| format!("\"k{n}\":{n}")).collect();
    all.push(format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{{}}}}}"#, members.join(",")));
    all.sort();
    all.dedup();
    all.into_iter().map(String::into_bytes).collect()
}

/// Whole conversations, one message a line.
pub fn sessions() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<Value>> = HANDSHAKE.iter().map(|version| handshake(version)).collect();
    all.push(stateless());
    all.push(rounds());
    all.push(vec![request(1, "tools/list", json!({})), request(2, "ping", json!({})), initialize("1999-01-01")]);
    all.push((1..12).map(|id| request(id, "tools/call", marked(json!({ "name": "never" })))).collect());
    all.push(batches());
    let lines = |session: Vec<Value>| session.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let mut texts: Vec<String> = all.into_iter().map(lines).collect();
    texts.push(EDGES.join("\n"));
    texts.push(format!("{}\n{}\n", "x".repeat(5000), request(1, "ping", json!({}))));
    texts.into_iter().map(String::into_bytes).collect()
}

/// Two names of tools at each of two servers, one a line.
pub fn names() -> Vec<Vec<u8>> {
    let long = "a".repeat(60);
    let all = [
        "files\nread\nnotes\nread".to_owned(),
        "a\nb__c\na-b\nc_0123abcd".to_owned(),
        "My Files\n__proto__\n\n".to_owned(),
        format!("{long}\n{long}\n{long}b\n{long}"),
        "gr\u{fc}n\n\u{202e}x\0\ngr-x012345\ny_00000000".to_owned(),
    ];
    all.into_iter().map(String::into_bytes).collect()
}

/// Lock files, and a definition.
pub fn locks() -> Vec<Vec<u8>> {
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let item =
        json!({ "digest": digest, "approved": "2026-11-17T12:00:00Z", "by": "x", "hints": { "readOnlyHint": true } });
    let server = json!({ "launch": item, "instructions": item, "tools": { "a": item }, "prompts": { "b": item } });
    let all = [
        json!({ "version": 1, "servers": {} }),
        json!({ "version": 1, "servers": { "files": server } }),
        json!({ "version": 1, "servers": { "files": { "templates": { "x": { "digest": digest, "approved": "x" } } } } }),
        json!({ "name": "a", "max": 1.5e300, "annotations": { "readOnlyHint": true }, "_meta": { "traceparent": "x" } }),
    ];
    all.iter().map(|lock| lock.to_string().into_bytes()).collect()
}

/// What a client of the handshake era says, to all that there is.
fn handshake(version: &str) -> Vec<Value> {
    let mut session = vec![initialize(version), notification("notifications/initialized", json!({}))];
    let calls = calls().into_iter().chain([
        ("ping", json!({})),
        ("logging/setLevel", json!({ "level": "debug" })),
        ("resources/subscribe", json!({ "uri": "fuzz://fixed" })),
        ("tools/call", json!({ "name": "talk", "_meta": { "progressToken": "t" } })),
        ("resources/unsubscribe", json!({ "uri": "fuzz://fixed" })),
        ("tasks/list", json!({})),
        ("tools/call", json!({ "name": "ask" })),
    ]);
    session.extend(calls.zip(1..).map(|((method, params), id)| request(id, method, params)));
    session.push(answer(json!({ "action": "accept", "content": { "yes": true } })));
    session.push(answer(json!({ "roots": [{ "uri": "file:///a" }] })));
    session.push(request(90, "tools/call", json!({ "name": "ask" })));
    session.push(json!({ "jsonrpc": "2.0", "id": question(), "error": { "code": -1, "message": "no" } }));
    session.push(request(91, "tools/call", json!({ "name": "never" })));
    session.push(notification("notifications/cancelled", json!({ "requestId": 91, "reason": "enough" })));
    session.push(notification("notifications/roots/list_changed", json!({})));
    session
}

/// What a client of the stateless era says.
fn stateless() -> Vec<Value> {
    let calls = calls().into_iter().chain([
        ("server/discover", json!({})),
        (
            "subscriptions/listen",
            json!({ "notifications": {
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["fuzz://fixed"],
        } }),
        ),
        ("tools/call", json!({ "name": "talk" })),
        ("initialize", json!({})),
    ]);
    let mut session: Vec<_> =
        calls.zip(1..).map(|((method, params), id)| request(id, method, marked(params))).collect();
    session.push(notification("notifications/cancelled", json!({ "requestId": 12 })));
    session
}

/// A call that asks, and is asked again with the answers.
fn rounds() -> Vec<Value> {
    let yes = json!({ "action": "accept", "content": { "yes": true } });
    let again = |answers: Value| marked(json!({ "name": "ask", "requestState": state(), "inputResponses": answers }));
    vec![
        request(1, "tools/call", marked(json!({ "name": "ask" }))),
        request(2, "tools/call", again(json!({ "first": yes }))),
        request(3, "tools/call", again(json!({ "roots": { "roots": [{ "uri": "file:///a" }] } }))),
        request(4, "tools/call", again(json!({ "first": { "action": "decline" } }))),
        request(5, "tools/call", again(json!({ "other": 1 }))),
        request(6, "tools/call", marked(json!({ "name": "ask", "requestState": "forged" }))),
    ]
}

fn batches() -> Vec<Value> {
    let ping = |id: i64| request(id, "ping", json!({}));
    vec![
        json!([ping(1)]),
        initialize(HANDSHAKE[1]),
        json!([ping(2), notification("notifications/initialized", json!({})), { "id": 3 }, 4]),
        json!([request(4, "tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })), ping(4), ping(5)]),
        json!([request(6, "tools/call", json!({ "name": "never" })), ping(7)]),
        json!([initialize(HANDSHAKE[0])]),
        json!([notification("notifications/cancelled", json!({ "requestId": 6 }))]),
        json!([]),
    ]
}

/// What both eras can ask for.
fn calls() -> Vec<(&'static str, Value)> {
    let shapes = json!([{ "kind": "circle", "radius": 300 }, { "kind": "many", "shapes": [] }]);
    vec![
        ("tools/list", json!({})),
        ("tools/list", json!({ "cursor": CURSOR.trim_matches('"') })),
        ("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": -2.5e3 } })),
        ("tools/call", json!({ "name": "add", "arguments": { "a": "1" } })),
        ("tools/call", json!({ "name": "shape", "arguments": { "kind": "many", "shapes": shapes, "name": "é" } })),
        ("tools/call", json!({ "name": "echo", "arguments": { "any": [1, null, "\u{1f600}"] } })),
        ("tools/call", json!({ "name": "fail", "arguments": null })),
        ("tools/call", json!({ "name": 5 })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "fuzz://fixed" })),
        ("resources/read", json!({ "uri": "fuzz://square/1.5" })),
        ("resources/read", json!({ "uri": "fuzz://bytes/a/b%2Fc?a=1&b=%C3%A9" })),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "explain", "arguments": { "what": "it", "times": "3" } })),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/prompt", "name": "explain" }, "argument": { "name": "what", "value": "t" },
            }),
        ),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "fuzz://square/{n}" }, "argument": { "name": "n", "value": "1" },
                "context": { "arguments": { "m": "2" } },
            }),
        ),
        ("no/such/method", json!({})),
    ]
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn notification(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn answer(result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": question(), "result": result })
}

fn initialize(version: &str) -> Value {
    let params = json!({
        "protocolVersion": version,
        "capabilities": { "roots": {}, "sampling": {}, "elicitation": {} },
        "clientInfo": { "name": "seed", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params })
}

/// Parameters with what every request of the stateless era says.
fn marked(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": { "roots": {}, "elicitation": { "form": {} } },
        "io.modelcontextprotocol/clientInfo": { "name": "seed", "version": "1" },
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": 7,
    });
    params
}

fn question() -> &'static str {
    QUESTION.trim_matches('"')
}

fn state() -> &'static str {
    STATE.trim_matches('"')
}

/// What a reader may trip over.
const EDGES: &[&str] = &[
    "",
    "{}",
    "[]",
    "[[]]",
    "[1]",
    "null",
    " \t",
    "\u{feff}{}",
    r#"{"jsonrpc":"2.0"}"#,
    r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":-0,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"}"#,
    r#"{"jsonrpc":"2.0","id":"\ud83d\ude00","method":"p\u0069ng"}"#,
    r#"{"jsonrpc":"2.0","id":"","method":""}"#,
    r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
    r#"{"\u006asonrpc":"2.0","id":1,"method":"ping","params":null}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"\u0061":2}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":1e999}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":[1]}}"#,
    r#"{"jsonrpc":"2.0","error":{"code":1.5,"message":"m"}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
    r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#,
];
