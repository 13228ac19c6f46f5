//! More commands on a terminal; prompts and progress bars are in `terminal.rs`.
#![cfg(unix)]

use std::fs;

use crate::{
    kit::{Folder, golden, shop},
    terminal::Terminal,
};

#[test]
fn commands_without_questions() {
    let (shop, folder) = (&*shop(), Folder::new("screens"));
    let (good, log, manifest) = (folder.file("good.json"), folder.file("log.jsonl"), folder.file("manifest.json"));
    fs::write(&good, r#"{ "jsonrpc": "2.0", "id": 1, "method": "ping" }"#).unwrap();
    let line = |direction: &str, message: &str| {
        format!(
            "{{\"time\":\"2026-07-28T12:00:00Z\",\"direction\":\"{direction}\",\"session\":\"s\",\"message\":{message}}}\n"
        )
    };
    let meta =
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let ask = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"add","arguments":{{"a":1,"b":2}},"_meta":{meta}}}}}"#
    );
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"4"}]}}"#;
    fs::write(&log, line("client-to-server", &ask) + &line("server-to-client", answer)).unwrap();
    fs::write(&manifest, "{}").unwrap();
    let dies = format!("{shop} dies");
    let folder_name = folder.file("");
    let commands: [&[&str]; 14] = [
        &["complete", shop, "greet", "name=A"],
        &["ping", shop],
        &["listen", shop, "-n", "0"],
        &["lint", shop, "--least", "warning", "--without", "descriptions"],
        &["pack", &folder_name],
        &["publish-check", &folder_name],
        &["schema", "--revision", "2025-06-18", "--type", "Role"],
        &["rdf", &good],
        &["replay", &log, "--to", shop],
        &["run", &dies],
        &["tap", "--log", &folder.file("tap.jsonl"), "--", "there-is-no-such-program"],
        &["logout", "http://127.0.0.1:1/mcp"],
        &["sync", "--from", "cursr", "--host", "codex"],
        &["list", "there-is-no-such-server"],
    ];
    let screens = commands.map(|args| {
        let screen = Terminal::start_with(args, &[]).end();
        format!("== {}\n{screen}", args[0])
    });
    golden("terminal-more", &screens.join("\n").replace(folder_name.trim_end_matches('/'), "FOLDER"));
}

#[test]
fn the_demo_is_there_until_it_is_interrupted() {
    let mut terminal = Terminal::start_with(&["demo", "--http", "127.0.0.1:0"], &[("RUST_LOG", "warn")]);
    terminal.wait_for("Press Ctrl-C to stop.");
    terminal.press("\u{3}");
    golden("terminal-demo", &terminal.end());
}

#[test]
fn scripts_for_shells_are_for_files_and_terminals_alike() {
    let screen = Terminal::start_with(&["completions", "fish"], &[]).end();
    assert!(screen.contains("complete -c couplet") && screen.ends_with("[exit 0]\n"), "{screen}");
}

#[test]
fn a_failed_test_has_a_coloured_difference() {
    let folder = Folder::new("coloured");
    let text = format!(
        "target = \"{}\"\n[[call]]\ntool = \"add\"\narguments = {{ a = 1, b = 2 }}\nexpect.text = \"4\"\n\
         [[call]]\ntool = \"trick\"\nexpect.text = \"plain\"\n",
        shop()
    );
    fs::write(folder.file("shop.toml"), text).unwrap();
    let screen = Terminal::start_with(&["test", &folder.file("shop.toml")], &[]).end();
    golden("terminal-test", &screen.replace(folder.file("").trim_end_matches('/'), "FOLDER"));
}
