//! A client that writes everything at once and hangs up gets every answer.

use std::collections::HashSet;

use couplet_testing::block_on;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::{
    child::Raw,
    rows::{ROWS, Row},
};

const CALLS: usize = 10_000;

fn lines(row: &Row) -> String {
    let mut lines = String::new();
    let mut line = |message: Value| {
        lines.push_str(&message.to_string());
        lines.push('\n');
    };
    let mut params = json!({ "name": "add" });
    if row.session {
        let hello = json!({
            "protocolVersion": row.version.as_str(),
            "capabilities": {},
            "clientInfo": { "name": "flood", "version": "1" },
        });
        line(json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello }));
        line(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    } else {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": row.version.as_str(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    for id in 0..CALLS {
        params["arguments"] = json!({ "a": id, "b": 1 });
        line(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    lines
}

#[test]
fn every_call_before_the_end_of_the_input_is_answered() {
    block_on(async {
        for row in [&ROWS[3], &ROWS[4]] {
            let mut child = Raw::start();
            let mut input = child.take_input();
            let text = lines(row);
            let writer = tokio::spawn(async move {
                input.write_all(text.as_bytes()).await.expect("the child reads it all");
                drop(input);
            });
            let mut seen = HashSet::new();
            let mut hello = 0;
            while let Some(answer) = child.next().await {
                if answer["id"] == "hello" {
                    hello += 1;
                    continue;
                }
                let id = answer["id"].as_u64().unwrap_or_else(|| panic!("{answer}"));
                let text = answer["result"]["content"][0]["text"].as_str();
                assert_eq!(text, Some(&*(id + 1).to_string()), "{}: {answer}", row.version);
                assert!(seen.insert(id), "{}: `{id}` was answered twice", row.version);
            }
            writer.await.expect("it was written");
            assert_eq!((seen.len(), hello), (CALLS, usize::from(row.session)), "{}", row.version);
            child.finish().await;
        }
    });
}
