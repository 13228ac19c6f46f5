//! What operators need: sockets, service managers, health checks, metrics, and keys that replicas share.

use std::{
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::Path,
    process::Stdio,
};

use couplet::{ProtocolVersion, http::connect};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpStream, UnixStream},
    process::{Child, Command},
};

use crate::{
    kit,
    replicas::{Replica, Store, a_session_is_shared},
    transports::{PROGRAM, listening},
};

/// Sends a request and reads the response: its status and its body.
pub(crate) async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> (u16, String) {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The status and the body of a path, at the place of a URL.
pub(crate) async fn get(url: &str, path: &str) -> (u16, String) {
    let stream = TcpStream::connect(place(url)).await.unwrap();
    exchange(stream, &format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).await
}

/// The host and port of a URL.
pub(crate) fn place(url: &str) -> &str {
    url.trim_start_matches("http://").split('/').next().unwrap()
}

pub(crate) fn terminate(child: &Child) {
    let pid = child.id().expect("it runs").to_string();
    assert!(std::process::Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
}

#[tokio::test]
async fn a_unix_socket_has_a_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.sock");
    let mut program = Command::new(PROGRAM);
    program.arg("--unix").arg(&path).args(["--unix-mode", "660"]).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = program.spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut first).await.unwrap();
    assert_eq!(first.trim_end(), format!("unix:{}", path.display()));
    let stream = loop {
        match UnixStream::connect(&path).await {
            Ok(stream) => break stream,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    let (status, _) = exchange(stream, "GET /ready HTTP/1.1\r\nhost: any\r\nconnection: close\r\n\r\n").await;
    assert_eq!(status, 200);
    terminate(&child);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    assert!(!path.exists());
}

/// Starts the program as a service manager does, with a socket as its fourth file.
fn activated(socket: OwnedFd, notify: &Path) -> Child {
    let mut shell = Command::new("sh");
    shell.args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" --http systemd 3<&0", PROGRAM]);
    shell.env("NOTIFY_SOCKET", notify).env_remove("RUST_LOG");
    shell.stdin(Stdio::from(socket)).stderr(Stdio::piped()).kill_on_drop(true).spawn().expect("it starts")
}

#[tokio::test]
async fn a_service_manager_passes_the_socket_and_is_notified() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify.sock");
    let manager = tokio::net::UnixDatagram::bind(&path).unwrap();
    let told = async || {
        let mut text = [0; 64];
        let length = manager.recv(&mut text).await.unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap()
    };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let mut child = activated(listener.into(), &path);
    assert_eq!(told().await, "READY=1");
    let client = kit::connect(connect(&*url), ProtocolVersion::V2026_07_28).await;
    assert_eq!(client.call("echo", json!({ "message": "hi" })).await.unwrap().text(), "Echo: hi");
    terminate(&child);
    assert_eq!(told().await, "STOPPING=1");
    drop(client);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
    // The same with a Unix domain socket.
    let socket = folder.path().join("mcp.sock");
    let child = activated(std::os::unix::net::UnixListener::bind(&socket).unwrap().into(), &path);
    assert_eq!(told().await, "READY=1");
    let stream = UnixStream::connect(&socket).await.unwrap();
    let (status, _) = exchange(stream, "GET /ready HTTP/1.1\r\nhost: any\r\nconnection: close\r\n\r\n").await;
    assert_eq!(status, 200);
    drop(child);
}

#[tokio::test]
async fn a_replica_is_not_ready_before_it_leaves() {
    let (mut child, url, _log) = listening(&["--lame-duck", "600"], &[]).await;
    let client = kit::connect(connect(&*url), ProtocolVersion::V2025_11_25).await;
    assert_eq!(get(&url, "/ready").await.0, 200);
    terminate(&child);
    while get(&url, "/ready").await.0 == 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!((get(&url, "/ready").await.0, get(&url, "/health").await.0), (503, 200));
    assert_eq!(client.call("echo", json!({ "message": "still" })).await.unwrap().text(), "Echo: still");
    // A second signal does not wait.
    terminate(&child);
    assert_eq!(child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn metrics_have_an_address() {
    let (_child, url, mut log) = listening(&["--metrics", "0"], &[]).await;
    let mut line = String::new();
    while !line.contains("serving metrics") {
        line.clear();
        assert!(log.read_line(&mut line).await.unwrap() > 0, "no address of the metrics");
    }
    let metrics = line.split('"').nth(1).unwrap_or_else(|| panic!("no URL in {line}"));
    assert!(metrics.starts_with("http://127.0.0.1:") && metrics.ends_with("/metrics"), "{line}");
    let client = kit::connect(connect(&*url), ProtocolVersion::V2026_07_28).await;
    client.call("echo", json!({ "message": "hi" })).await.unwrap();
    let (status, text) = get(metrics, "/metrics").await;
    assert_eq!(status, 200);
    assert!(text.contains("couplet_requests_total{method=\"tools/call\",outcome=\"ok\"} 1\n"), "{text}");
    assert_eq!(get(&url, "/metrics").await.0, 404, "not for the public");
}

/// Sends a call of 2026-07-28 to one of several replicas.
async fn post(url: &str, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n\
         mcp-name: {}\r\ncontent-length: {}\r\n\r\n",
        params["name"].as_str().unwrap(),
        body.len()
    );
    let (_, text) = exchange(TcpStream::connect(place(url)).await.unwrap(), &(head + &body)).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[tokio::test]
async fn replicas_share_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "5a".repeat(32)).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let flags = ["--state-key-file", file.to_str().unwrap()];
    let ((_a, first, mut log), (_b, second, _log), (_c, stranger, _other)) =
        tokio::join!(listening(&flags, &[]), listening(&flags, &[]), listening(&[], &[]));
    let mut line = String::new();
    log.read_line(&mut line).await.unwrap();
    assert!(line.contains("WARN") && line.contains("can be read by every user"), "{line}");
    assert!(goes_on(&first, &second).await);
    assert!(!goes_on(&first, &stranger).await);
}

/// A call whose form is asked for at one replica and answered at another: whether that one accepts its state.
async fn goes_on(first: &str, second: &str) -> bool {
    let mut call = json!({ "name": "trigger-elicitation-request", "arguments": {} });
    let asked = post(first, &call).await;
    let result = &asked["result"];
    let requests = result["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
    call["requestState"] = result["requestState"].clone();
    call["inputResponses"] = requests.keys().map(|key| (key.clone(), json!({ "action": "decline" }))).collect();
    let done = post(second, &call).await;
    match done["error"]["message"].as_str() {
        Some(refused) => {
            assert!(refused.contains("requestState"), "{done}");
            false
        }
        None => {
            assert!(done["result"]["content"].is_array(), "{done}");
            true
        }
    }
}

#[tokio::test]
async fn a_key_is_changed_while_replicas_run() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = ("5a".repeat(32), "6b".repeat(32));
    let file = |name: &str, text: String| {
        std::fs::write(folder.path().join(name), text).unwrap();
        ["--state-key-file".to_owned(), folder.path().join(name).to_str().unwrap().to_owned()]
    };
    let files = [
        file("old", old.clone()),
        file("next", format!("{old}\n{new}\n")),
        file("changed", format!("{new}\n{old}\n")),
        file("new", new.clone()),
    ];
    let mut replicas = Vec::new();
    for [flag, path] in &files {
        replicas.push(listening(&[flag, path], &[]).await);
    }
    let [old, next, changed, new] = [0, 1, 2, 3].map(|at: usize| &*replicas[at].1);
    for (first, second, expected) in [
        // Each step works beside the one before it.
        (old, next, true),
        (next, old, true),
        (next, changed, true),
        (changed, next, true),
        (changed, new, true),
        (new, changed, true),
        // Two steps at once do not.
        (old, new, false),
        (changed, old, false),
        (next, new, false),
    ] {
        assert_eq!(goes_on(first, second).await, expected, "{first} {second}");
    }
}

#[test]
fn replicas_share_a_session() {
    let Some(store) = Store::start() else { return };
    let replica = || {
        Replica::start(&store, |port| {
            let mut program = std::process::Command::new(PROGRAM);
            program.args(["--http", &format!("127.0.0.1:{port}")]);
            program
        })
    };
    let (first, second) = (replica(), replica());
    a_session_is_shared(first, &second, ("echo", json!({ "message": "hi" })), "Echo: hi");
}
