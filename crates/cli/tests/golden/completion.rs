//! Completion in real shells.
#![cfg(unix)]

use std::{env, fs, path::Path, process::Command};

use crate::{
    demo::Demo,
    kit::{Folder, couplet, shop},
    skipped::skipped,
    terminal::Terminal,
};

/// A home with a configured server, and a command that leaves a mark when it is started.
struct Home {
    folder: Folder,
    demo: Demo,
}

impl Home {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        fs::create_dir(folder.file(".cursor")).unwrap();
        let servers =
            r#"{ "mcpServers": { "weather-station": { "command": "sh", "args": ["-c", "touch started"] } } }"#;
        fs::write(folder.file(".cursor/mcp.json"), servers).unwrap();
        fs::write(folder.file("server.py"), "").unwrap();
        Self { folder, demo: Demo::start() }
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let program = Path::new(env!("CARGO_BIN_EXE_couplet")).parent().unwrap();
        let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
        vec![
            ("PATH", path),
            ("HOME", self.folder.file("")),
            ("XDG_STATE_HOME", self.folder.file(".state")),
            ("XDG_CONFIG_HOME", self.folder.file(".config")),
            ("XDG_DATA_HOME", self.folder.file(".data")),
            ("INPUTRC", "/dev/null".to_owned()),
            ("PS1", "> ".to_owned()),
        ]
    }

    /// Uses a server once, so that its lists are known.
    fn list(&self, target: &str) {
        let output = couplet().args(["list", target]).envs(self.variables()).current_dir(self.folder.path()).output();
        assert!(output.unwrap().status.success(), "{target}");
    }

    /// What is typed, and what it becomes.
    fn cases(&self) -> Vec<(String, String)> {
        let (url, shop) = (&self.demo.url, shop());
        let cases = [
            ("couplet disc".to_owned(), "couplet discover"),
            ("couplet call x --revision 2026".to_owned(), "--revision 2026-07-28"),
            ("couplet list weath".to_owned(), "list weather-station"),
            ("couplet list serv".to_owned(), "list server.py"),
            ("couplet help targ".to_owned(), "help targets"),
            (format!("couplet call {url} get-su"), "mcp get-sum"),
            (format!("couplet call {url} echo mess"), "echo message="),
            (format!("couplet prompt {url} completable-prompt department=Eng"), "department=Engineering"),
            (format!("couplet prompt {url} completable-prompt department=Engineering name=Al"), "name=Alice"),
            (format!("couplet read {url} schema://sqlite/main/miss"), "main/missions"),
            (format!("couplet call {shop} forecast city=Oslo un"), "Oslo unit="),
            (format!("couplet call {shop} forec"), "forecast"),
        ];
        cases.map(|(typed, becomes)| (typed, becomes.to_owned())).into()
    }

    fn assert_nothing_was_started(&self) {
        assert!(!self.folder.path().join("started").exists(), "Tab has started a command");
    }
}

fn is_installed(shell: &str) -> bool {
    let is_there = Command::new(shell).arg("--version").output().is_ok();
    if !is_there {
        skipped(&format!("{shell} is not installed"));
    }
    is_there
}

/// Types lines in an interactive shell, and presses Tab.
fn type_in(shell: &str, args: &[&str], setup: &str) {
    if !is_installed(shell) {
        return;
    }
    let home = Home::new(shell);
    home.list(&shop());
    let variables = home.variables();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut terminal = Terminal::start_program(shell, home.folder.path(), args, &variables);
    terminal.press(&format!("{setup}; echo re''ady\r"));
    terminal.wait_for("ready");
    for (typed, becomes) in home.cases() {
        terminal.press("clear\r");
        terminal.wait_until("the screen is not cleared", |screen| !screen.contains("couplet"));
        terminal.press(&typed);
        terminal.wait_until("what is typed is not there", |screen| screen.contains(&typed));
        terminal.press("\t");
        terminal.wait_until(&becomes, |screen| screen.contains(&becomes));
        terminal.press("\u{15}");
    }
    terminal.press("exit\r");
    terminal.end();
    home.assert_nothing_was_started();
}

#[test]
fn in_bash() {
    type_in("bash", &["--norc", "--noprofile", "-i"], "source <(couplet completions bash)");
}

#[test]
fn in_zsh() {
    let setup = "autoload -U compinit; compinit -u -D; source <(couplet completions zsh)";
    type_in("zsh", &["-f", "-i"], setup);
}

/// fish shows what Tab would do without a terminal.
#[test]
fn in_fish() {
    if !is_installed("fish") {
        return;
    }
    let home = Home::new("fish");
    home.list(&shop());
    let complete = |typed: &str| {
        let script = format!("couplet completions fish | source; complete -C {}", shlex::try_quote(typed).unwrap());
        let mut fish = Command::new("fish");
        fish.args(["--no-config", "-c", &script]).envs(home.variables()).current_dir(home.folder.path());
        let output = fish.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{typed}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (typed, becomes) in home.cases() {
        let found = complete(&typed);
        let word = becomes.rsplit(' ').next().unwrap();
        let is_there = found.lines().any(|line| line.split('\t').next().unwrap().ends_with(word));
        assert!(is_there, "{typed}: {word} is not among\n{found}");
    }
    assert_eq!(complete("couplet call weather-station for"), "");
    home.assert_nothing_was_started();
}

/// A command is never started, but what is known of it is used.
#[test]
fn commands_are_not_started() {
    let home = Home::new("not-started");
    let complete = |words: &[&str]| {
        let mut command = couplet();
        command.args(["__complete", "zsh", "--"]).args(words).envs(home.variables()).current_dir(home.folder.path());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert_eq!(complete(&["call", "weather-station", ""]), "words\n");
    assert_eq!(complete(&["call", "sh -c 'touch started'", ""]), "words\n");
    home.assert_nothing_was_started();
    let shop = shop();
    assert_eq!(complete(&["call", &shop, "forec"]), "words\n");
    home.list(&shop);
    assert_eq!(complete(&["call", &shop, "forec"]), "words\nforecast\tThe weather of the coming days.\n");
    assert_eq!(complete(&["call", "--cwd", "/", &shop, "forec"]), "words\n", "the same command elsewhere is another");
}

/// A name with control characters is not offered: a terminal would obey them.
#[test]
fn names_from_servers_are_plain_text() {
    let home = Home::new("plain");
    let shop = shop();
    home.list(&shop);
    let lists = fs::read_dir(home.folder.file(".state/couplet/lists")).unwrap();
    let file = lists.map(|file| file.unwrap().path()).next().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let nasty = text.replace("\"name\":\"forecast\"", "\"name\":\"fore\\u001b[2Jcast\"");
    assert_ne!(text, nasty, "the list has the tool");
    fs::write(&file, nasty).unwrap();
    let mut command = couplet();
    command.args(["__complete", "zsh", "--", "call", &shop, "fore"]).envs(home.variables());
    let output = command.current_dir(home.folder.path()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "words\n");
}
