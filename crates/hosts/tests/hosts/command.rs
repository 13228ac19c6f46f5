//! The commands, as users type them.

use std::{fs, path::Path};

use couplet_hosts::{
    Env, Error, ErrorKind, Os,
    cli::{self, HostsArgs, InstallArgs, ServersArgs, SyncArgs, UninstallArgs},
};

use super::{Home, parsed};

struct Shell {
    home: Home,
    env: Env,
}

impl Shell {
    fn new(os: Os) -> Self {
        let home = Home::new();
        home.program("bin/weather");
        let env = home.env(os).with("PATH", home.root.join("bin").to_str().unwrap());
        Self { home, env }
    }

    /// Runs a command; the output has `~` for the home folder, and no numbers of backups.
    fn run(&self, command: &str, args: &[&str]) -> Result<String, Error> {
        let (said, outcome) = self.told(command, args);
        outcome.map(|()| said)
    }

    /// The same, with what was written before it failed.
    fn told(&self, command: &str, args: &[&str]) -> (String, Result<(), Error>) {
        let mut out = Vec::new();
        let outcome = match command {
            "install" => cli::install(&parsed::<InstallArgs>(args), &self.env, &mut out),
            "uninstall" => cli::uninstall(&parsed::<UninstallArgs>(args), &self.env, &mut out),
            "sync" => cli::sync(&parsed::<SyncArgs>(args), &self.env, &mut out),
            "servers" => cli::servers(&parsed::<ServersArgs>(args), &self.env, &mut out),
            "hosts" => cli::hosts(&parsed::<HostsArgs>(args), &self.env, &mut out),
            _ => panic!("{command}"),
        };
        (self.home.short(&String::from_utf8(out).unwrap()), outcome)
    }

    fn read(&self, path: &str) -> String {
        self.home.short(&fs::read_to_string(self.home.root.join(path)).unwrap())
    }

    fn write(&self, path: &str, text: &str) {
        self.home.write(Path::new(path), text);
    }
}

/// What an error says, with its hint.
#[track_caller]
fn failed<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    format!("{error} | {}", error.hint().unwrap_or_default())
}

#[test]
fn install_shows_does_and_tells() {
    let shell = Shell::new(Os::Linux);
    shell.write(".cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n");
    let args = ["weather --city 'New York'", "--host", "cursor", "-e", "KEY=v"];
    let diff = shell.run("install", &[&args[..], &["--dry-run"]].concat()).unwrap();
    assert_eq!(
        diff,
        "--- ~/.cursor/mcp.json\n+++ ~/.cursor/mcp.json\n@@ -1,5 +1,12 @@\n {\n   \"mcpServers\": {\n-    \"a\": {}\n\
         +    \"a\": {},\n+    \"weather\": {\n+      \"command\": \"~/bin/weather\",\n\
         +      \"args\": [\"--city\", \"New York\"],\n+      \"env\": {\n+        \"KEY\": \"v\"\n+      }\n+    }\n   }\n }\n"
    );
    assert!(!shell.read(".cursor/mcp.json").contains("weather"));

    let said = shell.run("install", &args).unwrap();
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[0], "Cursor: added `weather` (user), ~/.cursor/mcp.json");
    assert!(lines[1].starts_with("  before: ~/.local/state/couplet/backups/mcp.json."), "{said}");
    assert_eq!(lines[2], "  next: enable it in Cursor's settings under MCP, if it is not already");
    assert!(shell.read(".cursor/mcp.json").contains("\"command\": \"~/bin/weather\""));

    let again = shell.run("install", &args).unwrap();
    assert_eq!(again, "Cursor: nothing to do, ~/.cursor/mcp.json has it already\n");
    let other = ["weather --city Rome", "--host", "cursor"];
    let error = shell.home.short(&failed(shell.run("install", &other), ErrorKind::Conflict));
    assert_eq!(
        error,
        "Cursor has another `weather` in `~/.cursor/mcp.json`: `~/bin/weather --city \"New York\"` | \
         use `--force` to replace it, or `--name` for another name"
    );
    let said = shell.run("install", &[&other[..], &["--force"]].concat()).unwrap();
    assert!(said.starts_with("Cursor: replaced `weather` (user)"), "{said}");
    assert!(shell.read(".cursor/mcp.json").contains("\"Rome\""));
}

#[test]
fn install_takes_commands_as_people_have_them() {
    for (os, args, expected) in [
        (Os::Linux, ["node src/server.js"].as_slice(), r#"{"command": "node", "args": ["~/project/src/server.js"]}"#),
        (Os::Linux, &["weather", "--", "-v", "a b"], r#"{"command": "~/bin/weather", "args": ["-v", "a b"]}"#),
        (Os::Linux, &["./my server"], r#"{"command": "~/project/my server", "args": []}"#),
        (
            Os::Linux,
            &["weather", "-e", "A=1", "-e", "B=x=y", "-e", "A=2"],
            r#"{"command": "~/bin/weather", "args": [], "env": {"A": "2", "B": "x=y"}}"#,
        ),
        (
            Os::Linux,
            &["weather", "-f", ".env", "-e", "B=3"],
            r#"{"command": "~/bin/weather", "args": [], "env": {"A": "a b", "B": "3"}}"#,
        ),
        (
            Os::Linux,
            &["weather", "-e", "KEY"],
            r#"{"command": "~/bin/weather", "args": [], "env": {"KEY": "${env:KEY}"}}"#,
        ),
        (Os::Windows, &["npx -y x"], r#"{"command": "cmd", "args": ["/c", "npx", "-y", "x"]}"#),
        (Os::Windows, &[r"C:\tools\x.exe --a"], r#"{"command": "C:\\tools\\x.exe", "args": ["--a"]}"#),
        (
            Os::Linux,
            &["https://example.com/mcp", "-H", "Authorization: Bearer ${KEY}"],
            r#"{"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:KEY}"}}"#,
        ),
    ] {
        let shell = Shell::new(os);
        shell.write("project/src/server.js", "");
        shell.home.program("project/my server");
        shell.write("project/.env", "A='a b'\nB=2\n");
        shell.write(".cursor/mcp.json", "{\"mcpServers\": {\"x\": 1}}");
        shell
            .run(
                "install",
                &[args, &["--host=cursor", "--name=n"]].concat().into_iter().fold(Vec::new(), before_dashes),
            )
            .unwrap();
        assert_eq!(
            shell.read(".cursor/mcp.json"),
            format!("{{\"mcpServers\": {{\"x\": 1, \"n\": {expected}}}}}"),
            "{args:?}"
        );
    }
}

/// Options come before `--`.
fn before_dashes<'a>(mut args: Vec<&'a str>, arg: &'a str) -> Vec<&'a str> {
    let at = args.iter().position(|a| *a == "--").filter(|_| arg.starts_with("--host") || arg.starts_with("--name="));
    args.insert(at.unwrap_or(args.len()), arg);
    args
}

#[test]
fn a_host_without_urls_gets_a_bridge() {
    let shell = Shell::new(Os::MacOs);
    let said =
        shell.run("install", &["https://mcp.example.com/mcp", "--host", "claude-desktop", "-H", "X-Key: abc"]).unwrap();
    assert!(
        said.contains("  note: Claude Desktop does not support this transport, so it starts a bridge instead\n"),
        "{said}"
    );
    let text = shell.read("Library/Application Support/Claude/claude_desktop_config.json");
    let expected = "\"example\": {\n      \"command\": \"/opt/couplet\",\n      \"args\": [\"run\", \"https://mcp.example.com/mcp\", \"--header\", \"X-Key: abc\"]\n    }";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_project_has_commands_as_they_were_typed() {
    let shell = Shell::new(Os::Linux);
    shell.write("project/src/server.js", "");
    let said = shell
        .run("install", &["node src/server.js", "--host", "claude-code,copilot-cli", "--scope", "project"])
        .unwrap();
    assert!(said.starts_with("Claude Code: added `server` (project), ~/project/.mcp.json\n  note: GitHub Copilot CLI reads the same file\n"), "{said}");
    assert!(shell.read("project/.mcp.json").contains("\"args\": [\"src/server.js\"]"));
    let said = shell.run("servers", &[]).unwrap();
    assert_eq!(said, "server  claude-code, copilot-cli  project  node src/server.js\n");
    let said = shell.run("uninstall", &["server"]).unwrap();
    assert!(said.starts_with("Claude Code: removed `server` (project)"), "{said}");
}

#[test]
fn install_into_all_that_are_there() {
    let shell = Shell::new(Os::Linux);
    let nothing = failed(shell.run("install", &["weather"]), ErrorKind::Usage);
    assert!(nothing.starts_with("no installed host was found"), "{nothing}");
    shell.write(".cursor/x", "");
    shell.write(".codex/config.toml", "model = \"x\"\n");
    let which = failed(shell.run("install", &["weather"]), ErrorKind::Usage);
    assert_eq!(
        which,
        "select a host with `--host`, or all installed ones with `--all` | installed here: cursor, codex"
    );
    shell.run("install", &["weather", "--all"]).unwrap();
    assert!(shell.read(".cursor/mcp.json").contains("weather"));
    assert_eq!(
        shell.read(".codex/config.toml"),
        "model = \"x\"\n\n[mcp_servers.weather]\ncommand = \"~/bin/weather\"\nargs = []\n"
    );
    assert_eq!(
        shell.run("servers", &[]).unwrap(),
        "weather  cursor  user  ~/bin/weather\nweather  codex   user  ~/bin/weather\n"
    );
}

#[cfg(unix)]
#[test]
fn install_into_all_goes_on_after_a_file_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    let shell = Shell::new(Os::Linux);
    shell.write(".cursor/mcp.json", "{}");
    shell.write(".codex/config.toml", "a = = 1\n");
    shell.write(".config/zed/settings.json", "{}");
    let cursor = shell.home.root.join(".cursor/mcp.json");
    fs::set_permissions(&cursor, fs::Permissions::from_mode(0o444)).unwrap();
    for dry in [true, false] {
        let args = if dry { ["weather", "--all", "--dry-run"].as_slice() } else { &["weather", "--all"] };
        let (said, outcome) = shell.told("install", args);
        let error = failed(outcome, ErrorKind::Io);
        assert!(error.starts_with("2 of 3 hosts could not be changed | "), "{error}");
        let told = if dry { "+++ ~/.config/zed/settings.json" } else { "Zed: added `weather` (user)" };
        assert!(said.contains(told), "{said}");
        let read_only = "Cursor: not changed: `~/.cursor/mcp.json` is read-only\n  do: allow writing to it";
        assert!(said.contains(read_only), "{said}");
        assert!(said.contains("Codex: not changed: `~/.codex/config.toml:1:5`: it is not TOML"), "{said}");
        assert_eq!(shell.read(".config/zed/settings.json").contains("weather"), !dry);
    }
    assert_eq!((shell.read(".cursor/mcp.json"), shell.read(".codex/config.toml")), ("{}".into(), "a = = 1\n".into()));
    // Hosts that were named are all changed, or none of them.
    let error = failed(shell.run("install", &["weather", "--name", "w", "--host", "zed,cursor"]), ErrorKind::Io);
    let error = shell.home.short(&error);
    assert!(error.starts_with("`~/.cursor/mcp.json` is read-only"), "{error}");
    assert!(!shell.read(".config/zed/settings.json").contains("\"w\""));

    let mut out = Vec::new();
    let args = InstallArgs { json: true, ..parsed(&["weather", "--all", "--name", "x"]) };
    cli::install(&args, &shell.env, &mut out).unwrap_err();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let error = json.as_array().unwrap().iter().find(|row| row["host"] == "cursor").unwrap();
    assert!(error["error"].as_str().unwrap().ends_with("is read-only") && error["changed"] == false, "{error}");
}

#[test]
fn an_interpreter_of_a_virtual_environment_is_written_whole() {
    for (active, marked, scope, expected) in [
        (true, true, "user", "~/project/.venv/bin/python"),
        (true, false, "user", "~/project/.venv/bin/python"),
        (false, true, "user", "~/project/.venv/bin/python"),
        (false, false, "user", "python"),
        (true, true, "project", "python"),
    ] {
        let shell = Shell::new(Os::Linux);
        shell.write("project/x.py", "");
        let bin = shell.home.program("project/.venv/bin/python").parent().unwrap().to_owned();
        if marked {
            shell.write("project/.venv/pyvenv.cfg", "home = /usr/bin\n");
        }
        let mut env = shell.env.clone().with("PATH", bin.to_str().unwrap());
        if active {
            env = env.with("VIRTUAL_ENV", bin.parent().unwrap().to_str().unwrap());
        }
        let shell = Shell { env, ..shell };
        let said = shell.run("install", &["python x.py", "--host", "cursor", "--scope", scope]).unwrap();
        let file = if scope == "user" { ".cursor/mcp.json" } else { "project/.cursor/mcp.json" };
        let text = shell.read(file);
        assert!(text.contains(&format!("\"command\": \"{expected}\"")), "{active} {marked} {scope}: {text}");
        let note = "  note: `python` is written as `~/project/.venv/bin/python`, which is in a virtual environment\n";
        assert_eq!(said.contains(note), expected != "python", "{said}");
    }
}

#[test]
fn if_one_host_cannot_none_is_changed() {
    let shell = Shell::new(Os::Linux);
    shell.write(".cursor/mcp.json", "{}");
    shell.write(".codex/config.toml", "a = = 1\n");
    let error = failed(shell.run("install", &["weather", "--host", "cursor,codex"]), ErrorKind::Broken);
    assert!(error.contains("config.toml:1:5`: it is not TOML"), "{error}");
    assert_eq!(shell.read(".cursor/mcp.json"), "{}");
}

#[test]
fn what_makes_no_sense_is_said() {
    let shell = Shell::new(Os::Linux);
    shell.write("project/.env", "A\n");
    for (args, kind, expected) in [
        (
            ["weather", "--host", "curser"].as_slice(),
            ErrorKind::Unknown,
            "there is no host `curser`: did you mean `cursor`?",
        ),
        (
            &["weather", "--host", "windsurf", "--scope", "project"],
            ErrorKind::Usage,
            "Windsurf has no scope `project` | it has `user`",
        ),
        (&["'weather", "--host", "cursor"], ErrorKind::Usage, "a quote (') is not closed: `'weather`"),
        (&["", "--host", "cursor"], ErrorKind::Usage, "the command is empty"),
        (&["weather", "--host", "cursor", "-e", "A B=c"], ErrorKind::Usage, "`-e A B=c` is not `-e NAME=value`"),
        (&["weather", "--host", "cursor", "-f", "none.env"], ErrorKind::Io, "`none.env` cannot be read"),
        (&["weather", "--host", "cursor", "-f", ".env"], ErrorKind::Broken, "`.env`: line 1 is not `NAME=value`"),
        (&["weather", "--host", "cursor", "--name", "a b"], ErrorKind::Usage, "`a b` cannot be the name of a server"),
        (
            &["weather", "--host", "zed", "-e", "KEY"],
            ErrorKind::Usage,
            "Zed cannot refer to the variable `KEY` there | give its value",
        ),
        (&["http://127.0.0.1/mcp", "--host", "cursor"], ErrorKind::Usage, "no name can be derived from"),
        (&["ftp://example.com", "--host", "cursor"], ErrorKind::Usage, "`ftp` is not a supported URL scheme"),
        (
            &["https://example.com", "--host", "cursor", "-e", "A=b"],
            ErrorKind::Usage,
            "a server at a URL does not take variables",
        ),
        (
            &["weather", "--host", "cursor", "-H", "A: b"],
            ErrorKind::Usage,
            "headers and `--sse` are for servers at a URL",
        ),
        (&["https://example.com", "--host", "cursor", "-H", "A"], ErrorKind::Usage, "`-H A` is not `-H 'NAME: value'`"),
    ] {
        let error = failed(shell.run("install", args), kind);
        assert!(error.starts_with(expected), "{args:?}: {error}");
    }
    assert!(!shell.home.root.join(".cursor").exists());
}

#[test]
fn uninstall_finds_what_is_meant() {
    let shell = Shell::new(Os::Linux);
    let cursor = "{\n  // mine\n  \"mcpServers\": {\n    \"b\": { \"command\": \"b\" }\n  }\n}\n";
    shell.write(".cursor/mcp.json", cursor);
    shell.run("install", &["weather", "--host", "cursor,zed"]).unwrap();
    let error = failed(shell.run("uninstall", &["weather"]), ErrorKind::Usage);
    assert!(error.starts_with("`weather` is in several places: cursor (user), zed (user) | select with"), "{error}");
    let diff = shell.run("uninstall", &["weather", "--host", "cursor", "--dry-run"]).unwrap();
    assert!(diff.contains("-    \"weather\": {\n") && diff.contains("+    \"b\": { \"command\": \"b\" }\n"), "{diff}");
    let said = shell.run("uninstall", &["weather", "--host", "cursor"]).unwrap();
    assert!(said.starts_with("Cursor: removed `weather` (user), ~/.cursor/mcp.json\n  before: "), "{said}");
    assert_eq!(said.lines().count(), 2, "{said}");
    assert_eq!(shell.read(".cursor/mcp.json"), cursor);
    let said = shell.run("uninstall", &["weather"]).unwrap();
    assert!(said.starts_with("Zed: removed `weather` (user)"), "{said}");
    for (args, expected) in [
        (["weather"].as_slice(), "no host has a server `weather` | `couplet servers` lists"),
        (&["c"], "no host has a server `c`: did you mean `b`?"),
        (&["weather", "--host", "cursor"], "Cursor has no server `weather` | "),
        (&["weather", "--host", "cursor,zed"], "none of these hosts has a server `weather` | "),
    ] {
        let error = failed(shell.run("uninstall", args), ErrorKind::Unknown);
        assert!(error.starts_with(expected), "{error}");
    }
    // What two scopes of a host have, and what a host has that is not installed.
    shell.write("project/.roo/mcp.json", r#"{"mcpServers": {"x": {"command": "x"}}}"#);
    shell.write("project/.cursor/mcp.json", r#"{"mcpServers": {"x": {"command": "x"}}}"#);
    shell.write(".cursor/mcp.json", r#"{"mcpServers": {"x": {"command": "x"}}}"#);
    let error = failed(shell.run("uninstall", &["x", "--host", "cursor"]), ErrorKind::Usage);
    assert!(error.starts_with("`x` is in several places: cursor (user), cursor (project) | "), "{error}");
    shell.run("uninstall", &["x", "--host", "cursor", "--scope", "project"]).unwrap();
    shell.run("uninstall", &["x", "--all"]).unwrap();
    assert_eq!(shell.run("servers", &[]).unwrap(), "no host has a server configured\n");
}

#[test]
fn sync_copies_and_translates() {
    let shell = Shell::new(Os::Linux);
    shell.write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {
            "db": {"command": "db", "args": ["-v"], "env": {"KEY": "${env:KEY}", "MODE": "x"}},
            "web": {"url": "https://x.y/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}},
            "off": {"command": "off", "disabled": true}
        }}"#,
    );
    shell.write(".claude.json", "{\"mcpServers\": {\"db\": {\"type\": \"stdio\", \"command\": \"other\"}}}");
    let args = ["--from", "cursor", "--host", "codex,claude-code"];
    let plan = shell.run("sync", &[&args[..], &["--dry-run", "db"]].concat());
    assert_eq!(
        failed(plan, ErrorKind::Conflict),
        "1 of the entries could not be copied and were skipped | `--force` replaces those that differ"
    );
    assert!(!shell.home.root.join(".codex").exists());

    failed(shell.run("sync", &args), ErrorKind::Conflict);
    assert_eq!(
        shell.read(".codex/config.toml"),
        "[mcp_servers.db]\ncommand = \"db\"\nargs = [\"-v\"]\nenv = { MODE = \"x\" }\nenv_vars = [\"KEY\"]\n\n\
         [mcp_servers.web]\nurl = \"https://x.y/mcp\"\nbearer_token_env_var = \"TOKEN\"\n"
    );
    let claude = shell.read(".claude.json");
    assert!(claude.contains("\"command\": \"other\"") && claude.contains("\"Bearer ${TOKEN}\""), "{claude}");
    let said = shell.run("sync", &[&args[..], &["--force"]].concat()).unwrap();
    assert!(said.contains("Codex: nothing to do") && said.contains("Claude Code: added `db` (user)"), "{said}");
    assert!(shell.read(".claude.json").contains("\"KEY\": \"${KEY}\""));
    // Everything is the same everywhere now, so a name means one thing.
    let servers = shell.run("servers", &["--host", "codex"]).unwrap();
    assert_eq!(servers, "db   codex  user  db -v\nweb  codex  user  https://x.y/mcp\n");

    // A host that can say less gets what it can have.
    let error = failed(shell.run("sync", &["--from", "cursor", "--host", "zed"]), ErrorKind::Conflict);
    assert!(error.starts_with("2 of the entries"), "{error}");
    for (args, kind, expected) in [
        (["--from", "cursor", "--host", "cursor"].as_slice(), ErrorKind::Usage, "there is no other host to copy to"),
        (&["--from", "zed", "--host", "cursor"], ErrorKind::Unknown, "Zed has no servers in"),
        (
            &["bd", "--from", "cursor", "--host", "zed"],
            ErrorKind::Unknown,
            "Cursor has no server `bd`: did you mean `db`?",
        ),
    ] {
        let error = failed(shell.run("sync", args), kind);
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn lists_are_for_people_and_for_machines() {
    let shell = Shell::new(Os::Linux);
    assert_eq!(shell.run("servers", &[]).unwrap(), "no host has a server configured\n");
    shell.write(".cursor/mcp.json", r#"{"mcpServers": {"a": {"command": "x", "env": {"KEY": "secret!"}}, "off": {"url": "https://x.y", "disabled": true}}}"#);
    shell.write(".codex/config.toml", "oops");
    let said = shell.run("servers", &[]).unwrap();
    assert!(
        said.starts_with(
            "a    cursor  user        x\noff  cursor  user (off)  https://x.y\nnot read: `~/.codex/config.toml:1:"
        ),
        "{said}"
    );
    let mut out = Vec::new();
    cli::servers(&ServersArgs { json: true, ..Default::default() }, &shell.env, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("secret!"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json[0]["env"], serde_json::json!(["KEY"]));
    assert_eq!(json[1]["enabled"], false);

    let hosts = shell.run("hosts", &[]).unwrap();
    assert!(hosts.contains("cursor           Cursor                 installed  ~/.cursor/mcp.json\n"), "{hosts}");
    assert!(
        hosts.contains("windsurf         Windsurf                          ~/.codeium/windsurf/mcp_config.json\n"),
        "{hosts}"
    );
}

#[test]
fn changes_are_told_to_machines_too() {
    let shell = Shell::new(Os::Linux);
    let mut out = Vec::new();
    let args = InstallArgs { json: true, ..parsed(&["weather", "--host", "zed"]) };
    cli::install(&args, &shell.env, &mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json[0]["host"], "zed");
    assert_eq!(json[0]["changed"], true);
    assert!(json[0]["diff"].as_str().unwrap().contains("+  \"context_servers\": {\n"));
}
