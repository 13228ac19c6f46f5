//! The load balancer configurations of `docs/deployment`, with the real programs, if they are installed: calls, event
//! streams, silent calls, and a rolling restart.

use std::{
    net::TcpListener,
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet::{ProtocolVersion, http::connect};
use serde_json::json;
use tokio::{
    net::TcpStream,
    process::{Child, Command},
};

use crate::{
    kit,
    operations::{exchange, get, place, terminate},
    skipped::skipped,
    transports::{PROGRAM, listening},
};

/// The places of the replicas in the configurations.
const REPLICAS: [&str; 2] = ["192.0.2.11:3001", "192.0.2.12:3001"];

/// What is shorter in the tests than in the configurations.
const HAPROXY: [(&str, &str); 3] = [
    ("timeout client 60s", "timeout client 2s"),
    ("timeout server 60s", "timeout server 2s"),
    ("inter 2s", "inter 100ms"),
];
const NGINX: [(&str, &str); 2] =
    [("proxy_read_timeout 60s", "proxy_read_timeout 2s"), ("fail_timeout=5s", "fail_timeout=1s")];

/// A load balancer that runs, until it is dropped.
struct Balancer {
    url: String,
    _child: Child,
    _folder: tempfile::TempDir,
}

/// Starts the load balancer of a configuration; nothing if the program is not installed.
async fn balancer(name: &str, replicas: &[String; 2]) -> Option<Balancer> {
    let program = find(name)?;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config");
    let mut command = Command::new(program);
    let text = if name == "haproxy" {
        command.arg("-db").arg("-f").arg(&file);
        configuration("haproxy.cfg", replicas, &HAPROXY, &[("bind :8080", format!("bind 127.0.0.1:{port}"))])
    } else {
        command.arg("-p").arg(folder.path()).arg("-c").arg(&file);
        command.args(["-g", "daemon off; master_process off; pid nginx.pid; error_log stderr warn;"]);
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths = kinds.map(|kind| format!("{kind}_temp_path {kind};")).concat();
        let local = [
            ("listen 8080", format!("listen 127.0.0.1:{port}")),
            ("http {", format!("http {{ access_log off; {paths}")),
        ];
        configuration("nginx.conf", replicas, &NGINX, &local)
    };
    std::fs::write(&file, text).unwrap();
    let child = command.stdout(Stdio::null()).kill_on_drop(true).spawn().expect("it starts");
    let balancer = Balancer { url: format!("http://127.0.0.1:{port}/mcp"), _child: child, _folder: folder };
    while TcpStream::connect(place(&balancer.url)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Some(balancer)
}

/// The path of a program: those of administrators are not in everyone's search path.
fn find(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    if found.is_none() {
        skipped(&format!("`{name}` is not installed"));
    }
    found
}

/// A configuration with other addresses and times. Each must be there, so that the file and the test agree.
fn configuration(name: &str, replicas: &[String; 2], times: &[(&str, &str)], local: &[(&str, String)]) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deployment").join(name);
    let mut text = std::fs::read_to_string(file).unwrap();
    let replicas = REPLICAS.iter().zip(replicas).map(|(place, url)| (*place, self::place(url).to_owned()));
    let times = times.iter().map(|(long, short)| (*long, (*short).to_owned()));
    for (written, used) in replicas.chain(times).chain(local.iter().cloned()) {
        assert!(text.contains(written), "no `{written}` in {name}");
        text = text.replace(written, &used);
    }
    text
}

/// A replica with a keep-alive interval.
async fn replica(keep_alive: &str) -> (Child, String) {
    let flags = ["--keep-alive", keep_alive, "--trust-proxy", "127.0.0.1", "--lame-duck", "1"];
    let (child, url, log) = listening(&flags, &[]).await;
    drain(log);
    (child, url)
}

/// Reads a log, so that its writer never waits.
fn drain(mut log: impl tokio::io::AsyncRead + Unpin + Send + 'static) {
    tokio::spawn(async move { tokio::io::copy(&mut log, &mut tokio::io::sink()).await });
}

async fn everything_passes(name: &str) {
    let ((_a, first), (_b, second)) = tokio::join!(replica("0.3"), replica("0.3"));
    let Some(balancer) = balancer(name, &[first, second]).await else { return };
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = kit::connect(connect(&*balancer.url), version).await;
        assert_eq!(client.call("echo", json!({ "message": "hi" })).await.unwrap().text(), "Echo: hi");
        // Events are not held back: the first one comes long before the result.
        let (seen, mut progress) = tokio::sync::mpsc::channel(16);
        let work = json!({ "duration": 2, "steps": 4 });
        let mut call = Box::pin(async {
            client
                .call("trigger-long-running-operation", work)
                .on_progress(move |_| {
                    let _ = seen.try_send(());
                })
                .await
        });
        tokio::select! {
            done = &mut call => panic!("{version}: no progress before {done:?}"),
            event = progress.recv() => assert!(event.is_some()),
        }
        assert!(tokio::time::timeout(Duration::from_millis(300), &mut call).await.is_err(), "{version}: held back");
        call.await.unwrap();
        // A call that is silent for longer than the load balancer allows.
        let silent = client.call("trigger-long-running-operation", json!({ "duration": 5, "steps": 1 })).await;
        assert!(silent.unwrap().text().starts_with("Long running operation completed"), "{version}");
        client.close().await.unwrap();
    }
}

/// Without keep-alive comments the load balancer gives up: the times of the test are short enough to show something.
async fn silence_is_cut(name: &str) {
    let ((_a, first), (_b, second)) = tokio::join!(replica("600"), replica("600"));
    let Some(balancer) = balancer(name, &[first, second]).await else { return };
    let client = kit::connect(connect(&*balancer.url), ProtocolVersion::V2026_07_28).await;
    let silent = client.call("trigger-long-running-operation", json!({ "duration": 5, "steps": 1 })).await;
    assert!(silent.is_err(), "{silent:?}");
}

/// Calls until it is stopped, and counts: each call of 2025-11-25 in a session of its own.
async fn caller(url: String, version: ProtocolVersion, stop: Arc<AtomicBool>, calls: Arc<AtomicUsize>) -> Vec<String> {
    let mut failures = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let called = async {
            let client = kit::able(version).connect(connect(&*url)).await?;
            client.call("trigger-long-running-operation", json!({ "duration": 0.05, "steps": 1 })).await?;
            client.call("echo", json!({ "message": "hi" })).await?;
            client.close().await
        };
        match called.await {
            Ok(()) => drop(calls.fetch_add(1, Ordering::SeqCst)),
            Err(error) => failures.push(format!("{version}: {error}")),
        }
    }
    failures
}

async fn a_rolling_restart_loses_no_call(name: &str) {
    let (first, second) = tokio::join!(replica("0.3"), replica("0.3"));
    let urls = [first.1, second.1];
    let Some(balancer) = balancer(name, &urls).await else { return };
    let (stop, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let versions = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];
    let callers = versions.repeat(2);
    let callers: Vec<_> = callers
        .into_iter()
        .map(|version| tokio::spawn(caller(balancer.url.clone(), version, stop.clone(), calls.clone())))
        .collect();
    let mut children = [first.0, second.0];
    for (child, url) in children.iter_mut().zip(&urls) {
        let before = calls.load(Ordering::SeqCst);
        while calls.load(Ordering::SeqCst) < before + 8 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        terminate(child);
        assert_eq!(child.wait().await.unwrap().code(), Some(0));
        let mut program = Command::new(PROGRAM);
        program.args(["--http", place(url), "--trust-proxy", "127.0.0.1", "--lame-duck", "1"]);
        *child = program.stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
        while TcpStream::connect(place(url)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(get(url, "/ready").await.0, 200);
        // The load balancer looks again after a second.
        tokio::time::sleep(Duration::from_millis(1500)).await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut failures = Vec::new();
    for caller in callers {
        failures.extend(caller.await.unwrap());
    }
    assert!(failures.is_empty(), "{} of {}: {failures:?}", failures.len(), calls.load(Ordering::SeqCst));
    assert!(calls.load(Ordering::SeqCst) >= 16);
}

/// The header with which replicas authenticate to each other does not come from outside.
async fn the_header_of_replicas_is_removed(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (key, socket) = (folder.path().join("key"), folder.path().join("socket"));
    std::fs::write(&key, "5a".repeat(32)).unwrap();
    // Nothing here needs the store, so it need not be there.
    let store = format!("redis+unix://{}", socket.display());
    let flags = ["--state-key-file", key.to_str().unwrap(), "--store", &store, "--node-url", "http://127.0.0.1:1/mcp"];
    let (_child, url, log) = listening(&flags, &[]).await;
    drain(log);
    let Some(balancer) = balancer(name, &[url.clone(), url.clone()]).await else { return };
    for (url, is_refused) in [(&url, true), (&balancer.url, false)] {
        let head = "GET /mcp HTTP/1.1\r\nhost: localhost\r\ncouplet-replica: v1.forged\r\nconnection: close\r\n\r\n";
        let (status, text) = exchange(TcpStream::connect(place(url)).await.unwrap(), head).await;
        assert_eq!(status == 403, is_refused, "{name} {status}: {text}");
        assert!((400..500).contains(&status), "{name} {status}: it is no MCP request");
    }
}

#[tokio::test]
async fn the_header_of_replicas_is_removed_by_haproxy() {
    the_header_of_replicas_is_removed("haproxy").await;
}

#[tokio::test]
async fn the_header_of_replicas_is_removed_by_nginx() {
    the_header_of_replicas_is_removed("nginx").await;
}

/// The manifest of Kubernetes has the flags that its replicas need, and the program knows each of them.
#[tokio::test]
async fn the_flags_of_the_manifest_are_known() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deployment/kubernetes.yaml");
    let text = std::fs::read_to_string(file).unwrap();
    let flags: Vec<_> = text.lines().filter_map(|line| line.trim().strip_prefix("- --")?.split_once('=')).collect();
    let help = Command::new(PROGRAM).arg("--help").output().await.unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for (name, _) in &flags {
        assert!(help.contains(&format!("--{name} ")), "--{name} is not in the help");
    }
    for needed in ["store", "node-url", "state-key-file", "lame-duck"] {
        assert!(flags.iter().any(|(name, _)| *name == needed), "the replicas need --{needed}");
    }
    assert!(text.contains("fieldPath: status.podIP"), "`POD_IP` is the address of the pod");
}

#[tokio::test]
async fn everything_passes_haproxy() {
    everything_passes("haproxy").await;
}

#[tokio::test]
async fn everything_passes_nginx() {
    everything_passes("nginx").await;
}

#[tokio::test]
async fn silence_is_cut_by_haproxy() {
    silence_is_cut("haproxy").await;
}

#[tokio::test]
async fn silence_is_cut_by_nginx() {
    silence_is_cut("nginx").await;
}

#[tokio::test]
async fn a_rolling_restart_behind_haproxy_loses_no_call() {
    a_rolling_restart_loses_no_call("haproxy").await;
}

#[tokio::test]
async fn a_rolling_restart_behind_nginx_loses_no_call() {
    a_rolling_restart_loses_no_call("nginx").await;
}
