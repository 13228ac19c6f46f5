//! `couplet gateway`, `couplet lock` and `--locked`. Names with `sNN` are attacks that must not succeed.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStderr, Command, Stdio},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use crate::{
    bridge::Served,
    kit::{Folder, TIMEOUT, couplet, golden, plain, run, shop, show},
};

/// A gateway over HTTP that ends with this.
pub(crate) struct Gateway {
    pub(crate) url: String,
    /// The header with the token.
    pub(crate) token: String,
    child: Child,
    pub(crate) errors: Arc<Mutex<String>>,
}

impl Gateway {
    pub(crate) fn start(config: &str, more: &[&str], vars: &[(&str, &str)]) -> Self {
        let mut command = couplet();
        command.args(["gateway", config, "--http", "127.0.0.1:0"]).args(more).envs(vars.iter().copied());
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let errors = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let (mut url, mut token) = (String::new(), String::new());
        while url.is_empty() {
            let line = next(&mut lines, &errors);
            token = line.strip_prefix("token: ").map_or(token, |t| format!("Authorization: Bearer {t}"));
            url = line.strip_prefix("serving at ").unwrap_or_default().to_owned();
        }
        let more = errors.clone();
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut text = more.lock().unwrap();
                text.push_str(&line);
                text.push('\n');
            }
        });
        Self { url, token, child, errors }
    }

    /// Runs a command with the URL in front of its arguments and the token behind them.
    pub(crate) fn run(&self, command: &str, args: &[&str]) -> String {
        self.run_at(&self.url.clone(), command, args)
    }

    fn run_at(&self, url: &str, command: &str, args: &[&str]) -> String {
        let all = [&[command, url], args, &["-H", &self.token]].concat();
        let output = couplet().args(&all).output().unwrap();
        plain(&show(&all, &output)).split_once('\n').unwrap().1.to_owned()
    }

    /// The id of the process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits until a command says something.
    #[track_caller]
    pub(crate) fn until(&self, command: &str, args: &[&str], says: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + TIMEOUT;
        loop {
            let text = self.run(command, args);
            if says(&text) {
                return text;
            }
            assert!(Instant::now() < end, "{text}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Sends a request as it is, and returns the whole answer.
    pub(crate) fn post(&self, headers: &str, body: &str) -> String {
        let place = self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        let mut stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let length = body.len();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {place}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             {}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n",
            self.token
        );
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn next(lines: &mut BufReader<ChildStderr>, errors: &Mutex<String>) -> String {
    let mut line = String::new();
    assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {}", errors.lock().unwrap());
    errors.lock().unwrap().push_str(&line);
    line.trim().to_owned()
}

/// A configuration with the shop, in a folder of its own.
pub(crate) fn config(folder: &Folder, more: &str) -> String {
    write(folder, "gateway.json", &format!(r#"{{ "mcpServers": {{ "shop": {{ "command": "{}" }} }}{more} }}"#, shop()))
}

pub(crate) fn write(folder: &Folder, name: &str, text: &str) -> String {
    fs::write(folder.path().join(name), text).unwrap();
    folder.file(name)
}

/// Runs the command in a folder, and masks it.
pub(crate) fn run_in(folder: &Folder, args: &[&str]) -> String {
    let output = couplet().args(args).current_dir(folder.path()).output().unwrap();
    show(args, &output).replace(&folder.path().display().to_string(), "FOLDER")
}

#[test]
fn a_configuration_is_checked_served_and_explained() {
    let folder = Folder::new("gateway");
    let path = config(
        &folder,
        r#", "policy": [{ "deny": { "tool": "shop/fail" } }, { "allow": {} }], "profiles": { "small": { "tools": { "shop": { "allow": ["add"] } } } }"#,
    );
    fs::write(folder.path().join("wrong.json"), "{\n  \"mcpServers\": {\n    \"a\": { \"comand\": \"x\" }\n  }\n}")
        .unwrap();
    let bridge = format!("{} gateway {path} --profile small", env!("CARGO_BIN_EXE_couplet"));
    let commands: &[&[&str]] = &[
        &["gateway", "--help"],
        &["gateway", "check", "gateway.json"],
        &["gateway", "check", "--connect", "gateway.json"],
        &["gateway", "check", "wrong.json"],
        &["gateway", "check", "none.json"],
        &["list", &bridge, "tools"],
        &["gateway", "pins", "check", "gateway.json"],
        &["gateway", "explain", "gateway.json", "shop/fail"],
        &["gateway", "explain", "gateway.json", "shop/add", "--profile", "small"],
        &["gateway", "explain", "gateway.json", "shop/ad"],
        &["gateway", "gateway.json", "--profile", "smal"],
        &["gateway", "gateway.json", "--http", "0.0.0.0:0", "--behind-proxy", "--profile", "none"],
    ];
    let text: Vec<_> = commands.iter().map(|args| run_in(&folder, args)).collect();
    golden("gateway", &text.join("\n"));
}

#[test]
fn a_gateway_over_http_needs_its_token() {
    let folder = Folder::new("gateway-http");
    let gateway = Gateway::start(
        &config(&folder, r#", "profiles": { "small": { "tools": { "shop": { "allow": ["add"] } } } }"#),
        &[],
        &[],
    );
    let refused = gateway.post("", "{}").replace(&gateway.token, "");
    assert!(!refused.starts_with("HTTP/1.1 401"), "{refused}");
    let open = Gateway {
        token: "X-None: 1".to_owned(),
        errors: gateway.errors.clone(),
        url: gateway.url.clone(),
        child: idle(),
    };
    assert!(open.post("", "{}").starts_with("HTTP/1.1 401"));
    assert!(gateway.run("call", &["shop__add", "a=1", "b=2"]).starts_with("3\n"));
    let small = gateway.run_at(&format!("{}/small", gateway.url), "list", &["tools"]);
    assert!(small.contains("shop__add") && !small.contains("shop__order"), "{small}");
    let none = gateway.run_at(&format!("{}/none", gateway.url), "list", &["tools"]);
    assert!(none.contains("404") || none.contains("not"), "{none}");
    let status = run(&["gateway", "status", &folder.file("gateway.json")]);
    assert!(status.contains("shop") && status.contains("ready") && status.contains("[exit 0]"), "{status}");
    let json = run(&["gateway", "status", "--json", &folder.file("gateway.json")]);
    let line: serde_json::Value = serde_json::from_str(json.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&line["servers"][0]["key"], &line["servers"][0]["calls"]), (&"shop".into(), &1.into()));
    assert!(!json.contains(gateway.token.rsplit(' ').next().unwrap()));
}

/// A process that does nothing, to be ended.
fn idle() -> Child {
    Command::new("sleep").arg("60").spawn().unwrap()
}

#[test]
fn the_file_is_followed() {
    let folder = Folder::new("gateway-follow");
    let path = config(&folder, "");
    let gateway = Gateway::start(&path, &[], &[]);
    assert!(gateway.run("list", &["tools"]).contains("shop__add"));
    config(&folder, r#", "names": "bare""#);
    gateway.until("list", &["tools"], |text| text.contains("  add("));
    write(&folder, "gateway.json", "{ \"mcpServers\": ");
    let end = Instant::now() + TIMEOUT;
    while !run(&["gateway", "status", &path]).contains("not reloaded: ") {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(100));
    }
    assert!(gateway.run("list", &["tools"]).contains("  add("), "the configuration before is in use");
}

/// A token that is removed from the file stops being valid, without a restart and also for profiles.
#[test]
fn tokens_follow_the_file() {
    let folder = Folder::new("gateway-tokens");
    let with = |tokens: &str| {
        config(&folder, &format!(r#", "profiles": {{ "small": {{}} }}, "listen": {{ "tokens": {{ {tokens} }} }}"#))
    };
    let path = with(r#""ann": "ann-0123456789abcdef""#);
    let mut gateway = Gateway::start(&path, &[], &[]);
    let header = |name: &str| format!("Authorization: Bearer {name}-0123456789abcdef");
    gateway.token = header("ann");
    assert!(gateway.run("list", &["tools"]).contains("shop__add"));
    with(r#""bob": "bob-0123456789abcdef""#);
    gateway.token = header("bob");
    gateway.until("list", &["tools"], |text| text.contains("shop__add"));
    gateway.token = header("ann");
    for url in [gateway.url.clone(), format!("{}/small", gateway.url)] {
        let removed = gateway.run_at(&url, "list", &["tools"]);
        assert!(removed.contains("[exit 7]"), "{removed}");
    }
    // One that cannot be resolved is an error of the file, which is then not used.
    with(r#""ann": "${file:none}""#);
    let end = Instant::now() + TIMEOUT;
    while !run(&["gateway", "status", &path]).contains("not reloaded: ") {
        assert!(Instant::now() < end);
        thread::sleep(Duration::from_millis(100));
    }
    gateway.token = header("bob");
    assert!(gateway.run("list", &["tools"]).contains("shop__add"));
    // A running gateway cannot show a token that it generates, so that every caller is refused without one.
    with("");
    gateway.until("list", &["tools"], |text| text.contains("[exit 7]"));
}

#[test]
fn a_lock_is_compared_and_approved() {
    let folder = Folder::new("lock");
    let (shop, other) = (shop(), format!("{} 2025-06-18", shop()));
    let commands: &[&[&str]] = &[
        &["call", &shop, "add", "a=1", "b=2", "--locked"],
        &["lock", &shop],
        &["lock", &shop, "--check"],
        &["call", &shop, "add", "a=1", "b=2", "--locked"],
        &["call", &shop, "ad", "--locked"],
        &["call", &other, "add", "a=1", "b=2", "--locked"],
    ];
    let text: Vec<_> = commands.iter().map(|args| run_in(&folder, args)).collect();
    golden("lock", &text.join("\n"));
    let bridge =
        format!("{} run {shop} --locked --lock-file {}", env!("CARGO_BIN_EXE_couplet"), folder.file("couplet.lock"));
    assert!(run(&["call", &bridge, "add", "a=1", "b=2"]).contains("\n3\n"));
    let lock = fs::read_to_string(folder.path().join("couplet.lock")).unwrap();
    write(&folder, "couplet.lock", &lock.replace("Adds two numbers.", "Adds numbers."));
    let changed = run(&["call", &bridge, "add", "a=1", "b=2"]);
    assert!(!changed.contains("\n3\n"), "a lock that was edited by hand does not approve: {changed}");
}

#[test]
fn s04_another_command_is_not_started() {
    let folder = Folder::new("gateway-swap");
    let path = config(&folder, "");
    let bridge = format!("{} gateway {path}", env!("CARGO_BIN_EXE_couplet"));
    assert!(run(&["call", &bridge, "shop__add", "a=1", "b=2"]).contains("\n3\n"));
    let mark = folder.file("started");
    write(
        &folder,
        "gateway.json",
        &format!(r#"{{ "mcpServers": {{ "shop": {{ "command": "touch", "args": ["{mark}"] }} }} }}"#),
    );
    let listed = run(&["list", &bridge, "tools"]);
    assert!(!listed.contains("shop__add") && !folder.path().join("started").exists(), "{listed}");
    let diff = run_in(&folder, &["gateway", "pins", "diff", "gateway.json"]);
    golden("gateway-swap", &diff);
    assert!(!folder.path().join("started").exists(), "neither is it by looking at the difference");
}

/// A server behind a wire that records what is sent to it.
pub(crate) struct Recorded {
    pub(crate) url: String,
    sent: Arc<Mutex<Vec<u8>>>,
    _server: Option<Served>,
}

impl Recorded {
    fn start() -> Self {
        let server = Served::start(&["run", &shop(), "--http", "127.0.0.1:0"]);
        let recorded = Self::before(&server.url);
        Self { _server: Some(server), ..recorded }
    }

    /// Records what is sent to the server at a URL.
    pub(crate) fn before(server: &str) -> Self {
        let to = server.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let record = sent.clone();
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&to) else { return };
                let (mut back, mut there) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut there, &mut back));
                let record = record.clone();
                thread::spawn(move || forward(near, far, &record));
            }
        });
        Self { url, sent, _server: None }
    }

    pub(crate) fn sent(&self) -> String {
        String::from_utf8_lossy(&self.sent.lock().unwrap()).into_owned()
    }
}

fn forward(mut near: TcpStream, mut far: TcpStream, record: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = near.read(&mut buffer) {
        record.lock().unwrap().extend_from_slice(&buffer[..length]);
        if far.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
    let _ = far.shutdown(std::net::Shutdown::Write);
}

pub(crate) const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;

pub(crate) fn modern(name: &str) -> String {
    format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n")
}

#[test]
fn s08_headers_of_callers_never_reach_a_server() {
    let folder = Folder::new("gateway-headers");
    let server = Recorded::start();
    let text = format!(
        r#"{{ "mcpServers": {{ "far": {{ "url": "{}", "headers": {{ "X-Own": "own-value" }} }} }} }}"#,
        server.url
    );
    let gateway = Gateway::start(&write(&folder, "gateway.json", &text), &[], &[]);
    let canaries = "Cookie: s8-canary=1\r\nProxy-Authorization: Basic s8-canary\r\nX-Api-Key: s8-canary\r\nX-Forwarded-For: s8-canary\r\n\
                    Forwarded: for=s8-canary\r\nTraceparent: s8-canary\r\n";
    let answer = gateway.post(&format!("{}{canaries}", modern("far__add")), &CALL.replace("NAME", "far__add"));
    assert!(answer.contains("200 OK") && answer.contains("\"3\""), "{answer}");
    let sent = server.sent();
    assert!(sent.contains("own-value"), "what is configured is sent");
    assert!(!sent.contains("s8-canary") && !sent.contains(gateway.token.rsplit(' ').next().unwrap()), "{sent}");
}

/// The same in a session, and with two servers: neither gets what the caller sent, or what is configured for the other.
#[test]
fn s08_headers_of_a_session_reach_none_of_two_servers() {
    let folder = Folder::new("gateway-session-headers");
    let (near, far) = (Recorded::start(), Recorded::start());
    let entry =
        |server: &Recorded, own: &str| format!(r#"{{ "url": "{}", "headers": {{ "X-Own": "{own}" }} }}"#, server.url);
    let (one, two) = (entry(&near, "near-value"), entry(&far, "far-value"));
    let text = format!(r#"{{ "mcpServers": {{ "near": {one}, "far": {two} }} }}"#);
    let gateway = Gateway::start(&write(&folder, "gateway.json", &text), &[], &[]);
    let canaries = "Cookie: s8-canary=1\r\nProxy-Authorization: Basic s8-canary\r\nX-Api-Key: s8-canary\r\nX-Own: s8-canary\r\n\
                    X-Forwarded-For: s8-canary\r\nForwarded: for=s8-canary\r\nLast-Event-ID: s8-canary\r\n";
    let start = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let answer = gateway.post(canaries, start);
    let session = answer.lines().find_map(|line| {
        let (name, id) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| id.trim().to_owned())
    });
    let session = session.expect(&answer);
    let headers = format!("{canaries}MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: {session}\r\n");
    gateway.post(&headers, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let list = gateway.post(&headers, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(list.contains("near__add") && list.contains("far__add"), "{list}");
    for name in ["near__add", "far__add"] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{name}","arguments":{{"a":1,"b":2}}}}}}"#
        );
        let answer = gateway.post(&headers, &call);
        assert!(answer.contains("\"3\""), "{answer}");
    }
    let token = gateway.token.rsplit(' ').next().unwrap();
    for (server, own, other) in [(&near, "near-value", "far-value"), (&far, "far-value", "near-value")] {
        let sent = server.sent();
        assert!(sent.contains(own) && sent.contains("tools/call"), "what is configured is sent: {sent}");
        for secret in ["s8-canary", other, token, &session] {
            assert!(!sent.contains(secret), "{secret}: {sent}");
        }
    }
}

/// A gateway that is killed leaves no server behind, and a server has the three descriptors of its own.
#[cfg(target_os = "linux")]
#[test]
fn s20_servers_end_with_a_gateway_that_is_killed() {
    let folder = Folder::new("gateway-killed");
    let place = folder.path().display();
    let listed = format!("ls /proc/$$/fd > {place}/fds;");
    let written = format!("echo $$ > {place}/pid.new; mv {place}/pid.new {place}/pid;");
    let script = format!("{listed} {written} exec {}", shop());
    let text = serde_json::json!({ "mcpServers": { "shop": { "command": "sh", "args": ["-c", script] } } });
    // The gateway is started with an open descriptor, as a host may do by mistake.
    let plain = couplet();
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$0" "$@" 9</dev/null"#]).arg(plain.get_program());
    command.args(["gateway", &write(&folder, "gateway.json", &text.to_string()), "--http", "127.0.0.1:0"]);
    for (name, value) in plain.get_envs() {
        let _ = match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut gateway = Gateway::spawn(command);
    assert!(gateway.run("call", &["shop__add", "a=1", "b=2"]).starts_with("3\n"));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let fds = read("fds");
    // A shell has one of its own, from 10 on.
    let inherited: Vec<_> = fds.lines().filter(|fd| fd.len() == 1).collect();
    assert_eq!(inherited, ["0", "1", "2"]);
    let process = format!("/proc/{}", read("pid").trim());
    assert!(fs::exists(&process).unwrap(), "it runs");
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while fs::read_to_string(format!("{process}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < end, "it is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn s13_names_cannot_make_headers_or_log_lines() {
    let folder = Folder::new("gateway-injection");
    let server = Recorded::start();
    let text = format!(
        r#"{{ "mcpServers": {{ "far": {{ "url": "{}" }} }}, "audit": {{ "file": "audit.jsonl" }} }}"#,
        server.url
    );
    let gateway = Gateway::start(&write(&folder, "gateway.json", &text), &[], &[("RUST_LOG", "trace")]);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"far__x\r\nX-Evil: 1\u0000\u001b[2J","arguments":{"c":"\r\nX-Evil: 2"}}}"#;
    for headers in ["", "MCP-Protocol-Version: 2025-06-18\r\n", &modern("far__add")] {
        let answer = gateway.post(headers, call);
        let status: u16 = answer[9..12].parse().unwrap();
        assert!(status < 500, "{answer}");
        assert!(!answer.contains("\r\nX-Evil"), "{answer}");
    }
    let _ = gateway.run("call", &["far__forecast", "city=\r\nX-Evil: 3"]);
    assert!(server.sent().contains(r"\r\nX-Evil: 3"), "as an argument it is sent, escaped");
    // These names reach the service.
    for name in ["far__x\r\nX-Evil: 4\u{1b}[2J", "x\nX-Evil: 5"] {
        assert!(gateway.run("call", &[name]).contains("X-Evil"), "the error quotes the name");
        let _ = gateway.run("prompt", &[name]);
        let _ = gateway.run("read", &[name]);
    }
    assert!(!server.sent().contains("\r\nX-Evil") && !server.sent().contains("\nX-Evil"), "{}", server.sent());
    let errors = gateway.errors.lock().unwrap().clone();
    // Even at the most verbose level, no text of a caller is logged.
    assert!(errors.contains("TRACE") && !errors.contains("X-Evil") && !errors.contains('\u{1b}'), "{errors}");
    let audit = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    assert!(audit.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{audit}");
}

#[test]
fn s14_header_and_body_must_agree() {
    let folder = Folder::new("gateway-split");
    let gateway = Gateway::start(
        &config(&folder, r#", "policy": [{ "deny": { "tool": "shop/fail" } }, { "allow": {} }]"#),
        &[],
        &[],
    );
    let body = CALL.replace("NAME", "shop__add");
    assert!(gateway.post(&modern("shop__add"), &body).contains("\"3\""));
    for (headers, body, what) in [
        (modern("shop__links"), body.clone(), "another name"),
        (modern("shop__add"), CALL.replace("NAME", "shop__fail"), "a denied tool behind an allowed one"),
        (format!("{}Mcp-Method: tools/list\r\n", modern("shop__add")), body.clone(), "two methods"),
        (modern("shop__add").replace("tools/call", "tools/list"), body.clone(), "another method"),
        (modern("shop__add").replace("2026-07-28", "2025-06-18"), body.clone(), "another revision"),
        (modern("shop__add"), body.replace("\"method\"", "\"Method\""), "another member"),
        (
            modern("shop__add"),
            body.replace("\"name\":\"shop__add\"", "\"name\":\"shop__add\",\"name\":\"shop__fail\""),
            "two names",
        ),
    ] {
        let answer = gateway.post(&headers, &body);
        assert!(!answer.contains("\"result\""), "{what}: {answer}");
        assert!(answer.starts_with("HTTP/1.1 4"), "{what}: {answer}");
    }
}

#[test]
fn s17_text_of_a_configuration_is_escaped() {
    let folder = Folder::new("gateway-terminal");
    let text = r#"{ "mcpServers": { "a\u001b[2J\u202e": { "command": "/none", "args": ["\u001b]52;c;x\u0007", "\u200b\ud83d\udc4d"] } } }"#;
    let path = write(&folder, "gateway.json", text);
    for args in [
        &["gateway", "check", &path][..],
        &["gateway", "check", "--connect", &path],
        &["gateway", "pins", "diff", &path],
        &["gateway", "trust", "--yes", &path],
    ] {
        let output = couplet().args(args).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{200b}']), "{args:?}: {shown:?}");
    }
}

#[test]
fn s22_secrets_and_arguments_are_in_no_log() {
    let folder = Folder::new("gateway-secrets");
    write(&folder, "key", "s22-file-canary\n");
    let text = format!(
        r#"{{ "mcpServers": {{ "shop": {{ "command": "{}", "env": {{ "A": "${{env:S22}}", "B": "${{file:key}}" }} }},
             "gone": {{ "command": "/none", "args": ["${{env:S22}}"] }} }}, "audit": {{ "file": "audit.jsonl" }} }}"#,
        shop()
    );
    let path = write(&folder, "gateway.json", &text);
    let mut gateway = Gateway::start(&path, &[], &[("S22", "s22-env-canary"), ("RUST_LOG", "debug")]);
    assert!(gateway.run("call", &["shop__forecast", "city=s22-argument-canary"]).contains("[exit 0]"));
    let _ = gateway.run("call", &["shop__absent", "x=s22-argument-canary"]);
    let status = run(&["gateway", "status", "--json", &path]);
    Command::new("kill").args(["-TERM", &gateway.child.id().to_string()]).status().unwrap();
    gateway.child.wait().unwrap();
    let audit = fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
    let errors = gateway.errors.lock().unwrap().clone();
    let lock = fs::read_to_string(folder.path().join("gateway.lock")).unwrap();
    for (what, text) in [("status", &status), ("audit", &audit), ("log", &errors), ("lock", &lock)] {
        assert!(!text.contains("canary"), "{what}: {text}");
    }
    assert!(audit.contains("forecast"), "{audit}");
    let token = gateway.token.rsplit(' ').next().unwrap();
    assert_eq!(errors.matches(token).count(), 1, "the token is shown once");
    let file = folder.file("audit.jsonl");
    let verified = run(&["gateway", "audit", "verify", &file]);
    assert!(verified.contains("complete and unchanged, signed\n"), "{verified}");
    let json = run(&["gateway", "audit", "verify", &file, "--json"]);
    assert!(json.contains(r#""signatureChecked":true,"signed":true}"#), "{json}");
    write(&folder, "audit.jsonl", &audit.replacen("forecast", "forecasT", 1));
    assert!(run(&["gateway", "audit", "verify", &file]).contains("[exit 1]"), "a changed record is found");
    let cut = audit.lines().take(audit.lines().count() - 1).map(|line| format!("{line}\n")).collect::<String>();
    write(&folder, "audit.jsonl", &cut);
    assert!(run(&["gateway", "audit", "verify", &file]).contains("[exit 1]"), "a missing record is found");
    // Each line has the hash of the one before, so that a head for the rest can be written, but not signed.
    let last: serde_json::Value = serde_json::from_str(audit.lines().last().unwrap()).unwrap();
    let head = serde_json::json!({ "seq": last["seq"].as_u64().unwrap() - 1, "hash": last["prev"] });
    write(&folder, "audit.jsonl.head", &head.to_string());
    let forged = run(&["gateway", "audit", "verify", &file]);
    assert!(forged.contains("the head is not signed with this key") && forged.contains("[exit 1]"), "{forged}");
    let unchecked = run(&["gateway", "audit", "verify", &file, "--without-key"]);
    assert!(unchecked.contains("unchanged, not signed") && unchecked.contains("[exit 0]"), "{unchecked}");
    fs::remove_file(folder.path().join("audit.jsonl.head")).unwrap();
    let beheaded = run(&["gateway", "audit", "verify", &file]);
    assert!(beheaded.contains("there is no head") && beheaded.contains("[exit 1]"), "{beheaded}");
}

#[test]
fn s25_a_project_is_used_once_it_is_approved() {
    let folder = Folder::new("gateway-project");
    let path = config(&folder, "");
    write(&folder, ".mcp.json", &format!(r#"{{ "mcpServers": {{ "theirs": {{ "command": "{}" }} }} }}"#, shop()));
    let project = folder.file(".mcp.json");
    let bridge = format!("{} gateway {path} --project {project}", env!("CARGO_BIN_EXE_couplet"));
    let before = run(&["list", &bridge, "tools"]);
    assert!(before.contains("shop__add") && !before.contains("theirs__add"), "{before}");
    assert!(run(&["gateway", "trust", &project]).contains("[exit 6]"), "without a terminal, nothing is approved");
    assert!(run(&["gateway", "trust", "--yes", &project]).contains("[exit 0]"));
    let after = run(&["list", &bridge, "tools"]);
    assert!(after.contains("shop__add") && after.contains("theirs__add"), "{after}");
}

#[test]
fn s25_an_approval_is_noticed_by_a_gateway_that_runs() {
    let folder = Folder::new("gateway-approval");
    let project = |args: &str| {
        let text = format!(r#"{{ "mcpServers": {{ "theirs": {{ "command": "{}", "args": [{args}] }} }} }}"#, shop());
        write(&folder, ".mcp.json", &text)
    };
    let path = project("");
    let gateway = Gateway::start(&config(&folder, ""), &["--project", &path], &[]);
    assert!(!gateway.run("list", &["tools"]).contains("theirs__add"));
    assert!(run(&["gateway", "trust", "--yes", &path]).contains("[exit 0]"));
    gateway.until("list", &["tools"], |text| text.contains("theirs__add"));
    project("\"2025-06-18\"");
    gateway.until("list", &["tools"], |text| !text.contains("theirs__add"));
}
