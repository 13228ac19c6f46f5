//! Files that are not what they should be, and folders that do not do what they should.

use std::{fs, path::Path};

use couplet_hosts::{Config, Entry, Env, Error, ErrorKind, Host, Hosts, Os, Overwrite, Scope, Stdio};

use super::Home;

fn entry() -> Entry {
    Stdio::new("/opt/server").into()
}

fn add(env: &Env, host: &Host) -> Result<(), Error> {
    let config = Config::read(host, host.place(env, Scope::User)?)?;
    config.add("new", &entry(), Overwrite::No)?.apply(env).map(drop)
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    let hosts = Hosts::builtin();
    let huge_key = format!("{{\"{}\": [", "a".repeat(1 << 20));
    for (host, text, expected) in [
        ("cursor", "{\n  \"mcpServers\": {\n    \"a\": 1,\n    ,\n", ":4:5`: it is not JSON: "),
        ("cursor", "[]", "the file is a list, not a table"),
        ("cursor", "null", "the file is null, not a table"),
        ("cursor", "{\"mcpServers\": []}", "`mcpServers` is a list, not a table"),
        ("cursor", "{\"mcpServers\": {}, \"mcpServers\": {}}", "`mcpServers` occurs twice, on the lines 1 and 1"),
        ("cursor", "{} {}", "it is not JSON"),
        ("cursor", "just text", "it is not JSON"),
        ("cursor", &huge_key, "it is not JSON"),
        ("zed", "{ // c\n  'a': 1 }", "it is not JSON with comments"),
        ("codex", "a = 1\na = 2\n", ":2:1`: it is not TOML: duplicate key"),
        ("codex", "mcp_servers = 5", "`mcp_servers` is a number, not a table"),
        ("goose", "a: 'b\n", "it is not YAML"),
        ("goose", "\ta: b\n", "it is written in a way that cannot be edited safely"),
        ("goose", "extensions: 3\n", "`extensions` is a number, not a table"),
        ("goose", "a: 1\n---\nb: 2\n", "it has more than one document"),
    ] {
        let home = Home::new();
        let env = home.env(Os::Linux);
        let host = hosts.get(host).unwrap();
        let path = home.write(host.place(&env, Scope::User).unwrap().path(), text);
        let error = add(&env, host).unwrap_err();
        assert!(error.to_string().contains(expected), "{text:.40}: {error}");
        assert_eq!(error.kind(), ErrorKind::Broken);
        assert!(error.hint().unwrap().contains("not modified"));
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_only(&path);
    }
}

#[test]
fn bytes_that_are_no_text_are_left_alone() {
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    for (bytes, expected) in [
        ([0xff, 0xfe, b'{', 0, b'}', 0].as_slice(), "it is UTF-16: save it as UTF-8"),
        (b"{\"a\": \"\xe9\"}", "it is not UTF-8, from byte 7 on"),
    ] {
        let home = Home::new();
        let env = home.env(Os::Linux);
        let path = home.write(host.place(&env, Scope::User).unwrap().path(), "");
        fs::write(&path, bytes).unwrap();
        let error = add(&env, host).unwrap_err();
        assert!(error.to_string().ends_with(expected), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn a_folder_in_its_place_is_told() {
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    let home = Home::new();
    let env = home.env(Os::Linux);
    fs::create_dir_all(home.root.join(".cursor/mcp.json")).unwrap();
    assert!(add(&env, host).unwrap_err().to_string().ends_with("it is a folder, where a file should be"));
    // And a file where a folder should be.
    let home = Home::new();
    home.write(Path::new(".cursor"), "a file");
    let error = add(&home.env(Os::Linux), host).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(fs::read_to_string(home.root.join(".cursor")).unwrap(), "a file");
}

#[test]
fn a_large_file_is_no_trouble() {
    let hosts = Hosts::builtin();
    let host = hosts.get("claude-code").unwrap();
    let home = Home::new();
    let env = home.env(Os::Linux);
    let line = "    {\"display\": \"what \\\"is\\\" this // about\", \"pasted\": {}},\n";
    let text = format!("{{\n  \"history\": [\n{}    {{}}\n  ],\n  \"mcpServers\": {{}}\n}}\n", line.repeat(100_000));
    let path = home.write(host.place(&env, Scope::User).unwrap().path(), &text);
    add(&env, host).unwrap();
    let after = fs::read_to_string(&path).unwrap();
    let at = text.find("\"mcpServers\": {").unwrap() + "\"mcpServers\": {".len();
    assert!(after.starts_with(&text[..at]) && after.ends_with("}\n}\n"));
    let config = Config::read(host, host.place(&env, Scope::User).unwrap()).unwrap();
    assert_eq!(config.remove(&env, "new").unwrap().after(), text);
}

#[test]
fn a_file_that_another_program_changes_is_not_overwritten() {
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    for (before, meanwhile) in [(Some("{}"), "{\"a\": 1}"), (None, "{}")] {
        let home = Home::new();
        let env = home.env(Os::Linux);
        let path = home.root.join(".cursor/mcp.json");
        if let Some(before) = before {
            home.write(&path, before);
        }
        let config = Config::read(host, host.place(&env, Scope::User).unwrap()).unwrap();
        let change = config.add("new", &entry(), Overwrite::No).unwrap();
        home.write(&path, meanwhile);
        let error = change.apply(&env).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), meanwhile);
        assert_only(&path);
    }
}

#[cfg(unix)]
#[test]
fn permissions_stay_and_new_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    let home = Home::new();
    let env = home.env(Os::Linux);
    let path = home.write(Path::new(".cursor/mcp.json"), "{}");
    for wanted in [0o600, 0o664, 0o640] {
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
        add(&env, host).unwrap();
        assert_eq!(mode(&path), wanted);
    }
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = add(&env, host).unwrap_err();
    assert!(error.to_string().ends_with("mcp.json` is read-only"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_only(&path);

    let home = Home::new();
    let env = home.env(Os::Linux);
    add(&env, host).unwrap();
    assert_eq!(mode(&home.root.join(".cursor/mcp.json")), 0o600);
    let place = host.place(&env, Scope::Project).unwrap();
    let shared = place.path().to_owned();
    Config::read(host, place).unwrap().add("new", &entry(), Overwrite::No).unwrap().apply(&env).unwrap();
    assert_eq!(mode(&shared), 0o644);
    // What files were may have keys in it, too.
    Config::read(host, host.place(&env, Scope::User).unwrap())
        .unwrap()
        .remove(&env, "new")
        .unwrap()
        .apply(&env)
        .unwrap();
    let kept = home.root.join(".local/state/couplet/backups");
    assert_eq!(mode(&kept), 0o700);
    let backup = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    assert_eq!(mode(&backup), 0o600);
}

#[cfg(unix)]
#[test]
fn links_stay_links() {
    use std::os::unix::fs::symlink;
    let hosts = Hosts::builtin();
    let host = hosts.get("cursor").unwrap();
    let home = Home::new();
    let env = home.env(Os::Linux);
    let real = home.write(Path::new("dotfiles/mcp.json"), "{}");
    fs::create_dir_all(home.root.join(".cursor")).unwrap();
    let link = home.root.join(".cursor/mcp.json");
    symlink("../dotfiles/mcp.json", &link).unwrap();
    add(&env, host).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("/opt/server"));
    assert_only(&real);
    Config::read(host, host.place(&env, Scope::User).unwrap())
        .unwrap()
        .remove(&env, "new")
        .unwrap()
        .apply(&env)
        .unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}");

    fs::remove_file(&real).unwrap();
    let error = add(&env, host).unwrap_err();
    assert!(error.to_string().ends_with("it is a link to `../dotfiles/mcp.json`, which does not exist"), "{error}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// No other file was left beside this one.
#[track_caller]
fn assert_only(path: &Path) {
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, [path.file_name().unwrap()]);
}
