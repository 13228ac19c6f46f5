//! What the README says about the command works when it is copied, and its figures are those of the benchmark.

use std::fs;

use crate::{
    demo::Demo,
    kit::{Folder, couplet},
};

const README: &str = include_str!("../../../../README.md");
const BENCH: &str = include_str!("../../../../bench/README.md");

/// The blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    README.split(start.as_str()).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

/// A command on a terminal, and its output.
#[test]
fn transcripts_are_true() {
    let demo = Demo::start();
    let mut count = 0;
    for block in blocks("console") {
        for part in block.split("$ couplet ").skip(1) {
            let (command, expected) = part.split_once('\n').unwrap();
            let words = shlex::split(&command.replace("http://127.0.0.1:7878/mcp", &demo.url)).unwrap();
            let output = couplet().args(words).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{command}: {output:?}");
            count += 1;
        }
    }
    assert_eq!(count, 3);
}

/// Commands of a script in a directory beside a checkout. Those that build, and those that stay, are only parsed.
#[test]
fn scripts_can_be_copied() {
    let home = Folder::new("readme");
    std::os::unix::fs::symlink(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."), home.file("couplet")).unwrap();
    fs::create_dir(home.file("bin")).unwrap();
    fs::copy("/bin/true", home.file("bin/notes")).unwrap();
    let mut ran = Vec::new();
    for line in blocks("sh").concat().lines().filter(|line| line.starts_with("couplet ")) {
        let command = line.split(" #").next().unwrap();
        let words = shlex::split(command).unwrap();
        let words = &words[1..];
        if words[0] == "inspect" {
            assert!(couplet().args(["help", &words[0]]).output().unwrap().status.success(), "{line}");
            continue;
        }
        let path = format!("{}:{}", home.file("bin"), std::env::var("PATH").unwrap());
        let mut program = couplet();
        program.args(words).current_dir(home.path()).env("HOME", home.path()).env("PATH", path);
        let output = program.env("XDG_CONFIG_HOME", home.file(".config")).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        ran.push(words[0].clone());
    }
    assert_eq!(ran, ["new", "install"]);
    assert!(fs::read_to_string(home.file("notes/Cargo.toml")).unwrap().contains("crates/couplet"));
    assert!(fs::read_to_string(home.file(".cursor/mcp.json")).unwrap().contains("notes"));
}

/// Every command of the program is in the table of the README, and no other.
#[test]
fn the_commands_are_all_there() {
    let help = String::from_utf8(couplet().arg("--help").output().unwrap().stdout).unwrap();
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let commands: Vec<&str> = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(commands.len() > 30, "{commands:?}");
    let missing: Vec<_> = commands.iter().filter(|name| !README.contains(&format!("`{name}`"))).collect();
    // These are named in sentences.
    let missing: Vec<_> = missing.into_iter().filter(|name| !["demo", "completions", "help"].contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// The figures of the README are those of the last run of the benchmark.
#[test]
fn figures_are_measured() {
    for (row, table, column) in [
        ("a small call on stdio, 16 in flight: CPU µs", "stdio-2025 echo, 16 in flight:", 0),
        ("a small call over HTTP, 16 sessions: CPU µs", "http-2025 echo, 16 in flight:", 0),
        ("start to first answer: ms", "from start to first answer:", 0),
        ("memory then: KB", "from start to first answer:", 2),
    ] {
        let table = BENCH.split_once(table).unwrap_or_else(|| panic!("no table `{table}`")).1;
        let measured = ["**couplet**", "rmcp", "fastmcp"].map(|name| {
            let line = table.split_once(&format!("\n| {name} | ")).unwrap_or_else(|| panic!("no row `{name}`")).1;
            line.split(" | ").nth(column).unwrap()
        });
        let expected = format!("| {row} | {} |", measured.join(" | "));
        assert!(README.contains(&expected), "the README should say\n{expected}");
    }
}
