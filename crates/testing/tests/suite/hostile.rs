//! Bytes that no good client sends: each is answered as it should be, and the connection stays of use.

use couplet_core::{
    Limits,
    message::line::{Line, Lines},
};
use couplet_testing::{Wire, block_on};
use serde_json::{Value, json};

use crate::{
    child::Raw,
    fixture,
    rows::{ROWS, Row},
    schema,
};

/// A server to send bytes to: in this process, or in another.
enum Place {
    Memory(Box<Wire>, Lines),
    Child(Box<Raw>),
}

impl Place {
    fn both(row: &Row) -> [(&'static str, Self); 2] {
        let lines = Lines::new(Limits::default().message);
        let memory = Self::Memory(Box::new(Wire::new(fixture::server(), row.version)), lines);
        [("memory", memory), ("child", Self::Child(Box::new(Raw::start())))]
    }

    async fn send(&mut self, bytes: &[u8]) {
        match self {
            Self::Child(child) => child.send(bytes).await,
            Self::Memory(wire, lines) => {
                lines.buffer().extend_from_slice(bytes);
                while let Some(line) = lines.next() {
                    match line {
                        Line::Message(text) => wire.connection().receive(text),
                        Line::TooLong(message) => wire.connection().receive_oversized(&message),
                    }
                }
            }
        }
    }

    async fn next(&mut self) -> Value {
        let message = match self {
            Self::Child(child) => child.next().await,
            Self::Memory(wire, _) => wire.next().await,
        };
        message.expect("the server is still there")
    }

    async fn finish(self) {
        match self {
            Self::Child(child) => child.finish().await,
            Self::Memory(wire, _) => assert_eq!(wire.finish().await, [Value::Null; 0]),
        }
    }

    async fn ask(&mut self, row: &Row, id: &str, method: &str, params: Value) -> Value {
        self.send(&request(row, id, method, params)).await;
        self.next().await
    }

    async fn open(&mut self, row: &Row) {
        if row.session {
            let params = json!({
                "protocolVersion": row.version.as_str(),
                "capabilities": {},
                "clientInfo": { "name": "hostile", "version": "1" },
            });
            let answer = self.ask(row, "hello", "initialize", params).await;
            assert_eq!(answer["result"]["protocolVersion"], row.version.as_str(), "{answer}");
            self.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await;
        } else {
            let answer = self.ask(row, "hello", "server/discover", json!({})).await;
            assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
        }
    }

    /// The connection is of use, and nothing else was said before.
    async fn check_alive(&mut self, row: &Row, after: &str) {
        let answer =
            self.ask(row, "alive", "tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } })).await;
        assert_eq!(answer["id"], "alive", "{}: after {after}: {answer}", row.version);
        assert_eq!(answer["result"]["content"][0]["text"], "3", "{}: after {after}: {answer}", row.version);
    }
}

/// A request as the revision wants it, with the line feed.
fn request(row: &Row, id: &str, method: &str, mut params: Value) -> Vec<u8> {
    if !row.session {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": row.version.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    format!("{message}\n").into_bytes()
}

/// What should come back.
enum Expect {
    /// An error without an id that could be read.
    Unreadable(i64),
    /// An error to the request with this id.
    Error(&'static str, i64),
    /// A result for the request with this id.
    Result(&'static str),
    Nothing,
}

use Expect::{Error, Nothing, Result, Unreadable};

async fn check(place: &mut Place, row: &Row, name: &str, bytes: &[u8], expect: Expect) {
    place.send(bytes).await;
    match expect {
        Unreadable(code) => {
            let answer = place.next().await;
            assert_eq!(answer["error"]["code"], code, "{}: {name}: {answer}", row.version);
            let id = if row.null_id { Some(&Value::Null) } else { None };
            assert_eq!(answer.get("id"), id, "{}: {name}: {answer}", row.version);
            schema::error(row.version, &answer);
        }
        Error(id, code) => {
            let answer = place.next().await;
            assert_eq!(answer["error"]["code"], code, "{}: {name}: {answer}", row.version);
            assert_eq!(answer["id"], id, "{}: {name}: {answer}", row.version);
            schema::error(row.version, &answer);
        }
        Result(id) => {
            let answer = place.next().await;
            assert_eq!(answer["id"], id, "{}: {name}: {answer}", row.version);
            assert!(answer.get("result").is_some(), "{}: {name}: {answer}", row.version);
        }
        Nothing => {}
    }
    place.check_alive(row, name).await;
}

/// An array inside of an array, and so on.
fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn cases(row: &Row) -> Vec<(&'static str, Vec<u8>, Expect)> {
    let line = |text: &str| format!("{text}\n").into_bytes();
    let call = |id: &str, arguments: &str| {
        let message = String::from_utf8(request(row, id, "tools/call", json!({ "name": "echo", "arguments": "?" })));
        message.expect("text").replace("\"?\"", arguments).into_bytes()
    };
    let ping = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let mut cases = vec![
        ("half a message", line(r#"{"jsonrpc":"2.0","id":"#), Unreadable(-32700)),
        ("no JSON at all", line("hello?"), Unreadable(-32700)),
        ("two values", line(&format!("{ping} {ping}")), Unreadable(-32700)),
        ("a byte order mark", line(&format!("\u{feff}{ping}")), Unreadable(-32700)),
        ("a control character", line("{\"jsonrpc\":\"2.0\",\"id\":\"a\tb\",\"method\":\"ping\"}"), Unreadable(-32700)),
        ("half a surrogate pair", line(r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#), Unreadable(-32700)),
        ("a number", line("5"), Unreadable(-32600)),
        ("a string", line("\"hello\""), Unreadable(-32600)),
        ("nothing in an object", line("{}"), Unreadable(-32600)),
        ("another version", line(r#"{"jsonrpc":"1.0","id":"v","method":"ping"}"#), Error("v", -32600)),
        ("no version", line(r#"{"id":"v","method":"ping"}"#), Error("v", -32600)),
        ("a null id", line(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), Unreadable(-32600)),
        ("a fractional id", line(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), Unreadable(-32600)),
        ("an object as an id", line(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#), Unreadable(-32600)),
        ("a number as a method", line(r#"{"jsonrpc":"2.0","id":"m","method":1}"#), Error("m", -32600)),
        ("an array as params", line(r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}"#), Error("a", -32600)),
        (
            "a method and a result",
            line(r#"{"jsonrpc":"2.0","id":"r","method":"ping","result":{}}"#),
            Error("r", -32600),
        ),
        ("a result and an error", line(r#"{"jsonrpc":"2.0","id":"r","result":{},"error":{}}"#), Error("r", -32600)),
        ("an id twice", line(r#"{"jsonrpc":"2.0","id":"d","id":"e","method":"ping"}"#), Error("d", -32600)),
        ("a method twice", line(r#"{"jsonrpc":"2.0","id":"d","method":"ping","method":"x"}"#), Error("d", -32600)),
        (
            "an escaped key twice",
            line(r#"{"jsonrpc":"2.0","id":"d","method":"ping","m\u0065thod":"x"}"#),
            Error("d", -32600),
        ),
        ("a key in capitals", line(r#"{"jsonrpc":"2.0","id":"k","Method":"ping"}"#), Error("k", -32600)),
        ("a key that looks alike", line(r#"{"json\u0280pc":"2.0","id":"k","method":"ping"}"#), Error("k", -32600)),
        (
            "a key with more behind a zero",
            line(r#"{"jsonrpc":"2.0","id":"k","method\u0000":"ping"}"#),
            Error("k", -32600),
        ),
        (
            "a parameter twice",
            line(r#"{"jsonrpc":"2.0","id":"d","method":"tools/call","params":{"name":"add","name":"echo"}}"#),
            Error("d", -32600),
        ),
        (
            "bytes that are not UTF-8",
            b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}\n".into(),
            Unreadable(-32700),
        ),
        ("blank lines", b"\n\r\n   \n\t\n".into(), Nothing),
        ("a stray result", line(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#), Nothing),
        ("a stray error", line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"?"}}"#), Nothing),
        ("an unknown notification", line(r#"{"jsonrpc":"2.0","method":"notifications/no/such"}"#), Nothing),
        ("a broken cancellation", line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#), Nothing),
        ("an unknown method", request(row, "u", "no/such", json!({})), Error("u", -32601)),
        ("arguments that nest", call("n", &format!("{{\"a\":{}}}", nested(40))), Result("n")),
        ("arguments that nest too deep", call("n", &format!("{{\"a\":{}}}", nested(100))), Error("n", -32700)),
        ("arguments without a bottom", call("n", &format!("{{\"a\":{}}}", nested(100_000))), Error("n", -32700)),
        ("a message that nests too deep", line(&nested(100_000)), Unreadable(-32700)),
        (
            "carriage returns",
            line(&(String::from_utf8(call("c", "{}")).expect("text").trim().to_owned() + "\r")),
            Result("c"),
        ),
        ("a line that is too long", line(&"x".repeat((16 << 20) + 10)), Unreadable(-32600)),
    ];
    if !row.batches {
        cases.push(("a batch", line(&format!("[{ping}]")), Unreadable(-32600)));
    }
    if row.session {
        cases.push(("a ping", line(ping), Result("p")));
    } else {
        cases.push((
            "a request that does not say who asks",
            line(r#"{"jsonrpc":"2.0","id":"w","method":"tools/list"}"#),
            Error("w", -32602),
        ));
    }
    cases
}

#[test]
fn hostile_lines() {
    block_on(async {
        for row in &ROWS {
            for (at, mut place) in Place::both(row) {
                place.open(row).await;
                for (name, bytes, expect) in cases(row) {
                    check(&mut place, row, &format!("{name} ({at})"), &bytes, expect).await;
                }
                place.finish().await;
            }
        }
    });
}

#[test]
fn notifications_before_anything_else() {
    block_on(async {
        for row in &ROWS {
            for (at, mut place) in Place::both(row) {
                for (method, params) in [
                    ("notifications/initialized", json!({})),
                    ("notifications/cancelled", json!({ "requestId": 1 })),
                    ("notifications/roots/list_changed", json!({})),
                    ("notifications/progress", json!({ "progressToken": 1, "progress": 1 })),
                ] {
                    let note = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                    place.send(format!("{note}\n").as_bytes()).await;
                }
                place.open(row).await;
                place.check_alive(row, &format!("early notifications ({at})")).await;
                place.finish().await;
            }
        }
    });
}

/// A client that probes, gives up, and falls back to the handshake.
#[test]
fn a_probe_and_then_a_handshake() {
    block_on(async {
        let modern = &ROWS[4];
        for row in ROWS.iter().filter(|r| r.session) {
            for (at, mut place) in Place::both(row) {
                let probe = place.ask(modern, "probe", "server/discover", json!({})).await;
                assert_eq!(probe["id"], "probe", "{}: {probe}", row.version);
                let cancel = json!({ "requestId": "probe", "reason": "timeout" });
                let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel });
                place.send(format!("{cancel}\n").as_bytes()).await;
                place.open(row).await;
                place.check_alive(row, &format!("a probe ({at})")).await;
                // Whoever marks a request as stateless is answered so, with or without a session.
                place.check_alive(modern, &format!("a handshake ({at})")).await;
                place.finish().await;
            }
        }
    });
}

#[test]
fn requests_before_the_handshake() {
    block_on(async {
        for row in ROWS.iter().filter(|r| r.session) {
            for (at, mut place) in Place::both(row) {
                let early = place.ask(row, "early", "tools/list", json!({})).await;
                assert_eq!(early["error"]["code"], -32602, "{}: {at}: {early}", row.version);
                let ping = place.ask(row, "ping", "ping", json!({})).await;
                assert_eq!(ping["result"], json!({}), "{}: {at}: {ping}", row.version);
                place.open(row).await;
                place.check_alive(row, &format!("an early request ({at})")).await;
                place.finish().await;
            }
        }
    });
}

/// A request under the id of one that still runs cannot be answered: its answer would be taken for the other's.
#[test]
fn an_id_that_is_in_use() {
    block_on(async {
        for row in &ROWS {
            for (at, mut place) in Place::both(row) {
                place.open(row).await;
                let slow = json!({ "name": "slow" });
                place.send(&request(row, "same", "tools/call", slow)).await;
                let bytes = request(row, "same", "tools/list", json!({}));
                check(&mut place, row, &format!("an id in use ({at})"), &bytes, Unreadable(-32600)).await;
                let cancel =
                    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "same" } });
                place.send(format!("{cancel}\n").as_bytes()).await;
                // Now it is free again.
                let bytes = request(row, "same", "tools/list", json!({}));
                check(&mut place, row, &format!("an id that was in use ({at})"), &bytes, Result("same")).await;
                place.finish().await;
            }
        }
    });
}
