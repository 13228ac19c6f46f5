//! What each host's entry looks like, written and read.

use std::fmt::Write;

use couplet_hosts::{Config, Entry, Host, Hosts, Os, Overwrite, Remote, Scope, Stdio, Text, Transport};

use super::{Home, file_of, files, places::golden};

fn entries() -> [(&'static str, Entry); 5] {
    let key = Text::from("Bearer ").then_var("KEY");
    let url = "https://example.com/mcp";
    [
        ("local", Stdio::new("/opt/server").arg("--all").arg("a b").env("MODE", "fast").into()),
        ("refers", Stdio::new("/opt/server").env("KEY", Text::var("KEY")).into()),
        ("remote", Remote::new(url).header("X-Mode", "fast").into()),
        ("remote-refers", Remote::new(url).header("Authorization", key).header("X-Key", Text::var("KEY")).into()),
        ("old", Remote::new("https://example.com/sse").transport(Transport::Sse).into()),
    ]
}

#[test]
fn every_host_has_its_shapes() {
    let hosts = Hosts::builtin();
    let home = Home::new();
    let env = home.env(Os::Linux);
    let mut text = String::new();
    for host in hosts.iter() {
        let mut first = String::new();
        for scope in host.scopes() {
            let written = home.short(&written(host, Config::read(host, host.place(&env, scope).unwrap()).unwrap()));
            let is_same = written == first;
            writeln!(text, "== {} ({scope})\n{}", host.id(), if is_same { "the same\n" } else { &written }).unwrap();
            first = if first.is_empty() { written } else { first };
        }
    }
    golden("shapes.txt", &text);
}

/// All entries in a file of this host, each of them read again.
fn written(host: &Host, mut config: Config<'_>) -> String {
    let (mut refused, mut text) = (String::new(), String::new());
    for (name, entry) in entries() {
        match config.add(name, &entry, Overwrite::No) {
            Ok(change) => {
                text = change.after().to_owned();
                config = config.with(&change).unwrap();
                assert_eq!(config.server(name).unwrap().entry, Ok(entry), "{} {name}", host.id());
            }
            Err(error) => writeln!(refused, "-- {name}: {error}").unwrap(),
        }
    }
    refused + &text
}

#[test]
fn every_host_is_read() {
    let hosts = Hosts::builtin();
    let home = Home::new();
    let env = home.env(Os::Linux);
    let mut text = String::new();
    for host in hosts.iter() {
        let place = host.place(&env, files(host)[0]).unwrap();
        let path = home.write(place.path(), &file_of(host));
        writeln!(text, "== {}", host.id()).unwrap();
        for server in Config::read(host, place).unwrap().servers() {
            let off = if server.enabled { "" } else { " (off)" };
            match server.entry {
                Err(what) => writeln!(text, "{}{off}: {what}", server.name).unwrap(),
                Ok(entry) => {
                    writeln!(text, "{}{off}: {entry}", server.name).unwrap();
                    let pairs = match &entry {
                        Entry::Stdio(stdio) => &stdio.env,
                        Entry::Remote(remote) => &remote.headers,
                    };
                    pairs.iter().for_each(|(name, value)| writeln!(text, "  {name}: {:?}", value.parts()).unwrap());
                }
            }
        }
        std::fs::remove_file(path).unwrap();
    }
    golden("read.txt", &text);
}

#[test]
fn both_layouts_of_opencode_are_kept() {
    let home = Home::new();
    let hosts = Hosts::builtin();
    let host = hosts.get("opencode").unwrap();
    let entry = Stdio::new("/opt/server").into();
    for (before, after) in [
        (
            r#"{"mcp": {"servers": {}}}"#,
            r#"{"mcp": {"servers": {"new": {"type": "local", "command": ["/opt/server"]}}}}"#,
        ),
        (
            r#"{"mcp": {"servers": {"type": "local", "command": ["a"]}}}"#,
            r#"{"mcp": {"servers": {"type": "local", "command": ["a"]}, "new": {"type": "local", "command": ["/opt/server"], "enabled": true}}}"#,
        ),
        (
            r#"{"mcp": {"timeout": 5}}"#,
            r#"{"mcp": {"timeout": 5, "new": {"type": "local", "command": ["/opt/server"], "enabled": true}}}"#,
        ),
    ] {
        let place = host.place(&home.env(Os::Linux), Scope::User).unwrap();
        home.write(place.path(), before);
        let config = Config::read(host, place).unwrap();
        let change = config.add("new", &entry, Overwrite::No).unwrap();
        assert_eq!(change.after(), after);
        let names: Vec<_> = config.with(&change).unwrap().servers().into_iter().map(|s| s.name).collect();
        assert!(names.contains(&"new".to_owned()) && !names.contains(&"timeout".to_owned()), "{names:?}");
    }
}

#[test]
fn settings_survive_a_replacement() {
    let home = Home::new();
    let hosts = Hosts::builtin();
    let host = hosts.get("cline").unwrap();
    let place = host.place(&home.env(Os::Linux), Scope::User).unwrap();
    home.write(place.path(), &file_of(host));
    let config = Config::read(host, place).unwrap();
    let entry = Remote::new("https://example.com/mcp").into();
    let error = config.add("weather", &entry, Overwrite::No).unwrap_err();
    assert!(error.to_string().starts_with("Cline has another `weather` in `"), "{error}");
    let change = config.add("weather", &entry, Overwrite::Yes).unwrap();
    let expected = r#"    "weather": {
      "type": "streamableHttp",
      "url": "https://example.com/mcp",
      "disabled": false,
      "autoApprove": ["get_forecast"],
      "timeout": 60
    },
"#;
    assert!(change.after().contains(expected), "{}", change.after());
    let config = config.with(&change).unwrap();
    assert_eq!(config.add("weather", &entry, Overwrite::No).unwrap().after(), change.after());
    // A server that was switched off stays so.
    let change = config.add("remote", &Stdio::new("x").into(), Overwrite::Yes).unwrap();
    assert!(change.after().contains("\"args\": [],\n      \"disabled\": true\n"), "{}", change.after());
}

#[test]
fn references_are_filled_in_for_those_who_start_it() {
    let home = Home::new();
    let hosts = Hosts::builtin();
    let host = hosts.get("claude-code").unwrap();
    let env = home.env(Os::Linux);
    let text =
        r#"{"mcpServers": {"a": {"command": "${HOME_BIN}/x", "args": ["${B:-c}"], "env": {"K": "${MISSING}"}}}}"#;
    home.write(host.place(&env, Scope::User).unwrap().path(), text);
    let found = couplet_hosts::discover(&env, &hosts);
    let server = found.find("claude-code:a").unwrap();
    let error = server.resolve(&env.clone().with("HOME_BIN", "/b")).unwrap_err();
    assert!(error.to_string().ends_with("server `a`: the variable `MISSING` is not set"), "{error}");
    let entry = server.resolve(&env.with("HOME_BIN", "/b").with("MISSING", "there")).unwrap();
    assert_eq!(entry, Stdio::new("/b/x").arg("c").env("K", "there").into());
}

#[test]
fn a_name_finds_its_server() {
    let home = Home::new();
    let hosts = Hosts::builtin();
    let env = home.env(Os::Linux);
    for (host, text) in [
        ("cursor", r#"{"mcpServers": {"time": {"command": "a"}, "one": {"command": "x"}}}"#),
        ("windsurf", r#"{"mcpServers": {"time": {"command": "b"}, "one": {"command": "x"}}}"#),
    ] {
        home.write(hosts.get(host).unwrap().place(&env, Scope::User).unwrap().path(), text);
    }
    let found = couplet_hosts::discover(&env, &hosts);
    assert_eq!(found.find("one").unwrap().host, "cursor");
    assert_eq!(found.find("windsurf:time").unwrap().entry, Ok(Stdio::new("b").into()));
    let error = found.find("time").unwrap_err();
    assert_eq!(error.hint(), Some("select one: `cursor:time` or `windsurf:time`"));
    assert_eq!(found.find("tiem").unwrap_err().to_string(), "no host has a server `tiem`: did you mean `time`?");
}
