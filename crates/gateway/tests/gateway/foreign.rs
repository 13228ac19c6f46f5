//! Files of hosts, with each member that a host has in an entry.

use std::{collections::BTreeSet, path::Path};

use couplet_gateway::{Config, config::Auth};
use couplet_hosts::{Env, Format, Hosts, Os};

use crate::kit::File;

fn env() -> Env {
    Env::new(Os::Linux, "/u/ann", "/srv/project")
}

/// The notes about ignored members, without the sentence around them.
fn ignored(config: &Config) -> String {
    let rest = |note: &String| note.trim_end_matches(" of hosts, ignored here").to_owned();
    config.notes.iter().map(rest).collect::<Vec<_>>().join("; ")
}

/// A client that is registered for Cursor cannot be used here, but its server needs a login.
#[test]
fn the_oauth_of_cursor_is_a_login() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cursor-oauth/mcp.json");
    let config = Config::load(&path, &env()).unwrap();
    let is_login = |key: &str| matches!(config.server(key).unwrap().settings.auth, Some(Auth::Oauth(_)));
    assert!(is_login("sheets") && is_login("issues") && !is_login("local"));
    assert_eq!(
        ignored(&config),
        "server `sheets`: `auth.CLIENT_ID`, `auth.CLIENT_SECRET`, `auth.scopes`; server `issues`: `auth.CLIENT_ID`"
    );
    assert!(!format!("{config:?}").contains("cursor-1"), "what is ignored is not stored");
}

/// Without a stored login the server says how to get one, as for `"auth": {"oauth": {}}`.
#[tokio::test]
async fn the_oauth_of_cursor_asks_for_a_login() {
    let file = File::new(
        r#"{ "mcpServers": { "a": { "url": "http://127.0.0.1:9/mcp", "start": "eager", "auth": { "CLIENT_ID": "x" } } } }"#,
    );
    let gateway = file.start().await.unwrap();
    gateway.ready(crate::kit::SHORT).await;
    let status = gateway.status().to_string();
    assert!(status.contains("run `couplet login http://127.0.0.1:9/mcp`"), "{status}");
    gateway.close().await;
}

#[test]
fn a_misspelt_member_of_auth_is_an_error() {
    for (auth, says) in [
        (
            r#"{ "CLIENTID": "x" }"#,
            ":3:11`: server `a`: `auth`: the key `CLIENTID` is not known here: did you mean `CLIENT_ID`?",
        ),
        (
            r#"{ "CLIENT_ID": "x", "scope": [] }"#,
            ":3:29`: server `a`: `auth`: the key `scope` is not known here: did you mean `scopes`?",
        ),
        (r#"{ "oath": {} }"#, "`auth`: the key `oath` is not known here: did you mean `oauth`?"),
        (r#"{ "oauth": {}, "scopes": [] }"#, "expected a table with exactly one member"),
        (r#""oath""#, "`oath` is not known here: did you mean `oauth`?"),
        ("true", "expected a string, not a boolean"),
    ] {
        let text =
            format!("{{ \"mcpServers\": {{ \"a\": {{\n\"url\": \"https://a.example\",\n\"auth\": {auth} }} }} }}");
        let error = Config::parse("gateway.json".as_ref(), &text, &env()).expect_err(auth).to_string();
        assert!(error.contains(says), "{error}\n{says}");
    }
}

/// The hosts with the documented members of their entries beside the command, the URL and the usual ones, as JSON; and those that
/// are ignored.
const MEMBERS: &[(&str, &str, &str)] = &[
    ("claude-desktop", "", ""),
    (
        "claude-code",
        r#""timeout": 600000, "alwaysLoad": true, "headersHelper": "/opt/headers.sh", "oauth": { "clientId": "x", "callbackPort": 1 }"#,
        "timeout alwaysLoad headersHelper oauth",
    ),
    ("cursor", r#""envFile": ".env", "auth": { "CLIENT_ID": "x", "scopes": ["a"] }"#, "auth.CLIENT_ID auth.scopes"),
    (
        "vscode",
        r#""envFile": "${workspaceFolder}/.env", "dev": { "watch": "**" }, "gallery": true, "version": "1", "sandboxEnabled": true,
           "sandbox": {}, "oauth": { "clientId": "x" }"#,
        "dev gallery version sandboxEnabled sandbox oauth",
    ),
    ("vscode-insiders", r#""envFile": ".env", "dev": {}"#, "dev"),
    (
        "copilot-cli",
        r#""tools": ["*"], "timeout": 5000, "oauthClientId": "x", "oauthPublicClient": true, "filterMapping": "none",
           "isDefaultServer": false, "source": "user", "sourcePath": "/x""#,
        "timeout oauthClientId oauthPublicClient filterMapping isDefaultServer sourcePath",
    ),
    ("windsurf", r#""disabledTools": ["a"], "alwaysAllow": ["b"]"#, "alwaysAllow"),
    ("antigravity", r#""disabledTools": ["a"], "authProviderType": "google_credentials""#, "authProviderType"),
    ("zed", r#""enabled": true, "settings": {}, "remote": false, "timeout": 60"#, "settings remote timeout"),
    (
        "gemini-cli",
        r#""timeout": 5000, "trust": true, "includeTools": ["a"], "excludeTools": ["b"], "description": "x",
           "authProviderType": "dynamic_discovery", "targetAudience": "x", "targetServiceAccount": "x", "extension": {},
           "oauth": { "enabled": true, "scopes": ["a"] }"#,
        "trust description authProviderType targetAudience targetServiceAccount extension oauth",
    ),
    (
        "codex",
        r#""startup_timeout_sec": 10, "tool_timeout_sec": 60, "enabled": true, "required": true, "enabled_tools": ["a"],
           "disabled_tools": ["b"], "default_tools_approval_mode": "prompt", "supports_parallel_tool_calls": true, "scopes": ["a"],
           "oauth_resource": "https://a.example", "tools": { "a": { "approval_mode": "approve" } }, "environment_id": "local",
           "env_vars": ["A", { "name": "B", "source": "local" }]"#,
        "required default_tools_approval_mode supports_parallel_tool_calls scopes oauth_resource tools environment_id",
    ),
    (
        "goose",
        r#""timeout": 300, "description": "x", "display_name": "X", "bundled": false, "available_tools": [], "enabled": true"#,
        "description display_name bundled",
    ),
    ("lm-studio", r#""timeout": 5000"#, "timeout"),
    ("cline", r#""autoApprove": ["a"], "timeout": 60, "transportType": "stdio""#, "autoApprove"),
    ("cline-cli", r#""autoApprove": [], "timeout": 60, "remoteConfigured": true"#, "autoApprove remoteConfigured"),
    (
        "roo-code",
        r#""alwaysAllow": ["a"], "timeout": 60, "disabledTools": [], "watchPaths": ["/x"]"#,
        "alwaysAllow watchPaths",
    ),
    ("kilo-code", r#""enabled": true, "timeout": 5000, "oauth": false"#, "timeout oauth"),
    ("opencode", r#""enabled": true, "timeout": 5000, "oauth": { "clientId": "x" }"#, "oauth"),
    (
        "kiro",
        r#""autoApprove": ["a"], "disabledTools": ["b"], "timeout": 5000, "oauthScopes": ["a"]"#,
        "autoApprove timeout oauthScopes",
    ),
    ("amazon-q", r#""timeout": 5000, "disabledTools": ["b"], "oauthScopes": ["a"]"#, "oauthScopes"),
    (
        "grok-build",
        r#""startup_timeout_sec": 10, "tool_timeout_sec": 60, "tool_timeouts": { "a": 5 }"#,
        "tool_timeouts",
    ),
    (
        "kimi-code",
        r#""startupTimeoutMs": 100, "toolTimeoutMs": 100, "enabledTools": ["a"], "disabledTools": ["b"], "auth": "oauth",
           "bearerTokenEnvVar": "A""#,
        "",
    ),
    (
        "pi",
        r#""lifecycle": "lazy", "idleTimeout": 10, "directTools": true, "exposeResources": true, "excludeTools": ["a"],
           "debug": true, "auth": "bearer", "bearerTokenEnv": "A""#,
        "lifecycle idleTimeout directTools exposeResources debug auth",
    ),
    ("mastra-code", "", ""),
    (
        "mcporter",
        r#""description": "x", "auth": "oauth", "tokenCacheDir": "~/x", "clientName": "x", "oauthRedirectUrl": "http://127.0.0.1:1",
           "oauthScope": "a", "oauthClientId": "x", "lifecycle": "keep-alive", "logging": {}, "allowedTools": ["a"]"#,
        "description tokenCacheDir clientName oauthRedirectUrl oauthScope oauthClientId lifecycle logging",
    ),
    ("fx", r#""enabled": true, "bearer_token_env": "A""#, ""),
    ("inspector", r#""protocolEra": "legacy""#, "protocolEra"),
    ("mcp-json", "", ""),
];

#[test]
fn each_member_that_a_host_documents_is_mapped_or_named_as_ignored() {
    let hosts = Hosts::builtin();
    let ids: BTreeSet<_> = hosts.iter().map(couplet_hosts::Host::id).collect();
    assert_eq!(ids, MEMBERS.iter().map(|(id, ..)| *id).collect(), "a row for each host");
    for (id, members, expected) in MEMBERS {
        let host = hosts.get(id).unwrap();
        let path = host.places(&env()).first().unwrap().path().to_owned();
        let comma = if members.is_empty() { "" } else { "," };
        let kind = if *id == "goose" { r#", "type": "stdio""# } else { "" };
        let command = format!(r#"{{ "command": "x", "env": {{ "A": "1" }}{kind}{comma} {members} }}"#);
        let kind = if *id == "goose" { r#", "type": "streamable_http""# } else { "" };
        let url = format!(r#"{{ "url": "https://a.example/mcp"{kind}{comma} {members} }}"#);
        for entry in [command, url] {
            let entries = format!(r#"{{ "a": {entry} }}"#);
            let root = host.key().iter().rfold(entries, |inner, key| format!(r#"{{ "{key}": {inner} }}"#));
            let text = in_format(host.format(), &root);
            let config = Config::parse(&path, &text, &env()).unwrap_or_else(|error| panic!("{id}: {error}\n{text}"));
            assert_eq!(config.servers.len(), 1, "{id}: {text}");
            let named = ignored(&config).replace("server `a`: ", "").replace(['`', ','], "");
            let sorted = |words: &str| words.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
            assert_eq!(sorted(&named), sorted(expected), "{id}: {text}");
        }
    }
}

/// A key that no host has stays an error in the file of each one.
#[test]
fn an_unknown_member_is_an_error_in_the_file_of_each_host() {
    for host in Hosts::builtin().iter() {
        let path = host.places(&env()).first().unwrap().path().to_owned();
        let root = host
            .key()
            .iter()
            .rfold(r#"{ "a": { "type": "stdio", "command": "x", "comand": "y" } }"#.to_owned(), |inner, key| {
                format!(r#"{{ "{key}": {inner} }}"#)
            });
        let error = Config::parse(&path, &in_format(host.format(), &root), &env()).expect_err(host.id()).to_string();
        assert!(
            error.contains("the key `comand` is not known here: did you mean `command`?"),
            "{}: {error}",
            host.id()
        );
    }
}

/// The text of a tree in the format of a host. JSON is YAML.
fn in_format(format: Format, json: &str) -> String {
    match format {
        Format::Toml => toml(&[], &serde_json::from_str(json).unwrap()),
        _ => json.to_owned(),
    }
}

/// The table at a path, as TOML with inline values from the third level on.
fn toml(path: &[&str], table: &serde_json::Map<String, serde_json::Value>) -> String {
    let line = |(key, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::Object(inner) if path.len() < 2 => toml(&[path, &[key.as_str()]].concat(), inner),
        _ => format!("{key} = {}\n", inline(value)),
    };
    let head = if path.is_empty() { String::new() } else { format!("[{}]\n", path.join(".")) };
    head + &table.iter().map(line).collect::<String>()
}

fn inline(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(inner) => {
            let members: Vec<_> = inner.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
        serde_json::Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
