//! A server that means harm or does not work well: `xtask browser serve MODE`, over standard input and output.
//!
//! It is written without an SDK, so that nothing stops it from sending what it wants.

use std::{
    fs,
    io::{BufRead, Write},
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::text;
use crate::Failure;

/// The number of tools of `many`.
pub(super) const MANY: usize = 1000;
/// The number of notifications of `flood` in a second.
const FLOOD: u64 = 1000;
/// The size of a large string.
pub(super) const LARGE: usize = 1 << 20;

/// Serves until the input ends. The modes are `many`, `large`, `flood`, `mortal FILE` and `text PORT`.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
    let (mode, argument) = match words {
        [mode] => (mode.as_str(), ""),
        [mode, argument] => (mode.as_str(), argument.as_str()),
        _ => return Err("expected a mode".to_owned()),
    };
    if mode == "mortal" {
        born(Path::new(argument));
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(request) = line.map_err(drop).and_then(|line| serde_json::from_str::<Value>(&line).map_err(drop)) else {
            continue;
        };
        if request["id"].is_null() {
            continue;
        }
        let answer = match answer(mode, argument, &request) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }),
        };
        say(&answer);
    }
    Ok(())
}

/// Ends the process at once as often as the file says.
fn born(file: &Path) {
    let left = fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or_default();
    if left > 0 {
        let _ = fs::write(file, (left - 1).to_string());
        complain(&format!("not yet: {left} more"));
        process::exit(4);
    }
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn say(message: &Value) {
    let mut out = std::io::stdout().lock();
    // A client that is gone does not read.
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

fn answer(mode: &str, argument: &str, request: &Value) -> Result<Value, Value> {
    let params = &request["params"];
    match request["method"].as_str().unwrap_or_default() {
        "initialize" if mode == "text" => Ok(text::initialized(argument)),
        "initialize" => Ok(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true }, "logging": {} },
            "serverInfo": { "name": mode, "version": "1" },
        })),
        "ping" | "logging/setLevel" => Ok(json!({})),
        "tools/list" if mode == "text" => Ok(text::tools(argument)),
        "tools/list" => Ok(json!({ "tools": tools(mode) })),
        "tools/call" if mode == "text" => text::called(argument, params),
        "tools/call" => Ok(called(params)),
        "resources/list" | "resources/templates/list" | "prompts/list" if mode == "text" => Ok(text::listed(argument)),
        "resources/read" => Ok(text::read(argument, &params["uri"])),
        other => Err(json!({ "code": -32601, "message": format!("there is no `{other}`") })),
    }
}

fn tools(mode: &str) -> Vec<Value> {
    let plain = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    match mode {
        "many" => (0..MANY).map(many).collect(),
        "large" => ["large", "lines", "structured"].map(plain).into(),
        _ => ["flood", "die", "echo"].map(plain).into(),
    }
}

fn many(number: usize) -> Value {
    let place = json!({ "type": "object", "properties": {
        "street": { "type": "string" }, "number": { "type": "integer", "minimum": 1 } }, "required": ["street"] });
    json!({
        "name": format!("tool-{number}"),
        "description": format!("Number {number} of many. ").repeat(20),
        "inputSchema": { "type": "object", "required": ["place"], "properties": {
            "place": place,
            "tags": { "type": "array", "items": { "type": "string" } },
            "mode": { "enum": ["fast", "slow"] },
            "either": { "oneOf": [{ "type": "string", "title": "text" }, { "type": "integer", "title": "number" }] },
        } },
    })
}

fn called(params: &Value) -> Value {
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    match params["name"].as_str().unwrap_or_default() {
        "large" => text("x".repeat(LARGE)),
        "lines" => text("a line of text\n".repeat(LARGE / 15)),
        "structured" => {
            let rows: Vec<_> = (0..20_000)
                .map(|row| json!({ "row": row, "text": "forty characters of text, more or less" }))
                .collect();
            json!({ "content": [], "structuredContent": { "rows": rows } })
        }
        "die" => {
            complain("these are my last words");
            process::exit(3);
        }
        "flood" => {
            thread::spawn(flood);
            text("here they come".to_owned())
        }
        _ => text(format!("called with {}", params["arguments"])),
    }
}

/// Sends notifications at an even pace, as long as the process lives.
fn flood() {
    let began = Instant::now();
    let mut sent = 0;
    loop {
        let due = began.elapsed().as_millis() as u64 * FLOOD / 1000;
        while sent < due {
            sent += 1;
            say(&match sent % 20 {
                0 => json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
                _ => json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {
                    "level": "info", "data": format!("notification {sent}") } }),
            });
        }
        thread::sleep(Duration::from_millis(5));
    }
}
