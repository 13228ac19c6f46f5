//! The manual: pages in `docs/manual` are what the program writes, with the output of commands; man pages; topics.

use std::{fs, path::Path, process::Command};

use crate::{
    demo::Demo,
    kit::{Folder, check, couplet, plain},
};

/// The pages with commands whose output they show. `URL` is the demo server.
const SHOWN: &[(&str, &[&str])] = &[
    ("list", &["list URL prompts", "list URL get-sum"]),
    (
        "call",
        &[
            "call URL get-sum a=2 b=3",
            "call URL sqlite_query sql='SELECT planet, moon FROM largest_moons' limit=2",
            "call URL get-sum a=2 b=3 --json --revision 2025-11-25",
            "call URL get-sum a=two b=3",
            "call URL get-sun",
        ],
    ),
    ("read", &["read URL schema://sqlite/main/moons", "read URL 'schema://sqlite/main/{table}' table=missions"]),
    ("prompt", &["prompt URL args-prompt city=Oslo", "prompt URL args-prompt"]),
    ("complete", &["complete URL completable-prompt department=S"]),
    ("discover", &["discover URL"]),
    ("install", &["install URL --name demo --host cursor --dry-run", "install URL --name demo --host cursor"]),
    ("uninstall", &["install URL --name demo --host cursor", "uninstall demo --dry-run"]),
    ("sync", &["install URL --name demo --host cursor", "sync --from cursor --host zed --dry-run"]),
    ("servers", &["install URL --name demo --host cursor", "servers"]),
    ("lock", &["lock URL", "call URL get-sum a=2 b=3 --locked"]),
    ("logout", &["logout URL"]),
    ("openapi", &["openapi api.json --list"]),
    ("rdf", &["rdf ping.json"]),
    ("new", &["new notes"]),
    ("schema", &["schema --type Role --revision 2026-07-28"]),
    ("validate", &["validate ping.json", "validate wrong.json"]),
    ("help", &["help questions", "help question"]),
];

/// A REST API with one operation, for the pages that need a document.
const API: &str = r#"{ "openapi": "3.1.0", "info": { "title": "Planets", "version": "1.0.0" },
  "servers": [{ "url": "https://api.example.com" }],
  "paths": { "/planets/{id}": { "get": { "operationId": "getPlanet", "summary": "A planet.",
    "parameters": [{ "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } }],
    "responses": { "200": { "description": "The planet." } } } } } }"#;

/// The default address of the demo.
const USUAL: &str = "http://127.0.0.1:7878/mcp";

fn pages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/manual")
}

#[test]
fn pages_are_what_the_program_says() {
    let (demo, folder) = (Demo::start(), Folder::new("manual"));
    let written = couplet().args(["manual", &folder.file("pages"), "--markdown"]).output().unwrap();
    assert!(written.status.success(), "{written:?}");
    let mut names: Vec<String> = list(Path::new(&folder.file("pages")));
    for name in &names {
        let mut page = fs::read_to_string(folder.file(&format!("pages/{name}"))).unwrap();
        let shown = SHOWN.iter().find(|(page, _)| name.strip_suffix(".md") == Some(page));
        if let Some((_, commands)) = shown {
            page += &transcript(commands, &demo, name);
        }
        couplet_testing::assert_golden(pages().join(name), &page);
    }
    names.sort();
    let mut there = list(&pages());
    there.sort();
    assert_eq!(there, names, "docs/manual has a page for each command, and no other");
    let missing: Vec<_> = SHOWN.iter().filter(|(page, _)| !names.contains(&format!("{page}.md"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn list(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// Runs commands in a home of their own, and formats them as on a terminal.
fn transcript(commands: &[&str], demo: &Demo, name: &str) -> String {
    let home = Folder::new(&format!("manual-{name}"));
    fs::write(home.file("ping.json"), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).unwrap();
    fs::write(home.file("wrong.json"), r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#).unwrap();
    fs::write(home.file("api.json"), API).unwrap();
    let mut text = String::new();
    for command in commands {
        let words = shlex::split(&command.replace("URL", &demo.url)).unwrap();
        let output = in_home(couplet().args(words), &home).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        text += &format!("$ couplet {}\n{}", command.replace("URL", USUAL), said.replace(&demo.url, USUAL));
    }
    let text = text.replace(home.file("").trim_end_matches('/'), "~");
    let server = if text.contains(USUAL) { "With `couplet demo` running:" } else { "For example:" };
    format!("\n{server}\n\n```console\n{}\n```\n", text.trim_end())
}

fn in_home<'a>(command: &'a mut Command, home: &Folder) -> &'a mut Command {
    command
        .current_dir(home.path())
        .env("HOME", home.path())
        .env("USER", "ada")
        .env("XDG_CONFIG_HOME", home.file(".config"))
        .env("XDG_STATE_HOME", home.file(".state"))
}

#[test]
fn packages_get_man_pages_and_scripts() {
    let folder = Folder::new("man");
    let output = couplet().args(["manual", &folder.file("")]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let man = list(Path::new(&folder.file("man/man1")));
    for page in ["couplet.1", "couplet-call.1", "couplet-gateway-pins-approve.1"] {
        assert!(man.iter().any(|name| name == page), "{page}: {man:?}");
    }
    assert!(!man.iter().any(|name| name.contains("manual") || name.contains("__")), "{man:?}");
    let mut scripts = list(Path::new(&folder.file("completions")));
    scripts.sort();
    assert_eq!(scripts, ["_couplet", "_couplet.ps1", "couplet.bash", "couplet.elv", "couplet.fish"]);
    let page = fs::read_to_string(folder.file("man/man1/couplet-call.1")).unwrap();
    for part in [".SH NAME\ncouplet\\-call \\- Call a tool", ".SH SYNOPSIS", ".SH EXAMPLES\n.nf\n", ".SH CONNECTION"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    let printed = plain(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(printed.lines().count(), man.len() + scripts.len());
}

#[test]
fn topics() {
    let topics = couplet().args(["help", "help"]).output().unwrap();
    let help = String::from_utf8(topics.stdout).unwrap();
    let names: Vec<&str> = help
        .split_once("Topics:\n")
        .unwrap()
        .1
        .lines()
        .filter_map(|line| line.strip_prefix("  couplet help ")?.split(' ').next())
        .collect();
    assert!(names.len() > 8, "{names:?}");
    let commands: Vec<[&str; 2]> = names.iter().map(|name| ["help", *name]).collect();
    let mut commands: Vec<&[&str]> = commands.iter().map(|words| &words[..]).collect();
    commands.extend([&["help", "ping"][..], &["help", "gateway", "trust"], &["help", "revision"], &["help", "xyz"]]);
    check("topics", &commands);
}
