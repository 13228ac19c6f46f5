//! Servers that violate the protocol, and unusual arguments.

use std::fs;

use crate::{
    bridge::Served,
    kit::{Folder, check, couplet, golden, odd, run, shop},
};

#[test]
fn one_list_that_fails_does_not_hide_the_others() {
    let odd = &*odd();
    check(
        "odd-list",
        &[
            &["list", odd],
            &["list", odd, "--json"],
            &["list", odd, "resources"],
            &["list", odd, "nested"],
            &["read", odd, "a:b"],
        ],
    );
}

#[test]
fn calls_of_odd_tools() {
    let odd = &*odd();
    check(
        "odd-call",
        &[
            &["call", odd, "any", "x=1", "name=Ada"],
            &["call", odd, "hologram"],
            &["call", odd, "hologram", "--json"],
            &["call", odd, "modern"],
            &["call", odd, "modern", "--json"],
            &["call", odd, "nested", "place=foo"],
            &["call", odd, "nested", "more=foo"],
            &["call", odd, "nested", "sizes=1,2,3"],
            &["call", odd, "nested", "place.x=1", "points=[{\"x\":2}]", "sizes=1", "sizes=2"],
        ],
    );
}

#[test]
fn time_for_the_whole_command() {
    let silent = format!("{} silent", shop());
    check(
        "max-time",
        &[&["list", &silent, "--timeout", "0", "--max-time", "0.2"], &["ping", &silent, "--max-time", "x"]],
    );
}

#[test]
fn variables_and_headers_have_short_names() {
    let shop = shop();
    let output =
        couplet().args(["list", &shop, "prompts", "-e", "A=1", "-e", "PASSED_ON"]).env("PASSED_ON", "x").output();
    assert!(output.unwrap().status.success());
    check(
        "short",
        &[
            &["list", &shop, "-e", "COUPLET_NOT_SET"],
            &["list", &shop, "-H", "A: 1"],
            &["list", "localhost:1/mcp"],
            &["list", "127.0.0.1:1/mcp"],
            &["call", &shop, "add", "a=1", "b=@@2"],
        ],
    );
}

#[test]
fn attack_07_a_message_that_is_too_large_is_told_at_once() {
    let shop = shop();
    for args in [
        &["list", &shop, "--max-message", "1K"][..],
        &["call", &shop, "add", "a=1", &format!("b:={}", "1".repeat(20_000)), "--max-message", "16K"],
    ] {
        let text = run(args);
        assert!(text.contains("; a message may have ") && text.contains("with --max-message 64M"), "{text}");
    }
}

#[test]
fn attack_12_a_host_that_is_not_served_is_no_login() {
    let shop = shop();
    let served = Served::start(&["run", &shop, "--http", "127.0.0.1:0"]);
    let proxy = served.url.trim_end_matches("/mcp");
    // The server is its own proxy, and sees the name of another.
    let mut command = couplet();
    command.args(["list", "http://mcp.example.test/mcp"]).env("HTTP_PROXY", proxy);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("403") && said.contains("--allow-host") && !said.contains("couplet login"), "{said}");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn files_are_targets() {
    let (shop, folder) = (shop(), Folder::new("files"));
    let file = folder.file("mcp.json");
    let servers = serde_json::json!({ "mcpServers": { "shop": { "command": shop, "args": ["2025-06-18"] } } });
    fs::write(&file, servers.to_string()).unwrap();
    let missing = folder.file("missing.json");
    let text = [
        run(&["list", &file, "prompts"]),
        run(&["ping", &format!("{file}:shop")]),
        run(&["ping", &format!("{file}:shoo")]),
        run(&["ping", &missing]),
    ];
    golden("file-targets", &text.join("\n").replace(&folder.file(""), ""));
}

#[test]
fn a_folder_for_pictures_is_made() {
    let (shop, folder) = (shop(), Folder::new("newdir"));
    let new = folder.file("new/");
    let text = run(&["call", &shop, "picture", "-o", &new]);
    assert!(text.contains("new/picture-1.png") && text.ends_with("[exit 0]\n"), "{text}");
    assert!(fs::read(folder.file("new/picture-1.png")).unwrap().starts_with(b"\x89PNG"));
}
