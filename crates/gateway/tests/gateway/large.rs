//! Large results.

use std::{fs, sync::Arc};

use couplet_core::{BoxFuture, Call, Description, Hub, JsonText, Limits, Reply, ResultBody, Service, Transport};
use couplet_http::server::HttpTransport;
use couplet_types::{Implementation, ServerCapabilities, ToolsCapability};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    kit::{File, SHORT},
    wire::is_alone,
};

const ROLE: &str = "COUPLET_GATEWAY_TEST_LARGE";
/// The variable that says that no other test runs in this process.
const LARGE: &str = "COUPLET_LARGE";
const MEGABYTE: usize = 1 << 20;

/// A server whose result has as many MiB as the tool's name says.
struct Large(Hub);

impl Service for Large {
    fn describe(&self) -> Arc<Description> {
        let mut can = ServerCapabilities::default();
        can.tools = Some(ToolsCapability::new());
        Arc::new(Description::new(Implementation::new("large", "1"), can))
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        Box::pin(async move {
            let text = match call.tool_name().as_deref().map(str::parse::<usize>) {
                Some(Ok(size)) => {
                    format!(r#"{{"content":[{{"type":"text","text":"{}"}}]}}"#, "x".repeat(size * MEGABYTE))
                }
                _ => r#"{"tools":[{"name":"1","inputSchema":{}},{"name":"64","inputSchema":{}}]}"#.to_owned(),
            };
            Reply::Complete(ResultBody::json(&JsonText::new(text).unwrap()))
        })
    }

    fn hub(&self) -> &Hub {
        &self.0
    }
}

/// Not a test of its own: the program behind the gateway.
#[tokio::test]
async fn server() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let limits = Limits::default().max_message(256 * MEGABYTE);
    let served = couplet_stdio::stdio().serve(Arc::new(Large(Hub::new())), limits).await;
    std::process::exit(i32::from(served.is_err()));
}

/// A figure of this process in KiB, where there is such a file.
fn memory(what: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Calls a tool, and returns the number of bytes of the answer, which are not stored.
async fn call(address: std::net::SocketAddr, tool: &str) -> usize {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut buffer, mut all) = (vec![0; 1 << 16], 0);
    loop {
        match stream.read(&mut buffer).await.unwrap() {
            0 => return all,
            count => all += count,
        }
    }
}

/// A result above the usual limit passes where the limit is raised. The gateway needs memory for one of it, for two while a
/// buffer grows, and has it no longer afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_10_a_large_result_passes() {
    let exe = std::env::current_exe().unwrap();
    let file = File::new(
        &json!({
            "mcpServers": { "large": {
                "command": exe,
                "args": ["--exact", "large::server", "--nocapture", "--quiet"],
                "env": { ROLE: "1" },
                "limits": { "message": "128M" },
            } },
            "names": "bare",
        })
        .to_string(),
    );
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT * 4).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let transport = HttpTransport::from_listener(listener);
    let serving = tokio::spawn(transport.serve(gateway.service(None).unwrap(), gateway.limits()));
    assert!(call(address, "1").await > MEGABYTE);
    let before = memory("VmRSS");
    for _ in 0..2 {
        let received = call(address, "64").await;
        assert!(received > 64 * MEGABYTE, "{received}");
    }
    // Other tests may run in this process, so it is only a measurement unless this is the only one.
    if let (Some(before), Some(peak), Some(after)) = (before, memory("VmHWM"), memory("VmRSS")) {
        let times = |kib: usize| kib.saturating_sub(before) as f64 / (64.0 * 1024.0);
        println!(
            "acceptance 10: a result of 64 MiB: at most {:.2} times its size more, {:.2} times afterwards",
            times(peak),
            times(after)
        );
        if is_alone(LARGE) {
            assert!(times(peak) <= 2.0 && times(after) <= 0.5, "{before} {peak} {after}");
        }
    }
    gateway.close().await;
    serving.abort();
}
