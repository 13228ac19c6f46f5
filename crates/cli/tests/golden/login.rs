//! Servers that require authentication.
#![cfg(unix)]

use couplet::{
    Server,
    auth::server::Verifier,
    http::server::{HttpTransport, Shutdown},
    tool,
};
use couplet_testing::auth::{AuthServer, log_in, visit};
use serde_json::json;
use tokio::{net::TcpListener, runtime::Runtime};

use crate::{
    gateway::Gateway,
    inspect::Inspect,
    kit::{Folder, couplet, golden, plain, show},
    terminal::Terminal,
};

/// A server behind an authorization server, both on this machine.
struct Guarded {
    runtime: Runtime,
    issuer: AuthServer,
    url: String,
    shutdown: Shutdown,
}

impl Guarded {
    fn start() -> Self {
        let runtime = Runtime::new().unwrap();
        let (issuer, url, shutdown) = runtime.block_on(async {
            let issuer = AuthServer::start().await.unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let verifier = Verifier::new(&*url, issuer.issuer()).unwrap();
            let transport = HttpTransport::from_listener(listener).endpoint(|endpoint| endpoint.authorize(verifier));
            let shutdown = transport.shutdown();
            let server: Server = Server::new("vault", "1.0.0").tool(tool("open", || "opened"));
            tokio::spawn(server.serve(transport));
            (issuer, url, shutdown)
        });
        Self { runtime, issuer, url, shutdown }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.shutdown.trigger();
    }
}

#[test]
fn a_login_is_stored_until_logout() {
    let (vault, folder) = (Guarded::start(), Folder::new("login"));
    let state = folder.file("state");
    let run = |args: &[&str]| show(args, &couplet().args(args).env("XDG_STATE_HOME", &state).output().unwrap());
    let mut text = run(&["call", &vault.url, "open"]);

    // No program that opens a browser is found.
    let mut terminal =
        Terminal::start_with(&["login", &vault.url], &[("XDG_STATE_HOME", &state), ("PATH", "/there/is/nothing")]);
    terminal.wait_for("Cannot open a browser");
    let page = terminal.joined("  http://").replace(' ', "");
    vault.runtime.block_on(log_in(&page)).unwrap();
    let end = terminal.end();
    assert!(end.contains("logged in to vault 1.0.0"), "{end}");
    assert_eq!(vault.issuer.requests("/authorize").len(), 1);

    text.push_str(&run(&["call", &vault.url, "open"]));
    text.push_str(&run(&["logout", &vault.url]));
    text.push_str(&run(&["call", &vault.url, "open", "--json"]));
    text.push_str(&run(&["call", &vault.url, "open", "--header", "Authorization: Bearer wrong"]));
    text.push_str(&run(&["login", "./server"]));
    golden("login", &plain(&text));
}

/// A gateway that runs uses the first login, and says how to make it.
#[test]
fn a_gateway_uses_a_login_that_is_made_while_it_runs() {
    let (vault, folder) = (Guarded::start(), Folder::new("login-gateway"));
    let state = folder.file("state");
    let entry = |auth: &str| format!(r#"{{ "url": "{}"{auth} }}"#, vault.url);
    let (plain, named) = (entry(""), entry(r#", "auth": { "oauth": {} }"#));
    let text =
        format!(r#"{{ "mcpServers": {{ "plain": {plain}, "named": {named} }}, "listen": {{ "auth": "none" }} }}"#);
    std::fs::write(folder.path().join("gateway.json"), text).unwrap();
    let mut gateway = Gateway::start(&folder.file("gateway.json"), &[], &[("XDG_STATE_HOME", &state)]);
    gateway.token = "X-None: 1".to_owned();
    let before = gateway.run("call", &["named__open"]);
    assert!(!before.contains("[exit 0]"), "{before}");
    let status = couplet().args(["gateway", "status", "--json"]).env("XDG_STATE_HOME", &state).output().unwrap();
    let status = String::from_utf8_lossy(&status.stdout);
    assert!(status.contains(&format!("run `couplet login {}`", vault.url)), "{status}");
    assert!(vault.issuer.requests("/register").is_empty(), "nothing is registered for a login that was not asked for");

    let mut terminal =
        Terminal::start_with(&["login", &vault.url], &[("XDG_STATE_HOME", &state), ("PATH", "/there/is/nothing")]);
    terminal.wait_for("Cannot open a browser");
    let page = terminal.joined("  http://").replace(' ', "");
    vault.runtime.block_on(log_in(&page)).unwrap();
    assert!(terminal.end().contains("logged in to vault 1.0.0"));
    for tool in ["named__open", "plain__open"] {
        gateway.until("call", &[tool], |text| text.contains("opened"));
    }
}

#[test]
fn attack_15_a_login_without_a_browser_here() {
    let (vault, folder) = (Guarded::start(), Folder::new("login-paste"));
    let state = folder.file("state");
    let mut terminal = Terminal::start_with(&["login", &vault.url, "--no-browser"], &[("XDG_STATE_HOME", &state)]);
    terminal.wait_for("  URL:");
    let page = terminal.joined("  http://").replace(' ', "");
    let back = vault.runtime.block_on(visit(&page)).unwrap();
    terminal.press(&format!("{back}\r"));
    let end = terminal.end();
    assert!(end.contains("logged in to vault 1.0.0"), "{end}");
}

#[test]
fn attack_15_a_login_with_a_code() {
    use std::io::{BufRead, BufReader};

    let (vault, folder) = (Guarded::start(), Folder::new("login-device"));
    let mut command = couplet();
    command.args(["login", &vault.url, "--device"]).env("XDG_STATE_HOME", folder.file("state"));
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let code = said.find_map(|line| Some(line.strip_prefix("and enter the code ")?.to_owned())).expect("a code");
    assert!(vault.issuer.enter_device_code(&code, true), "{code}");
    assert!(said.any(|line| line.starts_with("logged in to vault 1.0.0")));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_inspector_shows_a_login_step_by_step_without_secrets() {
    let (vault, folder) = (Guarded::start(), Folder::new("login-inspect"));
    let inspect = Inspect::start_with(&[&vault.url], &[("XDG_STATE_HOME", &folder.file("state"))]);
    inspect.until(0, "login");
    let login = inspect.json("GET", "api/targets/t1/login", &json!({}));
    let page = login["authorize_url"].as_str().unwrap();
    let shown = login["steps"].as_array().unwrap().iter().map(|step| step["title"].as_str().unwrap().to_owned());
    let shown: Vec<_> = shown.collect();
    let first = &login["steps"][0];
    assert_eq!((first["title"].as_str(), first["status"].as_u64()), (Some("Challenge"), Some(401)), "{first}");
    let challenge = first["body"]["WWW-Authenticate"].as_str().unwrap();
    assert!(challenge.starts_with("Bearer ") && challenge.contains("resource_metadata="), "{challenge}");
    for title in ["Protected resource metadata", "Authorization server metadata", "Client registration"] {
        assert!(shown.iter().any(|one| one == title), "{shown:?}");
    }
    assert_eq!(shown.last().map(String::as_str), Some("Authorization request"));
    vault.runtime.block_on(log_in(page)).unwrap();
    let state = inspect.until(0, "connected");
    assert_eq!((state["server"]["name"].as_str(), state["transport"].as_str()), (Some("vault"), Some("http")));
    assert_eq!((&state["has_login"], &state["headers"]), (&json!(true), &json!([])));
    let login = inspect.json("GET", "api/targets/t1/login", &json!({}));
    assert_eq!(login["authorize_url"], json!(null));
    let steps = login["steps"].as_array().unwrap();
    let at = steps.iter().position(|step| step["title"] == "Token request").unwrap();
    let (token, redirect) = (&steps[at], &steps[at - 1]);
    assert_eq!((&redirect["title"], &redirect["body"]), (&json!("Redirect"), &json!({ "code": "•••" })), "{redirect}");
    assert_eq!((&token["status"], &token["sent"]["code"]), (&json!(200), &json!("•••")), "{token}");
    assert!(!token["body"]["access_token"].to_string().contains("ey"), "{token}");
    // The archive has the exchanges that took place, without secrets.
    let archive = inspect.json("GET", "api/export?format=har", &json!({}));
    let entries = archive["log"]["entries"].as_array().unwrap();
    let statuses: Vec<_> = entries.iter().map(|entry| entry["response"]["status"].as_u64().unwrap()).collect();
    assert!(statuses.contains(&401) && statuses.contains(&200), "{statuses:?}");
    let refused = &entries[statuses.iter().position(|status| *status == 401).unwrap()];
    assert!(refused["response"]["headers"].to_string().contains("resource_metadata="), "{refused}");
    let tokens = entries.iter().filter_map(|entry| {
        let headers = entry["request"]["headers"].as_array()?;
        headers.iter().find(|header| header["name"] == "authorization").map(|header| &header["value"])
    });
    let tokens: Vec<_> = tokens.collect();
    assert!(!tokens.is_empty() && tokens.iter().all(|token| **token == json!("•••")), "{tokens:?}");
    let answered = |entry: &&serde_json::Value| entry["response"]["content"]["text"].to_string().contains("result");
    assert!(entries.iter().any(|entry| answered(&entry)), "{archive}");
}
