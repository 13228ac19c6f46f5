//! Replicas of a program that share a real Redis. Several crates include this file with `#[path]`.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use std::{
    ffi::OsStr,
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread::sleep,
    time::Duration,
};

use serde_json::{Value, json};

use crate::skipped::skipped;

/// The time between two looks.
const PACE: Duration = Duration::from_millis(20);
/// The number of looks after which a program is broken.
const LOOKS: usize = 3000;

/// A `valkey-server` or `redis-server`, and a file with a key. Both are gone when it is dropped.
pub(crate) struct Store {
    folder: PathBuf,
    child: Child,
}

impl Store {
    /// Starts a server, or reports that the test is skipped.
    pub(crate) fn start() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("couplet-store-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("key"), "5a".repeat(32)).unwrap();
        let mut program = Command::new(program(&std::env::var_os("PATH").unwrap_or_default()));
        program.args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"]);
        program.arg(folder.join("socket")).arg("--dir").arg(&folder);
        let Ok(child) = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
            let _ = fs::remove_dir_all(&folder);
            skipped("neither valkey-server nor redis-server is installed");
            return None;
        };
        let store = Self { folder, child };
        wait_for("the store", || UnixStream::connect(store.folder.join("socket")).is_ok());
        Some(store)
    }

    /// The flags of a replica with this URL.
    fn flags(&self, url: &str) -> [String; 6] {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let store = format!("redis+unix://{}", path("socket"));
        ["--store", &store, "--state-key-file", &path("key"), "--node-url", url].map(str::to_owned)
    }

    /// A folder for the files of a test.
    #[allow(dead_code, reason = "not all crates need it")]
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The program of the store: Valkey where it is installed.
fn program(path: &OsStr) -> &'static str {
    let is_installed = std::env::split_paths(path).any(|folder| folder.join("valkey-server").is_file());
    if is_installed { "valkey-server" } else { "redis-server" }
}

#[test]
fn valkey_is_used_where_it_is_installed() {
    let folder = std::env::temp_dir().join(format!("couplet-programs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = std::env::join_paths([Path::new("/nowhere"), &folder]).unwrap();
    assert_eq!(program(&path), "redis-server");
    fs::write(folder.join("valkey-server"), "").unwrap();
    assert_eq!(program(&path), "valkey-server");
    fs::remove_dir_all(folder).unwrap();
}

/// A process that serves at `/mcp`, until it is dropped.
pub(crate) struct Replica {
    address: String,
    child: Child,
}

impl Replica {
    /// Starts a program, to which the flags of the store are added. The argument of `program` is the port.
    pub(crate) fn start(store: &Store, program: impl FnOnce(u16) -> Command) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let mut program = program(port);
        program.args(store.flags(&format!("http://{address}/mcp"))).stdin(Stdio::null());
        let child = program.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let replica = Self { address, child };
        wait_for("the program", || TcpStream::connect(&replica.address).is_ok());
        replica
    }

    /// Sends a message and reads the response, its head included.
    pub(crate) fn post(&self, headers: &[(&str, &str)], message: &Value) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = message.to_string();
        let mut head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                        content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
            .to_owned();
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// Ends it with a graceful shutdown.
    fn terminate(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Opens a session at one replica, continues it at another one, and goes on there after the first has shut down. The
/// result of the call, a tool and its arguments, contains a text.
pub(crate) fn a_session_is_shared(first: Replica, second: &Replica, call: (&str, Value), says: &str) {
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let opened = first.post(&[], &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
    let session = opened.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let session = session.unwrap_or_else(|| panic!("no session: {opened}")).to_owned();
    let headers = [("mcp-session-id", &*session), ("mcp-protocol-version", "2025-11-25")];
    let ready = second.post(&headers, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    assert!(ready.starts_with("HTTP/1.1 202"), "{ready}");
    let (tool, arguments) = call;
    let params = json!({ "name": tool, "arguments": arguments });
    let called =
        |id| second.post(&headers, &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    let forwarded = called(1);
    assert!(forwarded.starts_with("HTTP/1.1 200") && forwarded.contains(says), "{forwarded}");
    first.terminate();
    let taken_over = called(2);
    assert!(taken_over.starts_with("HTTP/1.1 200") && taken_over.contains(says), "{taken_over}");
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if is_there() {
            return;
        }
        sleep(PACE);
    }
    panic!("{what} does not answer");
}
