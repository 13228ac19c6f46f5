//! Secrets are found where the configuration puts them, and nowhere else.
//!
//! The gateway runs as a process of its own, so that everything it says can be searched, and so that it has secrets in its
//! environment. Behind it are a program and a server over HTTP, of which everything that reaches them is recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use couplet_core::{Limits, Transport};
use couplet_gateway::{Config, Gateway};
use couplet_hosts::{Env, Os};
use couplet_http::server::HttpTransport;
use couplet_server::{Server, tool};
use serde_json::json;
use tokio::{
    fs::OpenOptions,
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::kit::Upstream;

const ROLE: &str = "COUPLET_GATEWAY_TEST_ROLE";
const FOLDER: &str = "COUPLET_GATEWAY_TEST_FOLDER";

/// The secrets in the environment of the gateway. The last one is in no configuration.
const VARIABLES: [(&str, &str); 4] = [
    ("FILES_KEY", "canary-variable-files"),
    ("FAR_KEY", "canary-variable-far"),
    ("ANN_TOKEN", "canary-variable-token"),
    ("CLOUD_SECRET", "canary-variable-cloud"),
];

/// The headers of callers; none of them is for a server.
const HEADERS: [&str; 9] = [
    "Cookie",
    "Proxy-Authorization",
    "X-Api-Key",
    "X-Auth-Token",
    "X-Forwarded-For",
    "X-Forwarded-Access-Token",
    "Referer",
    "User-Agent",
    "Baggage",
];

fn folder(role: &str) -> Option<PathBuf> {
    (std::env::var(ROLE).ok()? == role).then(|| std::env::var_os(FOLDER).unwrap().into())
}

/// Not a test of its own: the program behind the gateway.
#[tokio::test]
async fn server() {
    if folder("server").is_none() {
        return;
    }
    let server = Server::new("files", "1")
        .tool(tool("here", || "done"))
        .tool(tool("fail", || Err::<(), _>(couplet_server::ToolError::new("it failed"))));
    let served = couplet_stdio::stdio().serve(Arc::new(server.build()), Limits::default()).await;
    std::process::exit(i32::from(served.is_err()));
}

/// Not a test of its own: the gateway, with a caller.
#[tokio::test]
async fn gateway() {
    let Some(folder) = folder("gateway") else { return };
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(std::io::stderr).init();
    let far = Upstream::start(&["there"]).await;
    let recorded = record(far.url.clone(), folder.join("far.txt")).await;
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "env > {0}/files-env.txt; tee {0}/files-in.txt | \"$0\" --exact hygiene::server --nocapture --quiet",
        folder.display()
    );
    let config = json!({
        "mcpServers": {
            "files": {
                "command": "/bin/sh",
                "args": ["-c", script, exe],
                "env": { ROLE: "server", FOLDER: folder, "KEY": "${env:FILES_KEY}", "OTHER": "${file:key}" },
            },
            "far": { "url": recorded, "headers": { "X-Far-Key": "${env:FAR_KEY}" } },
            "gone": { "command": "/none/such", "args": ["${env:FILES_KEY}"] },
        },
        "listen": { "tokens": { "ann": "${env:ANN_TOKEN}" } },
        "audit": { "file": "audit.jsonl" },
    });
    fs::write(folder.join("gateway.json"), config.to_string()).unwrap();
    let env =
        VARIABLES.iter().fold(Env::new(Os::current(), &folder, &folder), |env, (name, value)| env.with(name, value));
    let config = Config::load(&folder.join("gateway.json"), &env).unwrap();
    let gateway = Gateway::start(config, env, []).await.unwrap();
    gateway.ready(Duration::from_secs(20)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let access = gateway.access().await.unwrap();
    fs::write(folder.join("debug.txt"), format!("{gateway:?} {:?} {access:?}", gateway.config())).unwrap();
    let tokens = access.tokens.unwrap().borrow().clone();
    let transport =
        HttpTransport::from_listener(listener).endpoint(move |endpoint| endpoint.authorize(tokens)).metrics("/metrics");
    let serving = tokio::spawn(transport.serve(gateway.service(None).unwrap(), gateway.limits()));
    let mut answers = String::new();
    for (token, tool) in [
        ("canary-variable-token", "files__here"),
        ("canary-variable-token", "files__fail"),
        ("canary-variable-token", "far__there"),
        ("canary-variable-token", "gone__none"),
        ("canary-header-wrong-token", "files__here"),
    ] {
        answers += &post(address, token, tool).await;
    }
    assert!(answers.contains("done") && answers.contains("\"there\"") && answers.contains("401"), "{answers}");
    fs::write(folder.join("answers.txt"), answers).unwrap();
    let page = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    fs::write(folder.join("metrics.txt"), http(address, page).await).unwrap();
    fs::write(folder.join("status.json"), gateway.status().to_string()).unwrap();
    let (shown, config) = (gateway.clone(), gateway.config());
    assert!(std::thread::spawn(move || panic!("on purpose: {shown:?} {config:?}")).join().is_err());
    gateway.close().await;
    serving.abort();
}

/// Serves a copy of what is behind a URL, and records what is sent there; returns its URL.
async fn record(url: String, file: PathBuf) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = format!("http://{}/mcp", listener.local_addr().unwrap());
    let target = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap().to_owned();
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let (target, file) = (target.clone(), file.clone());
            tokio::spawn(async move {
                let far = TcpStream::connect(target).await.unwrap();
                let ((mut from, mut back), (mut answers, mut to)) = (near.into_split(), far.into_split());
                tokio::spawn(async move { tokio::io::copy(&mut answers, &mut back).await });
                let mut record = OpenOptions::new().create(true).append(true).open(file).await.unwrap();
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = from.read(&mut buffer).await {
                    record.write_all(&buffer[..count]).await.unwrap();
                    record.flush().await.unwrap();
                    to.write_all(&buffer[..count]).await.unwrap();
                }
            });
        }
    });
    own
}

async fn http(address: std::net::SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn post(address: std::net::SocketAddr, token: &str, tool: &str) -> String {
    let server = tool.split("__").next().unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": tool, "arguments": { "text": format!("canary-argument-{server}") }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let secrets: String =
        HEADERS.iter().map(|name| format!("{name}: canary-header-{}\r\n", name.to_ascii_lowercase())).collect();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: {tool}\r\nAuthorization: Bearer {token}\r\n{secrets}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    http(address, &request).await
}

/// All files of a folder, by their names.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            all.append(&mut files(&entry.path()));
        } else if let Ok(content) = fs::read(entry.path()) {
            all.insert(
                entry.file_name().to_string_lossy().into_owned(),
                String::from_utf8_lossy(&content).into_owned(),
            );
        }
    }
    all
}

#[cfg(unix)]
#[tokio::test]
async fn acceptance_17_secrets_are_only_where_they_belong() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), "canary-file-files\n").unwrap();
    let output = |name: &str| Stdio::from(fs::File::create(folder.path().join(name)).unwrap());
    let status = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hygiene::gateway", "--nocapture"])
        .env(ROLE, "gateway")
        .env(FOLDER, folder.path())
        .envs(VARIABLES)
        .stdout(output("out.txt"))
        .stderr(output("err.txt"))
        .status();
    let status = tokio::time::timeout(Duration::from_secs(60), status).await.unwrap().unwrap();
    let all = files(folder.path());
    assert!(status.success(), "{}", all["err.txt"]);
    for name in ["far.txt", "files-in.txt", "files-env.txt", "audit.jsonl", "status.json", "gateway.lock"] {
        assert!(all.get(name).is_some_and(|text| !text.is_empty()), "there is no `{name}`: {:?}", all.keys());
    }
    assert!(all["metrics.txt"].contains("tools/call"), "{}", all["metrics.txt"]);
    assert!(all["err.txt"].contains("TRACE") && all["err.txt"].contains("on purpose"), "{}", all["err.txt"]);

    let mut expected: BTreeMap<String, BTreeSet<&str>> = BTreeMap::from([
        ("canary-variable-files".to_owned(), ["files-env.txt"].into()),
        ("canary-file-files".to_owned(), ["files-env.txt", "key"].into()),
        ("canary-variable-far".to_owned(), ["far.txt"].into()),
        ("canary-variable-token".to_owned(), BTreeSet::new()),
        ("canary-variable-cloud".to_owned(), BTreeSet::new()),
        ("canary-argument-files".to_owned(), ["files-in.txt"].into()),
        ("canary-argument-far".to_owned(), ["far.txt"].into()),
        ("canary-argument-gone".to_owned(), BTreeSet::new()),
        ("canary-header-wrong-token".to_owned(), BTreeSet::new()),
    ]);
    for header in HEADERS {
        expected.insert(format!("canary-header-{}", header.to_ascii_lowercase()), BTreeSet::new());
    }
    for (canary, places) in &expected {
        let found: BTreeSet<_> =
            all.iter().filter(|(_, text)| text.contains(canary)).map(|(name, _)| &**name).collect();
        assert_eq!(found, *places, "{canary}");
    }
    let bytes: usize = all.values().map(String::len).sum();
    println!("acceptance 17: {} canaries, {} files, {bytes} bytes searched", expected.len(), all.len());
}
