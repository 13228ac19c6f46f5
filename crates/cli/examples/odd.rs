//! A server for the tests of `couplet`, written by hand: it does what servers should not do, and some do.
//!
//! `odd` speaks 2025-11-25; `odd stubborn FILE` writes its process id to a file and ends neither at the end of its
//! input nor at SIGTERM; `odd bytes` says what is not UTF-8.

use std::{
    fs,
    io::{self, BufRead, Write},
};

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stubborn", file] => stubborn(file),
        ["bytes"] => {
            io::stdout().write_all(b"caf\xe9 \xff\n")?;
            Ok(())
        }
        _ => serve(),
    }
}

/// Waits for ever.
fn stubborn(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        #[cfg(unix)]
        let _heard = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        // A client that says something has done all that it does when it starts a server.
        io::stdin().lock().read_line(&mut String::new())?;
        // It is there whole, or not at all.
        fs::write(format!("{file}.new"), std::process::id().to_string())?;
        fs::rename(format!("{file}.new"), file)?;
        std::future::pending().await
    })
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let mut answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "result": {
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
                "serverInfo": { "name": "odd", "version": "0" },
            } }),
            "tools/list" => json!({ "result": { "tools": tools() } }),
            "prompts/list" => json!({ "result": { "prompts": [{ "name": "hello" }] } }),
            "tools/call" => json!({ "result": call(&message["params"]) }),
            _ => json!({ "error": { "code": -32601, "message": "Method not found" } }),
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

fn tools() -> Value {
    let point = json!({ "type": "object", "properties": { "x": { "type": "number" }, "y": { "type": "number" } }, "required": ["x"] });
    let nested = json!({
        "type": "object",
        "properties": {
            "place": { "anyOf": [{ "type": "null" }, point], "description": "Where." },
            "points": { "type": "array", "items": point },
            "sizes": { "type": "array", "items": { "type": "integer" } },
            "more": { "type": ["object", "null"] },
        },
    });
    json!([
        { "name": "any", "description": "Takes anything.", "inputSchema": { "type": "object" } },
        { "name": "nested", "description": "Takes much.", "inputSchema": nested },
        { "name": "hologram", "description": "Says what is not known yet.", "inputSchema": { "type": "object" } },
        { "name": "modern", "description": "Fails in this revision.", "inputSchema": { "type": "object" } },
    ])
}

fn call(params: &Value) -> Value {
    let text = |text: &str| json!({ "type": "text", "text": text });
    match params["name"].as_str().unwrap_or_default() {
        "hologram" => json!({ "content": [
            text("before"),
            { "type": "hologram", "depth": 3, "data": { "b": 1, "a": [2] } },
            text("after"),
        ] }),
        "modern" => {
            json!({ "content": [text("elicitation is unavailable on 2025-11-25 connections")], "isError": true })
        }
        _ => json!({ "content": [text(&params["arguments"].to_string())] }),
    }
}
