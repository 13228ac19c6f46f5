//! Servers in hosts: installed, used by name, diagnosed, uninstalled. Every test has a home directory of its own.

use std::{fs, path::Path};

use crate::kit::{Folder, couplet, golden, shop, show};
#[cfg(unix)]
use crate::terminal::Terminal;

/// A home directory with two hosts, whose files have comments.
struct Home(Folder);

const CURSOR: &str = "{
  // mine
  \"mcpServers\": {
    \"broken\": { \"command\": \"/nowhere/server\" }, // not there
    \"dies\": { \"command\": \"SHOP\", \"args\": [\"dies\"] }
  },
  \"unknown\": [1, 2 , 3]
}
";

const CODEX: &str = "# mine
model = \"x\"

[mcp_servers.noisy]
command = \"SHOP\"
args = [\"noisy\"]
";

impl Home {
    fn new(name: &str) -> Self {
        let home = Self(Folder::new(name));
        home.write(".cursor/mcp.json", CURSOR);
        home.write(".codex/config.toml", CODEX);
        home
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.file(file);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(path, text.replace("SHOP", &shop())).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.file(file)).unwrap().replace(&shop(), "SHOP")
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = couplet();
        command.args(args).current_dir(self.0.file(""));
        self.plain(&show(args, &command.envs(self.variables()).output().unwrap()))
    }

    #[cfg(unix)]
    fn terminal(&self, args: &[&str]) -> String {
        let variables = self.variables();
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let mut terminal = Terminal::start_with(args, &variables);
        let text = terminal.end();
        format!("{}\n\n{}\n", self.plain(&text), self.plain(&terminal.painted()))
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        [("HOME", self.0.file("")), ("XDG_CONFIG_HOME", self.0.file(".config"))]
    }

    /// Without the folder, and times in names of copies.
    fn plain(&self, text: &str) -> String {
        let text = text.replace(self.0.file("").trim_end_matches('/'), "HOME");
        let mut lines = String::new();
        for line in text.lines() {
            let end = line.find("  before: ").map_or(line.len(), |at| at + "  before: ".len());
            lines.push_str(&line[..end]);
            lines.push_str(if end < line.len() { "COPY\n" } else { "\n" });
        }
        lines
    }

    #[track_caller]
    fn check(&self, name: &str, commands: &[&[&str]]) {
        let text: Vec<String> = commands.iter().map(|args| self.run(args)).collect();
        golden(name, &text.join("\n"));
    }
}

#[test]
fn servers_are_installed_used_by_name_and_taken_away() {
    let home = Home::new("install");
    let shop = &*shop();
    home.check(
        "install",
        &[
            &["install", shop, "--name", "shop", "--host", "cursor", "-e", "TILL=1", "--dry-run"],
            &["install", shop, "--name", "shop", "--host", "cursor,codex", "-e", "TILL=1"],
            &["install", shop, "--name", "shop", "--host", "cursor", "-e", "TILL=1"],
            &["install", shop, "--name", "shop", "--host", "cursor", "-e", "TILL=2"],
            &["servers"],
            &["call", "shop", "add", "a=1", "b=2"],
            &["list", "cursor:shop", "prompts"],
            &["sync", "--from", "cursor", "--host", "codex", "shop"],
            &["uninstall", "shop", "--host", "codex,cursor"],
            &["list", "shop", "prompts"],
        ],
    );
    // Installing and uninstalling restores the file.
    assert_eq!(home.read(".cursor/mcp.json"), CURSOR);
    assert_eq!(home.read(".codex/config.toml"), CODEX);
}

#[test]
fn what_cannot_be_installed() {
    let home = Home::new("not-installed");
    home.write(".gemini/settings.json", "{ \"mcpServers\": { oops");
    home.check(
        "install-wrong",
        &[
            &["install", "server", "--host", "cursr"],
            &["install", "server", "--host", "cursor", "-e", "=1"],
            &["install", "server", "--host", "cursor", "-f", "missing.env"],
            &["install", "server", "--host", "gemini"],
            &["install", "server", "--host", "gemini", "--json"],
            &["install", "server"],
            &["uninstall", "nothing"],
            &["list", "nothing"],
            &["servers", "--host", "gemini"],
        ],
    );
    assert_eq!(home.read(".gemini/settings.json"), "{ \"mcpServers\": { oops");
}

#[test]
fn the_doctor_finds_out_why() {
    let home = Home::new("doctor");
    let dies = format!("{} dies", shop());
    let garbage = format!("{} garbage", shop());
    home.check(
        "doctor",
        &[
            &["doctor"],
            &["doctor", "--no-start"],
            &["doctor", "noisy", "--json"],
            &["doctor", "nois"],
            &["doctor", &dies],
            &["doctor", &garbage],
            &["doctor", "http://127.0.0.1:1/mcp"],
        ],
    );
}

#[cfg(unix)]
#[test]
fn on_a_terminal() {
    let home = Home::new("configured");
    let shop = &*shop();
    let commands: [&[&str]; 6] = [
        &["install", shop, "--name", "shop", "--host", "cursor", "--dry-run"],
        &["install", shop, "--name", "shop", "--host", "cursor"],
        &["servers"],
        &["sync", "--from", "cursor", "--host", "codex", "shop"],
        &["doctor", "dies"],
        &["uninstall", "shop", "--host", "cursor,codex"],
    ];
    golden("terminal-configured", &commands.iter().map(|args| home.terminal(args)).collect::<Vec<_>>().join("\n"));
    let hosts = home.terminal(&["hosts"]);
    assert!(hosts.contains("Cursor") && hosts.contains("installed"), "{hosts}");
}

#[test]
fn every_host_is_listed() {
    let home = Home::new("hosts");
    let text = home.run(&["hosts"]);
    assert!(text.lines().count() > 28 && text.contains("cursor") && text.ends_with("[exit 0]\n"), "{text}");
}
