//! `lint`, `pack` and `publish-check`.

use std::fs;

use crate::kit::{Folder, check, couplet, golden, run, shop, show};

#[test]
fn lint() {
    let shop = &*shop();
    let old = format!("{shop} 2024-11-05");
    let dies = format!("{shop} dies");
    check(
        "lint",
        &[
            &["lint", shop],
            &["lint", shop, "--least", "warning", "--fail-on", "warning"],
            &["lint", shop, "--without", "text,schemas", "--least", "error"],
            &["lint", &old, "--least", "warning", "--json"],
            &["lint", shop, "--without", "schema"],
            &["lint", &dies],
            &["lint"],
        ],
    );
    let rules = run(&["lint", "--rules"]);
    assert!(rules.contains("name-dots") && rules.ends_with("[exit 0]\n"), "{rules}");
}

#[test]
fn bundles() {
    let folder = Folder::new("bundle");
    let in_folder = |args: &[&str]| {
        let output = couplet().args(args).current_dir(folder.file("")).output().unwrap();
        let text = show(args, &output).replace(folder.file("").trim_end_matches('/'), "FOLDER");
        let is_digest = |line: &&str| line.trim_start().starts_with("sha256: ");
        text.lines().map(|line| if is_digest(&line) { "  sha256: DIGEST" } else { line }).collect::<Vec<_>>().join("\n")
            + "\n"
    };
    let manifest = r#"
[package]
name = "shop"
version = "1.2.3"
edition = "2024"
description = "Sells things."
authors = ["Ada"]
repository = "https://github.com/example/shop"
"#;
    fs::write(folder.file("Cargo.toml"), manifest).unwrap();
    let shop = shop();
    // A program that is the same everywhere.
    fs::write(folder.file("server"), "\u{7f}ELF\u{2}\u{1}\u{1}").unwrap();
    let text = [
        in_folder(&["pack"]),
        in_folder(&["pack", "missing"]),
        in_folder(&["pack", "--binary", "server", "--ask", &shop]),
        in_folder(&["pack", "--binary", "server", "--output", "other.mcpb", "--dry-run"]),
        in_folder(&["publish-check"]),
        in_folder(&["publish-check", "--write"]),
        in_folder(&["publish-check"]),
    ];
    golden("bundle", &text.join("\n"));
}
