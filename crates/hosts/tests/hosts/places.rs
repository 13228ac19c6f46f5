//! Where each host keeps its files.

use std::{fmt::Write, fs, path::Path};

use couplet_hosts::{Hosts, Os, Scope};

use super::{Home, SYSTEMS};

/// Compares with a file of this folder, which `UPDATE_GOLDEN=1` rewrites.
pub(super) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1") {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(expected == text, "`{name}` differs; set UPDATE_GOLDEN=1 to accept what there is now:\n{text}");
}

#[test]
fn every_host_has_its_places() {
    let hosts = Hosts::builtin();
    let home = Home::new();
    let mut text = String::new();
    for host in hosts.iter() {
        writeln!(text, "{} ({}, {})", host.id(), host.name(), host.format()).unwrap();
        for scope in host.scopes() {
            for os in SYSTEMS {
                let place = host.place(&home.env(os), scope).unwrap();
                let path = home.short(&place.path().to_string_lossy().replace('\\', "/"));
                writeln!(text, "  {scope:8} {os:8} {path}", scope = scope.to_string(), os = format!("{os:?}")).unwrap();
            }
        }
    }
    golden("places.txt", &text);
}

#[test]
fn variables_move_files() {
    let hosts = Hosts::builtin();
    let home = Home::new();
    for (host, os, variable, expected) in [
        ("codex", Os::Linux, "CODEX_HOME", "x/config.toml"),
        ("zed", Os::MacOs, "XDG_CONFIG_HOME", "x/zed/settings.json"),
        ("vscode", Os::Linux, "XDG_CONFIG_HOME", "x/Code/User/mcp.json"),
        ("vscode", Os::Windows, "APPDATA", "x/Code/User/mcp.json"),
        ("goose", Os::Windows, "AppData", "x/Block/goose/config/config.yaml"),
        ("copilot-cli", Os::Linux, "COPILOT_HOME", "x/mcp-config.json"),
        ("cline-cli", Os::Linux, "CLINE_DIR", "x/data/settings/cline_mcp_settings.json"),
    ] {
        let env = home.env(os).with(variable, home.root.join("x").to_str().unwrap());
        let place = hosts.get(host).unwrap().place(&env, Scope::User).unwrap();
        assert_eq!(place.path(), home.root.join(expected), "{host}");
    }
}

#[test]
fn the_file_that_is_there_is_the_one() {
    let hosts = Hosts::builtin();
    for (host, os, scope, there) in [
        ("opencode", Os::Linux, Scope::User, ".config/opencode/opencode.jsonc"),
        ("lm-studio", Os::MacOs, Scope::User, ".cache/lm-studio/mcp.json"),
        ("copilot-cli", Os::Linux, Scope::Project, "project/.github/mcp.json"),
        ("kilo-code", Os::Linux, Scope::Project, "project/.kilocode/kilo.json"),
        (
            "claude-desktop",
            Os::Windows,
            Scope::User,
            "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude/claude_desktop_config.json",
        ),
    ] {
        let home = Home::new();
        let host = hosts.get(host).unwrap();
        let path = home.root.join(there);
        assert_ne!(host.place(&home.env(os), scope).unwrap().path(), path, "{there}");
        home.write(&path, "{}");
        assert_eq!(host.place(&home.env(os), scope).unwrap().path(), path, "{there}");
    }
}

#[test]
fn hosts_are_seen_by_their_folders() {
    let home = Home::new();
    let hosts = Hosts::builtin();
    let env = home.env(Os::Linux);
    assert!(hosts.detected(&env).is_empty());
    for folder in [".cursor", ".claude", ".config/Code/User"] {
        fs::create_dir_all(home.root.join(folder)).unwrap();
    }
    let ids: Vec<_> = hosts.detected(&env).iter().map(|h| h.id().to_owned()).collect();
    assert_eq!(ids, ["claude-code", "cursor", "vscode"]);
}

#[test]
fn names_are_taken_as_people_say_them() {
    let hosts = Hosts::builtin();
    for (name, id) in
        [("Claude Desktop", "claude-desktop"), ("VS Code", "vscode"), ("lmstudio", "lm-studio"), ("ZED", "zed")]
    {
        assert_eq!(hosts.get(name).unwrap().id(), id);
    }
    let error = hosts.get("emacs").unwrap_err();
    assert_eq!(error.to_string(), "there is no host `emacs`");
    assert!(error.hint().unwrap().starts_with("the hosts are claude-desktop, claude-code, cursor"));
}

#[test]
fn users_add_hosts_of_their_own() {
    let home = Home::new();
    let own = r#"
[[host]]
id = "mine"
name = "Mine"
format = "toml"
key = ["tools", "mcp"]
user = ["~/.mine.toml"]
stdio = { run = "{line}" }

[[host]]
id = "cursor"
name = "My Cursor"
format = "json"
key = ["servers"]
user = { windows = ["~/w.json"], other = ["~/o.json"] }
stdio = { command = "{command}", args = "{args}" }
"#;
    let path = home.write(Path::new(".config/couplet/hosts.toml"), own);
    let env = home.env(Os::Linux);
    let hosts = Hosts::load(&env).unwrap();
    assert_eq!(hosts.get("mine").unwrap().place(&env, Scope::User).unwrap().path(), home.root.join(".mine.toml"));
    assert_eq!(hosts.get("cursor").unwrap().name(), "My Cursor");
    for (wrong, expected) in [
        ("[[host]]\nid = 1", "invalid type"),
        (&own.replace("stdio", "studio"), "unknown field `studio`"),
        (&own.replace("{line}", "{lines}"), "host `mine`: `stdio` has neither"),
        (&own.replace("windows", "wndows"), "there is no operating system `wndows`"),
    ] {
        fs::write(&path, wrong).unwrap();
        let error = Hosts::load(&env).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("hosts.toml"), "{error}");
    }
    let missing = env.with("COUPLET_HOSTS", home.root.join("none.toml").to_str().unwrap());
    assert!(Hosts::load(&missing).unwrap_err().to_string().contains("none.toml` cannot be read"));
}
