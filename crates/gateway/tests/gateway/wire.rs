//! A caller of a gateway over HTTP/1.1 that needs next to no memory.

use std::{net::SocketAddr, sync::Arc};

use couplet_gateway::Gateway;
use couplet_http::server::{HttpLimits, HttpTransport};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A connection that stays open.
pub(crate) struct Wire(BufReader<TcpStream>);

/// The status, the session and the body of an answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) body: String,
}

impl Wire {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends a message, in a session if there is one.
    pub(crate) async fn post(&mut self, session: Option<&str>, message: &Value) -> Answer {
        let body = message.to_string();
        let session =
            session.map_or(String::new(), |id| format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n"));
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await.unwrap();
        self.answer().await
    }

    async fn answer(&mut self) -> Answer {
        let mut answer = Answer { status: 0, session: None, body: String::new() };
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).await.unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("content-length", value)) => length = value.parse().unwrap(),
                Some(("mcp-session-id", value)) => answer.session = Some(value.into()),
                Some(("transfer-encoding", value)) => panic!("{value}"),
                Some(_) => {}
                None if line.is_empty() => break,
                None => answer.status = line.split(' ').nth(1).unwrap().parse().unwrap(),
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// Opens a session.
    pub(crate) async fn open(&mut self) -> Arc<str> {
        let opened = self.post(None, &initialize()).await;
        assert_eq!(opened.status, 200, "{}", opened.body);
        let session = opened.session.unwrap();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(Some(&session), &ready).await.status, 202);
        session
    }

    /// Calls a tool in a session, and returns the body of the answer.
    pub(crate) async fn call(&mut self, session: &str, tool: &str) -> String {
        let params = json!({ "name": tool, "arguments": {} });
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
        self.post(Some(session), &call).await.body
    }
}

/// A request for a session.
pub(crate) fn initialize() -> Value {
    let info = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// Serves a gateway with these limits; returns the address.
pub(crate) async fn serve(gateway: &Gateway, limits: HttpLimits) -> (SocketAddr, JoinHandle<()>) {
    use couplet_core::Transport;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let transport = HttpTransport::from_listener(listener).limits(limits);
    let (service, limits) = (gateway.service(None).unwrap(), gateway.limits());
    (address, tokio::spawn(async move { transport.serve(service, limits).await.unwrap() }))
}

/// The resident memory of this process in bytes, where it can be measured.
pub(crate) fn memory() -> Option<usize> {
    let pages: usize = std::fs::read_to_string("/proc/self/statm").ok()?.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// Whether the memory of this process is that of one test: `cargo test` runs many in one process.
pub(crate) fn is_alone(variable: &str) -> bool {
    std::env::var_os(variable).is_some() || std::env::var_os("NEXTEST").is_some()
}
