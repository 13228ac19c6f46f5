//! A server is put in and taken out again, in every host, on every system: nothing else changes by a single byte.

use std::fs;

use couplet_hosts::{Config, Entry, Env, Host, Hosts, Overwrite, Remote, Scope, Stdio, Text};

use super::{Home, SYSTEMS, file_of, files};

fn entry() -> Entry {
    Stdio::new("/opt/new server").arg("-x").arg("c:\\d \"e\"").env("TOKEN", "a=b#c").into()
}

/// Puts the server in, looks, takes it out and looks again.
#[track_caller]
fn check(env: &Env, host: &Host, scope: Scope, before: &str, with_backup: bool) {
    let what = format!("{} ({scope}) {:?}", host.id(), env.os());
    let place = host.place(env, scope).unwrap();
    let path = place.path().to_owned();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, before).unwrap();

    let config = Config::read(host, place).unwrap();
    let others: Vec<_> = config.servers().into_iter().map(|s| (s.name, s.entry, s.enabled)).collect();
    let change = config.add("new", &entry(), Overwrite::No).unwrap();
    let backup = change.apply(env).unwrap().unwrap();
    assert_eq!(fs::read_to_string(&backup).unwrap(), before, "{what}");

    let after = fs::read_to_string(&path).unwrap();
    assert!(is_within(before, &after), "{what}: something was lost\n{}", change.diff());
    let config = Config::read(host, host.place(env, scope).unwrap()).unwrap();
    let mut now: Vec<_> = config.servers().into_iter().map(|s| (s.name, s.entry, s.enabled)).collect();
    let new = now.iter().position(|(name, ..)| name == "new").map(|at| now.remove(at));
    assert_eq!(new.map(|(_, entry, _)| entry), Some(Ok(entry())), "{what}");
    assert_eq!(now, others, "{what}");

    if !with_backup {
        fs::remove_file(&backup).unwrap();
    }
    config.remove(env, "new").unwrap().apply(env).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), before, "{what}");
    fs::remove_file(&path).unwrap();
}

/// Whether one text is the other with something put in.
fn is_within(inner: &str, outer: &str) -> bool {
    let mut rest = outer.chars();
    inner.chars().all(|c| rest.any(|other| other == c))
}

#[test]
fn real_files_are_kept_in_every_host_on_every_system() {
    let hosts = Hosts::builtin();
    let mut checked = 0;
    for os in SYSTEMS {
        for host in hosts.iter() {
            for scope in files(host) {
                let home = Home::new();
                let text = file_of(host);
                let crlf = text.replace('\n', "\r\n");
                let open_end = text.trim_end();
                check(&home.env(os), host, scope, &text, true);
                // How a file is written does not depend on the system that it is on.
                let others = [crlf.as_str(), open_end, &format!("\u{feff}{text}")];
                let others = if os == SYSTEMS[0] { others.as_slice() } else { &[] };
                for text in std::iter::once(&text.as_str()).chain(others) {
                    check(&home.env(os), host, scope, text, false);
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 250, "{checked}");
}

#[test]
fn files_that_know_nothing_of_servers_come_back_too() {
    let hosts = Hosts::builtin();
    let home = Home::new();
    for host in hosts.iter() {
        let texts: &[&str] = match host.format().to_string().as_str() {
            "TOML" => &["", "\n", "a = 1", "# only this\n", "[a]\r\nb = 1\r\n"],
            "YAML" => &["", "\n", "a: 1", "# only this\n", "a: 1\r\nb:\r\n  - c\r\n", "extensions:\n"],
            "JSON" => &["", "{}", "{\n}\n", "{ }", "{\"a\": 1}", "{\r\n    \"a\": 1\r\n}\r\n", "{\n\t\"a\": {}\n}"],
            _ => &[
                "",
                "// only this",
                "{\n  // only this\n}",
                "{\"a\": 1,}",
                "/* a */ {} // b",
                "{\n  \"a\": 1, // b\n\n}",
            ],
        };
        for text in texts {
            check(&home.env(SYSTEMS[0]), host, files(host)[0], text, true);
        }
    }
}

#[test]
fn an_empty_mapping_makes_room_and_comes_back() {
    let hosts = Hosts::builtin();
    let host = hosts.get("goose").unwrap();
    let home = Home::new();
    let env = home.env(SYSTEMS[0]);
    let read = || Config::read(host, host.place(&env, Scope::User).unwrap()).unwrap();
    for text in ["extensions:   {  }\nz: 1\n", "extensions: {} # none\nz: 1\n"] {
        let path = home.write(host.place(&env, Scope::User).unwrap().path(), text);
        read().add("new", &entry(), Overwrite::No).unwrap().apply(&env).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains("\n  new:\n    name: new\n"));
        read().remove(&env, "new").unwrap().apply(&env).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn claude_code_keeps_servers_per_folder() {
    let hosts = Hosts::builtin();
    let host = hosts.get("claude-code").unwrap();
    for os in SYSTEMS {
        let home = Home::new();
        check(&home.env(os), host, Scope::Local, &file_of(host), true);
        let with_table =
            file_of(host).replace("\"/u/ann/other\"", &format!("{:?}", home.env(os).cwd().display().to_string()));
        check(&home.env(os), host, Scope::Local, &with_table, false);
    }
}

#[test]
fn only_the_last_change_is_undone_to_the_byte() {
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    let home = Home::new();
    let env = home.env(SYSTEMS[0]);
    let place = host.place(&env, Scope::User).unwrap();
    let path = home.write(place.path(), "{ }\n");
    let read = || Config::read(host, host.place(&env, Scope::User).unwrap()).unwrap();
    read().add("a", &entry(), Overwrite::No).unwrap().apply(&env).unwrap();
    read()
        .add("b", &Remote::new("https://example.com").header("A", Text::var("B")).into(), Overwrite::No)
        .unwrap()
        .apply(&env)
        .unwrap();
    read().add("b", &entry(), Overwrite::Yes).unwrap().apply(&env).unwrap();
    // What `b` was before it was replaced does not come back.
    read().remove(&env, "b").unwrap().apply(&env).unwrap();
    assert_eq!(read().servers().len(), 1);
    read().remove(&env, "a").unwrap().apply(&env).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ }\n");
    // A file that has changed since is edited, not restored.
    read().add("a", &entry(), Overwrite::No).unwrap().apply(&env).unwrap();
    let text = fs::read_to_string(&path).unwrap().replacen("{\n", "{\n  \"mine\": 1,\n", 1);
    fs::write(&path, &text).unwrap();
    read().remove(&env, "a").unwrap().apply(&env).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"mine\": 1,\n  \"mcpServers\": {}\n}\n");
}

#[test]
fn five_backups_are_kept() {
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    let home = Home::new();
    let env = home.env(SYSTEMS[0]);
    for number in 0..9 {
        let config = Config::read(host, host.place(&env, Scope::User).unwrap()).unwrap();
        config.add(&format!("s{number}"), &entry(), Overwrite::No).unwrap().apply(&env).unwrap();
    }
    let mut names: Vec<_> = fs::read_dir(home.root.join(".local/state/couplet/backups"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let ends: Vec<_> = names.iter().map(|name| name.rsplit('.').next().unwrap()).collect();
    assert_eq!(ends, ["4", "5", "6", "7", "8"]);
}
