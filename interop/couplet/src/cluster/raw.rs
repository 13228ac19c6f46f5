//! Requests without a client, to see what a replica answers to exactly this.

use couplet::ProtocolVersion;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::Outcome;

/// Opens a session and returns its id.
pub(crate) async fn open(url: &str, version: ProtocolVersion) -> Outcome<String> {
    let answer = initialize(url, version).await?;
    let session = header(&answer, "mcp-session-id").ok_or_else(|| format!("no session was opened: {answer}"))?;
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    send(url, "POST", &headers(&session, version), &initialized.to_string()).await?;
    Ok(session)
}

/// The status of an `initialize` that is refused, and its `Retry-After`.
pub(crate) async fn refused(url: &str, version: ProtocolVersion) -> Outcome<(u16, Option<String>)> {
    let answer = initialize(url, version).await?;
    Ok((status(&answer)?, header(&answer, "retry-after")))
}

async fn initialize(url: &str, version: ProtocolVersion) -> Outcome<String> {
    let client = json!({ "name": "raw", "version": "1.0.0" });
    let params = json!({ "protocolVersion": version.to_string(), "capabilities": {}, "clientInfo": client });
    let opening = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    send(url, "POST", "", &opening.to_string()).await
}

fn header(answer: &str, wanted: &str) -> Option<String> {
    let mut headers = answer.lines().filter_map(|line| line.split_once(':'));
    headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim().to_owned())
}

/// The status of a `ping` in a session.
pub(crate) async fn ping(url: &str, session: &str, version: ProtocolVersion) -> Outcome<u16> {
    Ok(ping_status(url, session, version).await?.0)
}

/// The status of a `ping` in a session, and its `Retry-After`.
pub(crate) async fn ping_status(url: &str, session: &str, version: ProtocolVersion) -> Outcome<(u16, Option<String>)> {
    let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
    let answer = send(url, "POST", &headers(session, version), &ping.to_string()).await?;
    Ok((status(&answer)?, header(&answer, "retry-after")))
}

/// Everything that comes back of a payment with an idempotency key.
pub(crate) async fn call_once(url: &str, session: &str, version: ProtocolVersion, id: &str) -> Outcome<String> {
    let meta = json!({ "io.couplet/idempotencyKey": id });
    let params = json!({ "name": "pay", "arguments": { "id": id, "millis": 0 }, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": "once", "method": "tools/call", "params": params });
    send(url, "POST", &headers(session, version), &call.to_string()).await
}

/// Everything that comes back of a call in a session.
pub(crate) async fn call(
    url: &str,
    session: &str,
    version: ProtocolVersion,
    tool: &str,
    arguments: &Value,
) -> Outcome<String> {
    let params = json!({ "name": tool, "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params });
    send(url, "POST", &headers(session, version), &call.to_string()).await
}

/// The status of a DELETE.
pub(crate) async fn delete(url: &str, session: &str, version: ProtocolVersion) -> Outcome<u16> {
    status(&send(url, "DELETE", &headers(session, version), "").await?)
}

pub(crate) fn headers(session: &str, version: ProtocolVersion) -> String {
    format!("mcp-session-id: {session}\r\nmcp-protocol-version: {version}\r\n")
}

/// Sends one request and returns everything that comes back until the connection is closed.
async fn send(url: &str, method: &str, headers: &str, body: &str) -> Outcome<String> {
    let mut stream = request(url, method, headers, body).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Sends one request on a connection of its own.
pub(crate) async fn request(url: &str, method: &str, headers: &str, body: &str) -> Outcome<TcpStream> {
    let (host, path) = url.trim_start_matches("http://").split_once('/').ok_or("the URL has no path")?;
    let mut stream = TcpStream::connect(host).await?;
    let accept = if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: {accept}\r\ncontent-length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    Ok(stream)
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> Outcome<u16> {
    let status = answer.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    Ok(status.ok_or_else(|| format!("no answer: {answer:?}"))?)
}
