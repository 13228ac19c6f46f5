//! A page of a browser as a client: the page comes from one origin, the server is at another one, and CORS lets the page
//! call it.
//!
//! Without arguments it sends the requests of a browser itself, and checks the answers. With `serve` it stays: open the
//! address that it prints.

use couplet::{http::server::HttpTransport, prelude::*};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const PAGE: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/client.mjs");

/// The headers of the script that a browser does not send to another origin without a permission.
const GUARDED: [&str; 4] = ["content-type", "mcp-protocol-version", "mcp-method", "mcp-name"];

/// Adds two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let (listener, pages) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    let (server, site) = (listener.local_addr()?.to_string(), pages.local_addr()?.to_string());
    let origin = format!("http://{site}");
    let page = origin.clone();
    let transport = HttpTransport::from_listener(listener).endpoint(move |endpoint| endpoint.allow_origin(page));
    let shutdown = transport.shutdown();
    let serving = tokio::spawn(Server::new("calculator", "1.0.0").tool(add).serve(transport));
    let site_task = tokio::spawn(serve_pages(pages));

    if std::env::args().nth(1).as_deref() == Some("serve") {
        println!("{origin}/?server=http://{server}/mcp");
        return serving.await.expect("the server does not panic");
    }
    as_a_browser(&server, &site, &origin).await?;
    shutdown.trigger();
    site_task.abort();
    serving.await.expect("the server does not panic")
}

/// Sends what a browser sends for the page, and checks what decides whether the page may read it.
async fn as_a_browser(server: &str, site: &str, origin: &str) -> couplet::Result<()> {
    for (path, part) in [("/", "client.mjs"), ("/client.mjs", "export class McpClient")] {
        let file = exchange(site, &format!("GET {path} HTTP/1.1\r\nhost: {site}\r\n"), "").await?;
        assert!(file.starts_with("HTTP/1.1 200") && file.contains(part), "{path}: {file}");
    }

    // Before the call: may a page of this origin send it, with these headers?
    let names = GUARDED.join(",");
    let preflight = |origin: &str| {
        let asked = format!("access-control-request-method: POST\r\naccess-control-request-headers: {names}\r\n");
        format!("OPTIONS /mcp HTTP/1.1\r\nhost: {server}\r\norigin: {origin}\r\n{asked}")
    };
    let permission = exchange(server, &preflight(origin), "").await?;
    assert!(permission.starts_with("HTTP/1.1 204"), "{permission}");
    assert_eq!(header(&permission, "access-control-allow-origin"), Some(origin));
    assert!(header(&permission, "access-control-allow-methods").is_some_and(|methods| methods.contains("POST")));
    let allowed = header(&permission, "access-control-allow-headers").unwrap_or_default();
    for name in GUARDED {
        assert!(SCRIPT.contains(&format!("\"{name}\"")), "the script sends `{name}`");
        assert!(allowed.split(", ").any(|other| other == name), "`{name}` is not allowed: {allowed}");
    }

    // The call of the script.
    let answer = exchange(server, &call_head(server, origin), &call_body()).await?;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(header(&answer, "access-control-allow-origin"), Some(origin), "the page may read it");
    let message: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap_or_default())?;
    assert_eq!(message["result"]["content"][0]["text"], "5", "{message}");
    println!("2 + 3 = 5, for a page of {origin}");

    // A page of another origin gets neither a permission nor an answer.
    let stranger = "https://evil.example.com";
    for (head, body) in [(preflight(stranger), String::new()), (call_head(server, stranger), call_body())] {
        let refused = exchange(server, &head, &body).await?;
        assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
        assert_eq!(header(&refused, "access-control-allow-origin"), None, "{refused}");
    }
    Ok(())
}

fn call_head(server: &str, origin: &str) -> String {
    let accept = "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n";
    let mirrored = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: add\r\n";
    format!("POST /mcp HTTP/1.1\r\nhost: {server}\r\norigin: {origin}\r\n{accept}{mirrored}")
}

fn call_body() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "page", "version": "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "add", "arguments": { "a": 2, "b": 3 }, "_meta": meta });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Serves the two files of the page. Any web server does.
async fn serve_pages(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut request = vec![0; 8192];
        let length = stream.read(&mut request).await?;
        let request = String::from_utf8_lossy(&request[..length]).into_owned();
        let (kind, text) = match request.split([' ', '?']).nth(1) {
            Some("/") => ("text/html", PAGE),
            Some("/client.mjs") => ("text/javascript", SCRIPT),
            _ => ("text/plain", "there is no such file"),
        };
        let status = if kind == "text/plain" { "404 Not Found" } else { "200 OK" };
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: {kind}; charset=utf-8\r\ncontent-length: {}\r\n", text.len());
        stream.write_all(format!("{head}connection: close\r\n\r\n{text}").as_bytes()).await?;
    }
}

/// Sends a request, and returns the whole answer.
async fn exchange(address: &str, head: &str, body: &str) -> couplet::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!("{head}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// A header of an answer.
fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = answer.split("\r\n\r\n").next().unwrap_or_default().lines().skip(1);
    lines.find_map(|line| {
        line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    })
}
