//! What the doctor finds, one mistake at a time.

use std::fs;

use couplet_hosts::{
    Env, Hosts, Os, Scope,
    cli::{self, DoctorArgs},
    doctor::{self, Severity},
};

use super::{Home, file_of, files, parsed};

/// A home with programs in it, and the environment of its user.
fn home() -> (Home, Env) {
    let home = Home::new();
    for name in ["npx", "uvx", "docker", "server", "tool.exe", "npx.cmd"] {
        home.program(&format!("bin/{name}"));
    }
    home.write("bin/plain".as_ref(), "not a program");
    home.write("bin/server.js".as_ref(), "");
    let env = home.env(Os::Linux).with("PATH", home.root.join("bin").to_str().unwrap()).with("SET", "1");
    (home, env)
}

/// Puts a text into the host's file, with `~` as the home folder, and compares what is found: severity and code.
#[track_caller]
fn check(host: &str, os: Os, text: &str, expected: &[&str]) {
    let (home, linux) = home();
    let separator = if os == Os::Windows { ";" } else { ":" };
    let path = format!("{}{separator}/nowhere", home.root.join("bin").display());
    let env = match os {
        Os::Linux => linux,
        _ => home.env(os).with("PATH", &path).with("SET", "1"),
    };
    let hosts = Hosts::builtin();
    let host = hosts.get(host).unwrap();
    let scope = files(host)[0];
    let file = home.write(host.place(&env, scope).unwrap().path(), &text.replace('~', home.root.to_str().unwrap()));
    super::make_executable(&file);
    make_private(&file);
    let found = doctor::check(&env, [host], None);
    let codes: Vec<_> = found.iter().map(|f| format!("{} {}", f.severity, f.code)).collect();
    let sentences: Vec<_> = found.iter().map(|f| home.short(&format!("{} -> {:?}", f.message, f.fix))).collect();
    assert_eq!(codes, expected, "{} {text}\n{sentences:#?}", host.id());
    for finding in &found {
        assert!(finding.fix.is_some(), "{finding:?}");
        let is_plain =
            |text: &str| !text.ends_with('.') && !text.starts_with(char::is_uppercase) && !text.contains('\n');
        assert!(is_plain(&finding.message) || finding.message.starts_with(host.name()), "{}", finding.message);
    }
}

#[cfg(unix)]
fn make_private(path: &std::path::Path) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

#[cfg(not(unix))]
fn make_private(_: &std::path::Path) {}

fn cursor(entry: &str) -> String {
    format!("{{\"mcpServers\": {{\"a\": {entry}}}}}")
}

#[test]
fn programs_are_looked_at() {
    for (entry, expected) in [
        (r#"{"command": "~/bin/server", "args": ["x"]}"#, [].as_slice()),
        (r#"{"command": "server"}"#, &[]),
        (r#"{"command": ""}"#, &["error no-command"]),
        (r#"{"command": "nothing"}"#, &["error command-not-found"]),
        (r#"{"command": "~/bin/nothing"}"#, &["error command-not-found"]),
        (r#"{"command": "~/bin"}"#, &["error command-not-program"]),
        (r#"{"command": "~/bin/plain"}"#, &["error command-not-program"]),
        (r#"{"command": "bin/server"}"#, &["warning relative-path"]),
        (r#"{"command": "bin/server", "cwd": "/x"}"#, &[]),
        (r#"{"command": "C:\\bin\\server.exe"}"#, &["error command-not-found"]),
        (r#"{"command": "server --all"}"#, &["error command-is-line"]),
        (r#"{"command": "uvx", "args": ["server.py"]}"#, &["warning relative-path"]),
        (r#"{"command": "uvx", "args": ["~/bin/server.js"]}"#, &[]),
        (r#"{"command": "uvx", "args": ["~/bin/other.js"]}"#, &["error file-not-found"]),
        (
            r#"{"command": "uvx", "args": ["\"a\"", "--x y", "--x=y z"]}"#,
            &["warning quotes", "warning argument-is-two"],
        ),
        (r#"{"command": "npx", "args": ["x"]}"#, &["warning npx-asks"]),
        (r#"{"command": "npx", "args": ["-y", "x"]}"#, &[]),
        (r#"{"command": "docker", "args": ["run", "--rm", "x"]}"#, &["error container-input"]),
        (r#"{"command": "docker", "args": ["run", "-i", "--rm", "x"]}"#, &[]),
        (r#"{"command": "docker", "args": ["run", "-it", "x"]}"#, &["error container-tty"]),
        (r#"{"command": "docker", "args": ["run", "-d", "x"]}"#, &["error container-detached"]),
        (r#"{"command": "docker", "args": ["mcp", "gateway", "x"]}"#, &[]),
        (r#"{"command": "${env:SET}/x"}"#, &[]),
        (r#"{"command": "server", "disabled": true}"#, &["note disabled"]),
        (r#"{"command": "server", "args": ["--x", 5]}"#, &["error argument-not-text"]),
        (r#"{"command": "server", "args": [true, null]}"#, &["error not-a-server"]),
        (r#"{"command": "server", "env": {"PORT": 8080}}"#, &["warning value-not-text"]),
    ] {
        check("cursor", Os::Linux, &cursor(entry), expected);
    }
    // A literal `~` cannot be written in these texts: it stands for the home folder.
    let (home, env) = home();
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    home.write(host.place(&env, Scope::User).unwrap().path(), &cursor(r#"{"command": "~/x", "args": ["~/y"]}"#));
    let codes: Vec<_> = doctor::check(&env, [host], None).iter().map(|f| f.code).collect();
    assert_eq!(codes, ["tilde", "tilde"]);
}

#[test]
fn each_system_has_its_own_mistakes() {
    for (host, os, entry, expected) in [
        ("cursor", Os::Windows, r#"{"command": "npx", "args": ["-y", "x"]}"#, ["warning needs-cmd"].as_slice()),
        (
            "cursor",
            Os::Windows,
            r#"{"command": "cmd", "args": ["/c", "npx", "x"]}"#,
            &["error command-not-found", "warning npx-asks"],
        ),
        ("cursor", Os::Windows, r#"{"command": "tool"}"#, &[]),
        ("cursor", Os::Windows, r#"{"command": "/usr/bin/nothing"}"#, &["error command-not-found"]),
        ("claude-desktop", Os::MacOs, r#"{"command": "uvx"}"#, &["warning command-not-seen"]),
        ("claude-desktop", Os::Linux, r#"{"command": "server"}"#, &["warning command-not-seen"]),
        ("cursor", Os::MacOs, r#"{"command": "uvx"}"#, &[]),
        ("claude-desktop", Os::Windows, r#"{"command": "tool"}"#, &[]),
    ] {
        check(host, os, &cursor(entry), expected);
    }
}

#[test]
fn addresses_are_looked_at() {
    for (entry, expected) in [
        (r#"{"url": "https://example.com/mcp"}"#, [].as_slice()),
        (r#"{"url": "http://localhost:3000/mcp"}"#, &[]),
        (r#"{"url": "http://[::1]:3000/mcp"}"#, &[]),
        (r#"{"url": "http://example.com/mcp"}"#, &["warning not-https"]),
        (r#"{"url": "example.com/mcp"}"#, &["error url-scheme"]),
        (r#"{"url": "ws://example.com/mcp"}"#, &["error url-scheme"]),
        (r#"{"url": " https://example.com"}"#, &["error url-space"]),
        (r#"{"url": "https:///mcp"}"#, &["error url-host"]),
        (r#"{"url": "http://0.0.0.0:3000"}"#, &["warning url-any"]),
        (r#"{"url": "https://u:p@example.com"}"#, &["warning url-password"]),
        (r#"{"url": "https://example.com", "headers": {"Authorization": "abc"}}"#, &["warning no-scheme"]),
        (
            r#"{"url": "https://example.com", "headers": {"A B": "c", "D": "e\nf"}}"#,
            &["error header-name", "error header-value"],
        ),
        (r#"{"url": "https://example.com", "command": "server"}"#, &["error command-and-url"]),
    ] {
        check("cursor", Os::Linux, &cursor(entry), expected);
    }
    check(
        "vscode",
        Os::Linux,
        r#"{"servers": {"a": {"type": "http", "url": "https://x.y/sse"}}}"#,
        &["note looks-like-sse"],
    );
}

#[test]
fn members_are_what_this_host_calls_them() {
    for (host, text, expected) in [
        ("windsurf", r#"{"mcpServers": {"a": {"url": "https://x.y"}}}"#, ["error wrong-key"].as_slice()),
        ("windsurf", r#"{"mcpServers": {"a": {"serverUrl": "https://x.y"}}}"#, &[]),
        ("gemini-cli", r#"{"mcpServers": {"a": {"httpUrl": "https://x.y"}, "b": {"url": "https://x.y"}}}"#, &[]),
        ("gemini-cli", r#"{"mcpServers": {"a": {"serverUrl": "https://x.y"}}}"#, &["error wrong-key"]),
        ("mcporter", r#"{"mcpServers": {"a": {"baseUrl": "https://x.y", "type": "http"}}}"#, &[]),
        ("opencode", r#"{"mcp": {"a": {"type": "local", "command": "server", "args": []}}}"#, &["error wrong-key"]),
        ("opencode", r#"{"mcp": {"a": {"type": "local", "command": ["server"], "args": []}}}"#, &["error wrong-key"]),
        (
            "opencode",
            r#"{"mcp": {"a": {"type": "local", "command": ["server"], "env": {"A": "b"}}}}"#,
            &["error wrong-key"],
        ),
        ("cursor", r#"{"mcpServers": {"a": {"command": ["server", "x"]}}}"#, &["error wrong-key"]),
        ("codex", "[mcp_servers.a]\nurl = \"https://x.y\"\nheaders = { A = \"b\" }\n", &["error wrong-key"]),
        ("codex", "[mcp_servers.a]\nurl = \"https://x.y\"\nhttp_headers = { A = \"b\" }\n", &[]),
        ("goose", "extensions:\n  a:\n    type: stdio\n    command: server\n", &["error wrong-key"]),
        ("goose", "extensions:\n  a:\n    type: builtin\n", &[]),
        ("zed", r#"{"context_servers": {"a": {"settings": {}}}}"#, &[]),
        ("claude-desktop", r#"{"mcpServers": {"a": {"url": "https://x.y"}}}"#, &["error no-remote"]),
        ("claude-code", r#"{"mcpServers": {"a": {"url": "https://x.y"}}}"#, &["warning no-type"]),
        (
            "vscode",
            r#"{"servers": {"a": {"url": "https://x.y", "type": "streamable-http"}}}"#,
            &["warning unknown-type"],
        ),
        ("kimi-code", r#"{"mcpServers": {"a": {"url": "https://x.y", "type": "http"}}}"#, &["warning no-type"]),
        ("cursor", r#"{"mcpServers": {"a": {"name": "x"}}}"#, &["error not-a-server"]),
        ("cursor", r#"{"mcpServers": {"a": "server"}}"#, &["error not-a-server"]),
        ("cursor", r#"{"mcpServers": {"a": {"command": "server", "args": "x"}}}"#, &["error not-a-server"]),
    ] {
        check(host, Os::Linux, text, expected);
    }
}

#[test]
fn values_are_looked_at() {
    for (entry, expected) in [
        (r#"{"command": "server", "env": {"A": "YOUR_API_KEY"}}"#, ["error placeholder"].as_slice()),
        (r#"{"command": "server", "env": {"A": "<token>"}}"#, &["error placeholder"]),
        (r#"{"command": "server", "args": ["/path/to/folder"]}"#, &["error placeholder"]),
        (r#"{"command": "server", "env": {"A": ""}}"#, &["warning empty-value"]),
        (r#"{"command": "server", "env": {"A-B": "c"}}"#, &["warning variable-name"]),
        (r#"{"command": "server", "env": {"A": "${env:SET}"}}"#, &[]),
        (r#"{"command": "server", "env": {"A": "${env:UNSET}"}}"#, &["warning variable-not-set"]),
        (r#"{"command": "server", "args": ["$HOME/x"]}"#, &["warning not-filled-in"]),
    ] {
        check("cursor", Os::Linux, &cursor(entry), expected);
    }
    check(
        "claude-desktop",
        Os::Linux,
        &cursor(r#"{"command": "~/bin/server", "env": {"A": "${B}"}}"#),
        &["warning not-filled-in"],
    );
    check("claude-code", Os::Linux, r#"{"mcpServers": {"a": {"command": "server", "env": {"A": "${B:-c}"}}}}"#, &[]);
}

#[test]
fn files_are_looked_at() {
    for (host, text, expected) in [
        ("cursor", "{", ["error file-unreadable"].as_slice()),
        ("cursor", "\u{feff}{}", &["warning bom"]),
        ("cursor", "{ // c\n}", &["warning not-plain-json"]),
        ("cursor", "{\"a\": 1,}", &["warning not-plain-json"]),
        ("vscode", "{\"a\": 1,} // c", &[]),
        ("cursor", "", &[]),
        ("vscode", r#"{"mcpServers": {"a": {"command": "server"}}}"#, &["warning wrong-root-key"]),
        ("cursor", r#"{"servers": {"a": {"command": "server"}}}"#, &["warning wrong-root-key"]),
        (
            "cursor",
            r#"{"mcpServers": {"a": {"command": "server"}, "a": {"command": "uvx"}}}"#,
            &["error duplicate-name"],
        ),
        ("cursor", r#"{"mcpServers": []}"#, &["error servers-not-table"]),
        ("cursor", r#"{"mcpServers": "x"}"#, &["error servers-not-table"]),
        ("cursor", r#"{"mcpServers": {}}"#, &[]),
        ("claude-code", r#"{"mcpServers": 1}"#, &["error servers-not-table"]),
        ("codex", "mcp_servers = []\n", &["error servers-not-table"]),
        ("goose", "extensions: []\n", &["error servers-not-table"]),
    ] {
        check(host, Os::Linux, text, expected);
    }
}

#[cfg(unix)]
#[test]
fn secrets_that_others_can_read_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let secret = cursor(r#"{"command": "server", "env": {"API_TOKEN": "abcdefgh12345678"}}"#);
    let reference = cursor(r#"{"command": "server", "env": {"API_TOKEN": "${env:SET}"}}"#);
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    for (scope, mode, text, expected) in [
        (Scope::User, 0o644, &secret, ["secret-readable"].as_slice()),
        (Scope::User, 0o600, &secret, &[]),
        (Scope::User, 0o644, &reference, &[]),
        (Scope::Project, 0o600, &secret, &["secret-in-project"]),
        (Scope::Project, 0o644, &reference, &[]),
    ] {
        let (home, env) = home();
        let path = home.write(host.place(&env, scope).unwrap().path(), text);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let codes: Vec<_> = doctor::check(&env, [host], None).iter().map(|f| f.code).collect();
        assert_eq!(codes, expected, "{scope} {mode:o}");
    }
}

#[test]
fn what_hosts_write_themselves_is_not_an_error() {
    let hosts = Hosts::builtin();
    for host in hosts.iter() {
        let (home, env) = home();
        for name in ["node", "py", "db", "files", "tools/server"] {
            home.program(&format!("bin/{name}"));
        }
        home.write(host.place(&env, files(host)[0]).unwrap().path(), &file_of(host));
        for finding in doctor::check(&env, [host], None) {
            // These files have real mistakes of people in them.
            let is_real = ["file-not-found", "placeholder"].contains(&finding.code);
            assert!(finding.severity < Severity::Error || is_real, "{}: {finding:?}", host.id());
        }
    }
}

#[test]
fn one_server_is_judged_by_its_own_hosts() {
    let (home, env) = home();
    home.write(".cursor/mcp.json".as_ref(), "\u{feff}{\"mcpServers\": {\"good\": {\"command\": \"server\"}}}");
    home.write(".codex/config.toml".as_ref(), "oops");
    let run = |args: &[&str]| {
        let mut out = Vec::new();
        let outcome = cli::doctor(&parsed::<DoctorArgs>(args), &env, &mut out).map_err(|e| e.to_string());
        (home.short(&String::from_utf8(out).unwrap()), outcome)
    };
    let (said, outcome) = run(&["good"]);
    assert_eq!(outcome, Ok(()), "{said}");
    assert!(said.contains("[bom]") && !said.contains("codex"), "its own file counts, others do not: {said}");
    // Where it may be in a file that cannot be read, or that file was asked about, the file counts.
    for args in [["other"].as_slice(), &["good", "--host", "codex"], &["codex:good"], &[]] {
        let (said, outcome) = run(args);
        assert_eq!(outcome, Err("1 error found".to_owned()), "{args:?}: {said}");
        assert!(said.contains("error: codex: `~/.codex/config.toml:1:"), "{args:?}: {said}");
    }
}

#[test]
fn the_report_is_for_people_and_for_machines() {
    let (home, env) = home();
    let text = r#"{"mcpServers": {"good": {"command": "server"}, "bad": {"command": "nothing"}, "web": {"url": "http://x.y"}}}"#;
    home.write(".cursor/mcp.json".as_ref(), text);
    let run = |args: &[&str], json: bool| {
        let mut out = Vec::new();
        let args = DoctorArgs { json, ..parsed(args) };
        let result = cli::doctor(&args, &env, &mut out).map_err(|e| (e.kind(), e.to_string()));
        (home.short(&String::from_utf8(out).unwrap()), result)
    };
    let (out, result) = run(&[], false);
    assert_eq!(
        out,
        "error: cursor:bad: there is no program `nothing` on the path [command-not-found]\n  \
         in ~/.cursor/mcp.json\n  do: install it, or write the absolute path\n\
         warning: cursor:web: the connection to `x.y` is not encrypted [not-https]\n  \
         in ~/.cursor/mcp.json\n  do: write `https://x.y`, if the server supports it\n\
         3 servers, 1 error, 1 warning\n"
    );
    assert_eq!(result.unwrap_err().1, "1 error found");
    assert_eq!(run(&["good"], false), ("1 server, no problems found\n".to_owned(), Ok(())));
    assert!(run(&["cursor:web"], false).0.ends_with("1 server, 0 errors, 1 warning\n"));
    assert!(run(&["--host", "zed"], false).0.starts_with("0 servers"));
    assert_eq!(run(&["godo"], false).1.unwrap_err().1, "no host has a server `godo`: did you mean `good`?");
    let json: serde_json::Value = serde_json::from_str(&run(&["bad"], true).0).unwrap();
    assert_eq!(json[0]["code"], "command-not-found");
    assert_eq!(json[0]["severity"], "error");
}
