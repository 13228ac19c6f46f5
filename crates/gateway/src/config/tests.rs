//! Files of hosts, sections, and errors with their places.

use std::path::{Path, PathBuf};

use couplet_hosts::{Env, Os};

use super::*;

fn env() -> Env {
    Env::new(Os::Linux, "/u/ann", "/srv/project")
}

fn parse(text: &str) -> Result<Config, Error> {
    Config::parse("gateway.json".as_ref(), text, &env())
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The servers of a file with the first line of their launches, and the notes.
fn shown(name: &str) -> String {
    let config = Config::load(&data(name), &env()).expect(name);
    let mut lines = Vec::new();
    for server in &config.servers {
        lines.push(format!("{} {}", server.key, server.launch.lines().join("; ")));
        let tools = &server.settings.tools;
        if *tools != Tools::default() {
            lines.push(format!("  allow {:?} deny {:?}", tools.allow, tools.deny));
        }
    }
    lines.extend(config.disabled.iter().map(|key| format!("{key} disabled")));
    lines.extend(config.notes.iter().map(|note| format!("note: {note}")));
    assert!(config.profiles.is_empty() && config.policy.is_none(), "a host's file has no sections: {name}");
    lines.join("\n")
}

#[test]
fn files_of_hosts_load_unchanged() {
    for (name, expected) in [
        (
            "claude_desktop_config.json",
            "filesystem command: [\"npx\",\"-y\",\"@modelcontextprotocol/server-filesystem\",\"/Users/ann/Desktop\"]; env: DEBUG=1\n\
             time command: [\"uvx\",\"mcp-server-time\"]\n\
             note: `globalShortcut` of hosts, ignored here",
        ),
        (
            "claude-code/.claude.json",
            "github url: https://api.example.com/mcp; header: Authorization: …${GH_TOKEN}\n\
             db command: [\"${HOME}/bin/db\",\"--url\",\"${DB_URL:-sqlite://}\"]\n\
             note: `numStartups`, `projects` of hosts, ignored here",
        ),
        (
            "cursor/mcp.json",
            "linear url: https://linear.example.com/sse; header: X-Key: ${LINEAR_KEY}\n\
             shell command: [\"mcp-shell\",\"--root\",\"/srv\"]; env: all of the file .env",
        ),
        (
            "vscode/mcp.json",
            "playwright command: [\"npx\",\"-y\",\"@playwright/mcp@latest\"]\n\
             docs url: https://docs.example.com/mcp; header: Authorization: …${input:key}\n\
             note: server `playwright`: `dev` of hosts, ignored here\n\
             note: `inputs` of hosts, ignored here",
        ),
        ("zed/settings.json", "own command: [\"own-server\"]\nnote: `theme`, `profiles` of hosts, ignored here"),
        (
            "gemini/settings.json",
            "a url: https://a.example.com/mcp\n  allow [\"x\", \"y\"] deny []\n\
             b command: [\"python\",\"-m\",\"b\"]; cwd: ./b\n  allow [] deny [\"drop\"]\n\
             note: server `a`: `trust` of hosts, ignored here\n\
             note: `security` of hosts, ignored here",
        ),
        (
            "opencode/opencode.json",
            "local command: [\"bun\",\"x\",\"my-mcp\"]; env: A=${B}\nremote disabled\n\
             note: `$schema`, `model` of hosts, ignored here",
        ),
        (
            "cline/cline_mcp_settings.json",
            "weather command: [\"node\",\"w.js\"]\nold disabled\n\
             note: server `weather`: `alwaysAllow`, `autoApprove` of hosts, ignored here",
        ),
        (
            "goose/config.yaml",
            "fetch command: [\"uvx\",\"mcp-server-fetch\"]; env: A=b; env: FETCH_KEY=${FETCH_KEY}\n\
             note: server `fetch`: `description` of hosts, ignored here\n\
             note: `GOOSE_MODEL` of hosts, ignored here",
        ),
        (
            "codex/config.toml",
            "docs command: [\"docs-server\",\"--stdio\"]; env: LEVEL=3; env: DOCS_KEY=${DOCS_KEY}\n  allow [\"search\"] deny []\n\
             figma url: https://mcp.figma.com/mcp; header: Authorization: …${FIGMA_TOKEN}\n\
             note: `model`, `approval_policy`, `profiles` of hosts, ignored here",
        ),
    ] {
        assert_eq!(shown(name), expected, "{name}");
    }
}

/// A timeout counts in the unit of its host, and the gateway's own takes precedence.
#[test]
fn timeouts_of_hosts_are_honoured() {
    let entry = |more: &str| format!(r#"{{ "mcpServers": {{ "a": {{ "command": "x", {more} }} }} }}"#);
    let goose = |more: &str| format!("extensions:\n  a: {{ type: stdio, cmd: x, {more} }}\n");
    let codex = |more: &str| format!("[mcp_servers.a]\ncommand = \"x\"\n{more}\n");
    let opencode = |more: &str| format!(r#"{{ "mcp": {{ "a": {{ "type": "local", "command": ["x"], {more} }} }} }}"#);
    for (path, text, expected) in [
        ("/x/cline_mcp_settings.json", entry("\"timeout\": 90"), "call 90s"),
        ("/u/ann/.gemini/settings.json", entry("\"timeout\": 90000"), "call 90s"),
        ("/x/settings.json", entry("\"timeout\": 1500"), "call 1.5s"),
        ("/x/config.yaml", goose("timeout: 300"), "call 300s"),
        ("/x/config.toml", codex("startup_timeout_sec = 20\ntool_timeout_sec = 120.5"), "connect 20s call 120.5s"),
        ("/x/config.toml", codex("startup_timeout_ms = 2_500"), "connect 2.5s"),
        ("/x/opencode.json", opencode("\"timeout\": 7000"), "list 7s"),
        ("/x/gateway.json", entry("\"tool_timeout_sec\": 5, \"limits\": { \"timeout\": \"9s\" }"), "call 9s"),
        ("/x/gateway.json", entry("\"timeout\": 5"), "ignored"),
        ("/x/cline_mcp_settings.json", entry("\"timeout\": -1"), "ignored"),
        ("/x/cline_mcp_settings.json", entry("\"timeout\": 0"), "ignored"),
        ("/x/cline_mcp_settings.json", entry("\"timeout\": \"1m\""), "ignored"),
    ] {
        let config = Config::parse(path.as_ref(), &text, &env()).expect(path);
        let limits = &config.servers[0].settings.limits;
        let named = [("connect", limits.connect_timeout), ("list", limits.list_timeout), ("call", limits.timeout)];
        let mut shown: Vec<_> =
            named.iter().filter_map(|(name, time)| Some(format!("{name} {:?}", (*time)?.0))).collect();
        shown.extend(config.notes.iter().filter(|note| note.contains("timeout")).map(|_| "ignored".to_owned()));
        assert_eq!(shown.join(" "), expected, "{path} {text}");
    }
}

/// A setting that confines a server must not be ignored where the user has written it for the gateway.
#[test]
fn s20_a_sandbox_is_refused_in_the_gateways_own_file() {
    let entry = |key: &str| {
        format!("{{ \"{key}\": {{ \"a\": {{ \"command\": \"x\",\n  \"sandbox\": {{ \"net\": [] }} }} }} }}")
    };
    let error = parse(&entry("mcpServers")).expect_err("it would not be followed").to_string();
    assert!(error.starts_with("`gateway.json:2:3`: server `a`: `sandbox` is not supported"), "{error}");
    for (path, key) in [("/x/mcp.json", "servers"), ("/u/ann/.cursor/mcp.json", "mcpServers")] {
        let config = Config::parse(path.as_ref(), &entry(key), &env()).expect(path);
        assert_eq!(config.notes, ["server `a`: `sandbox` of hosts, ignored here"], "{path}");
    }
}

const ALL: &str = r#"{
  "$schema": "gateway.schema.json",
  "mcpServers": {
    "gh": { "url": "https://gh.example/mcp", "auth": { "oauth": {} }, "trust": "known", "id": "github" },
    "Files & more": {
      "command": "mcp-files", "args": ["/srv", 3], "env": { "HOME": null, "LEVEL": 2, "API_KEY": "hunter2" },
      "start": "eager", "idleStop": "10m", "limits": { "calls": 8, "timeout": "1h30m", "message": "32M" },
      "effects": { "read_*": "read" }, "labels": { "mail": ["private", "untrusted"] }, "pin": false,
      "tools": { "deny": ["rm"] }
    },
    "off": { "command": "x", "disabled": true }
  },
  "profiles": { "coding": { "servers": ["gh", "off"], "tools": { "gh": { "allow": ["*issue*"], "rename": { "a": "b" } } } } },
  "policy": [{ "deny": { "tool": "github/delete_*" } }, { "allow": { "effect": "read", "trust": "known" } }],
  "listen": { "http": "127.0.0.1:7777", "auth": "token", "token": "${env:TOKEN}" },
  "audit": { "file": "audit.jsonl", "args": "shape", "rotate": "64M" },
  "names": "bare", "pins": true, "consent": "deny"
}"#;

#[test]
fn all_sections_are_read() {
    let config = parse(ALL).expect("it is valid");
    let ids: Vec<_> = config.servers.iter().map(|server| server.id.as_str().to_owned()).collect();
    assert_eq!(ids[0], "github");
    assert!(ids[1].starts_with("files-"), "{ids:?}");
    assert_eq!(config.disabled, ["off"]);
    let files = &config.servers[1];
    assert_eq!(files.removed, ["HOME"]);
    assert_eq!(files.settings.limits.timeout, Some(Time(std::time::Duration::from_secs(5400))));
    assert_eq!(files.settings.limits.message, Some(Size(32 << 20)));
    assert!(!files.is_pinned() && config.servers[0].is_pinned());
    let lines = files.launch.lines().join("\n");
    assert!(lines.contains("LEVEL=2") && lines.contains("API_KEY=…") && !lines.contains("hunter2"), "{lines}");
    assert!(!format!("{:?}", files.launch).contains("hunter2"));
    assert_eq!(config.policy.as_ref().map(Vec::len), Some(2));
    assert_eq!((config.names, config.consent), (Names::Bare, Consent::Deny));
    assert_eq!(config.lock_path(), Path::new("gateway.lock"));
}

#[test]
fn consent_is_by_elicitation_unless_the_file_says_otherwise() {
    let seconds = |config: &Config| config.consent_timeout.0.as_secs();
    let config = parse("{ \"mcpServers\": {} }").expect("it is valid");
    assert_eq!((config.consent, seconds(&config)), (Consent::Elicit, 300));
    for (word, consent, is_local) in [
        ("elicit", Consent::Elicit, false),
        ("local", Consent::Local, true),
        ("elicit-or-local", Consent::ElicitOrLocal, true),
        ("deny", Consent::Deny, false),
    ] {
        let text = format!("{{ \"mcpServers\": {{}}, \"consent\": \"{word}\", \"consentTimeout\": \"30s\" }}");
        let config = parse(&text).expect(word);
        assert_eq!((config.consent, config.consent.is_local(), seconds(&config)), (consent, is_local, 30));
    }
}

#[test]
fn the_same_in_toml_and_yaml() {
    let toml = "[mcpServers.a]\ncommand = \"x\"\nidleStop = \"5s\"\n[listen]\nauth = \"none\"\n[[policy]]\ndeny = { tool = \"a/*\" }\n";
    let yaml =
        "mcpServers:\n  a: { command: x, idleStop: 5s }\nlisten: { auth: none }\npolicy:\n- deny: { tool: a/* }\n";
    for (path, text) in [("g.toml", toml), ("g.yaml", yaml), ("g.yml", yaml)] {
        let config = Config::parse(path.as_ref(), text, &env()).expect(path);
        assert_eq!(config.servers[0].settings.idle_stop, Some(Time(std::time::Duration::from_secs(5))), "{path}");
        assert_eq!(config.listen.auth, ListenAuth::None, "{path}");
        assert_eq!(config.policy.map(|rules| rules.len()), Some(1), "{path}");
    }
}

#[test]
fn errors_have_a_place_and_the_nearest_name() {
    for (from, to, says) in [
        (
            "\"idleStop\"",
            "\"idlestop\"",
            ":7:25`: server `Files & more`: the key `idlestop` is not known here: did you mean `idleStop`?",
        ),
        (
            "\"command\": \"mcp-files\"",
            "\"comand\": \"mcp-files\"",
            ":6:7`: server `Files & more`: the key `comand` is not known here: did you mean `command`?",
        ),
        ("\"policy\"", "\"polici\"", ":14:3`: the key `polici` is not known here: did you mean `policy`?"),
        (
            "\"calls\"",
            "\"cals\"",
            ":7:56`: server `Files & more`: the key `cals` is not known here: did you mean `calls`?",
        ),
        ("\"10m\"", "\"10 minutes\"", "`10 minutes` is not a duration, such as"),
        ("\"eager\"", "\"eagre\"", "`eagre` is not known here: did you mean `eager`?"),
        ("\"deny\": { \"tool\"", "\"deny\": { \"tools\"", ":14:26`: "),
        ("[\"gh\", \"off\"]", "[\"github\"]", "the profile `coding` has a server `github` that is not there"),
        ("[\"*issue*\"]", "[\"\"]", "the profile `coding`: a pattern is empty"),
        ("{ \"deny\": [\"rm\"] }", "{ \"allow\": [\"\"] }", "server `Files & more`: a pattern is empty"),
        ("\"start\": \"eager\"", "\"args\": []", ":7:7`: server `Files & more`: `args` occurs twice"),
        ("\"id\": \"github\"", "\"id\": \"Git Hub\"", "server `gh`: `id`: "),
        ("\"auth\": \"token\"", "\"auth\": \"toekn\"", "`toekn` is not known here: did you mean `token`?"),
        (
            "{ \"command\": \"x\", \"disabled\": true }",
            "{ \"args\": [] }",
            "server `off`: it has neither a command nor a URL",
        ),
        ("\"mcpServers\"", "\"mcpservers\"", "it has no servers: expected a table `mcpServers`"),
        ("\"names\": \"bare\"", "\"names\": \"bare\", \"names\": \"bare\"", "`names` occurs twice"),
        ("\"deny\"\n}", "\"locl\"\n}", ":17:45`: `locl` is not known here: did you mean `local`?"),
        ("\"deny\"\n}", "\"elicit-local\"\n}", "`elicit-local` is not known here: did you mean `elicit-or-local`?"),
        ("\"consent\"", "\"consentTimeOut\": 5, \"consent\"", "did you mean `consentTimeout`?"),
        ("\"consent\"", "\"consentTimeout\": \"0s\", \"consent\"", ":17:52`: `consentTimeout` is not longer than 0s"),
        ("\"consent\"", "\"consentTimeout\": \"soon\", \"consent\"", "`soon` is not a duration, such as"),
    ] {
        assert!(ALL.contains(from), "{from}");
        let error = parse(&ALL.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(says), "{error}\n{says}");
        assert!(error.starts_with("`gateway.json"), "{error}");
    }
    let error = parse("{ \"mcpServers\": {}, }\n}").expect_err("it is not JSON").to_string();
    assert!(error.starts_with("`gateway.json:2:1`: it is not JSON with comments"), "{error}");
}

/// A misspelt name has its line and the nearest one in the other formats, too, at each level.
#[test]
fn errors_have_a_place_in_toml_and_yaml() {
    const TOML: &str = "names = \"bare\"\n[mcpServers.a]\ncommand = \"x\"\nidleStop = \"5s\"\n[mcpServers.a.limits]\ncalls = 8\n\
                        [profiles.p]\nservers = [\"a\"]\n[[policy]]\ndeny = { tool = \"a/*\" }\n";
    const YAML: &str = "names: bare\nmcpServers:\n  a:\n    command: x\n    idleStop: 5s\n    limits:\n      calls: 8\n\
                        profiles:\n  p:\n    servers: [a]\npolicy:\n- deny:\n    tool: a/*\n";
    for (path, text, cases) in [("g.toml", TOML, [1, 3, 4, 6, 8, 10, 4]), ("g.yaml", YAML, [1, 4, 5, 7, 10, 12, 5])] {
        Config::parse(path.as_ref(), text, &env()).expect(path);
        let words = ["names", "command", "idleStop", "calls", "servers", "deny"];
        let wrong = ["naems", "comand", "idlestop", "cals", "serverz", "dny"];
        for (at, (right, wrong)) in words.into_iter().zip(wrong).enumerate() {
            let error =
                Config::parse(path.as_ref(), &text.replacen(right, wrong, 1), &env()).expect_err(wrong).to_string();
            assert!(error.starts_with(&format!("`{path}:{}:", cases[at])), "{wrong}: {error}");
            assert!(error.ends_with(&format!("did you mean `{right}`?")), "{error}");
        }
        let error = Config::parse(path.as_ref(), &text.replace("5s", "5 soon"), &env()).expect_err(path).to_string();
        let line = cases[6];
        assert!(
            error.starts_with(&format!("`{path}:{line}:")) && error.contains("`5 soon` is not a duration"),
            "{error}"
        );
    }
}

/// The launch is compared as it is written: a secret that changes is not a change, a reference that changes is one.
#[test]
fn s04_each_part_of_a_launch_counts() {
    let launch = |entry: &str| {
        let config = parse(&format!("{{\"mcpServers\": {{\"a\": {entry}}}}}")).expect(entry);
        config.servers[0].launch.canonical().to_owned()
    };
    let base = r#"{"command": "x", "args": ["a"], "env": {"A": "1", "T": "${env:T}"}, "cwd": "/srv"}"#;
    let same =
        r#"{"env": {"T": "${env:T}", "A": "1"}, "cwd": "/srv", "args": ["a"], "command": "x", "trust": "known"}"#;
    assert_eq!(launch(base), launch(same), "order and settings are not part of it");
    for (from, to) in [
        ("\"x\"", "\"y\""),
        ("[\"a\"]", "[\"a\", \"b\"]"),
        ("[\"a\"]", "[\"a b\"]"),
        ("\"1\"", "\"2\""),
        ("\"A\"", "\"NODE_OPTIONS\""),
        ("${env:T}", "${env:U}"),
        ("/srv", "/tmp"),
        ("\"A\": \"1\"", "\"A\": \"1\", \"HOME\": null"),
        ("\"x\"", "\"x\", \"envFile\": \".env\""),
    ] {
        assert_ne!(launch(base), launch(&base.replace(from, to)), "{to}");
    }
    let url = r#"{"url": "https://a.example", "headers": {"K": "v"}}"#;
    for (from, to) in [("a.example", "b.example"), ("\"v\"", "\"w\""), ("\"K\"", "\"L\"")] {
        assert_ne!(launch(url), launch(&url.replace(from, to)), "{to}");
    }
}

#[test]
fn the_schema_accepts_what_is_read() {
    let schema = serde_json::to_string(&schema()).expect("it is JSON");
    let schema = couplet_schema::Schema::new(&schema).expect("it is a schema");
    let strict: serde_json::Value = serde_json::from_str(ALL).expect("it is JSON");
    assert!(schema.check(&strict.to_string()).is_ok());
    for name in
        ["claude_desktop_config.json", "cursor/mcp.json", "cursor-oauth/mcp.json", "cline/cline_mcp_settings.json"]
    {
        let text = std::fs::read_to_string(data(name)).expect("it is there");
        assert!(schema.check(&text).is_ok(), "{name}");
    }
    let local = "\"elicit-or-local\", \"consentTimeout\": \"10m\"\n}";
    assert!(schema.check(&ALL.replacen("\"deny\"\n}", local, 1)).is_ok());
    for (from, to) in [
        ("\"policy\"", "\"polici\""),
        ("\"calls\": 8", "\"calls\": \"8\""),
        ("\"10m\"", "\"10 m\""),
        ("\"deny\"\n}", "\"locl\"\n}"),
    ] {
        assert!(schema.check(&ALL.replacen(from, to, 1)).is_err(), "{to}");
    }
}

/// The configuration of the documentation is complete and valid.
#[test]
fn the_documented_configuration_is_valid() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../couplet/src/guide/gateway.md"))
        .expect("it is there");
    let text =
        page.split("```jsonc\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it has a configuration");
    let config = parse(text).expect("it is valid");
    assert!(config.notes.is_empty(), "{:?}", config.notes);
    assert_eq!((config.servers.len(), config.profiles.len(), config.policy.as_ref().map(Vec::len)), (4, 1, Some(5)));
    for key in [schema::SECTIONS, schema::SETTINGS, schema::LAUNCH].concat().iter().filter(|key| **key != "type") {
        assert!(text.contains(&format!("\"{key}\":")), "`{key}` is not shown");
    }
}
