//! `couplet new`: what is written, and what is said about it. That it builds is for `cargo xtask ci new`.

use std::fs;

use crate::kit::{Folder, couplet, golden, show};

#[test]
fn a_server_is_written() {
    let folder = Folder::new("new");
    let run = |args: &[&str]| {
        show(args, &couplet().current_dir(folder.path()).env("USER", "ada").args(args).output().unwrap())
    };
    fs::write(folder.file("file"), "").unwrap();
    fs::create_dir(folder.file("empty")).unwrap();
    let text = [
        run(&["new", "notes"]),
        run(&["new", "notes"]),
        run(&["new", "empty", "--json"]),
        run(&["new", "file"]),
        run(&["new", "My Server"]),
        run(&["new", "fn"]),
        run(&["new", "."]),
        run(&["new", "other", "--path", "nowhere"]),
    ];
    let read = |file: &str| fs::read_to_string(folder.file(file)).unwrap();
    let manifest = read("notes/Cargo.toml").replace(env!("CARGO_PKG_VERSION"), "VERSION");
    golden("new", &format!("{}\n{manifest}", text.join("\n")));
    assert_eq!(read("notes/src/main.rs"), include_str!("../../template/main.rs"));
    assert!(!folder.path().join("other").exists(), "what cannot work is not begun");
    // What is written can be packed; here with a program that every system has.
    let packed = run(&["pack", "notes", "--binary", "/bin/sh", "--dry-run"]);
    assert!(packed.ends_with("[exit 0]\n"), "{packed}");
}

#[test]
fn what_is_there_stays() {
    let folder = Folder::new("new-stays");
    fs::create_dir(folder.file("notes")).unwrap();
    fs::write(folder.file("notes/Cargo.toml"), "mine").unwrap();
    let output = couplet().current_dir(folder.path()).args(["new", "notes"]).output().unwrap();
    assert_eq!(output.status.code(), Some(8));
    assert_eq!(fs::read_to_string(folder.file("notes/Cargo.toml")).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder.file("notes")).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn on_a_terminal() {
    let folder = Folder::new("new-terminal");
    let mut terminal = crate::terminal::Terminal::start_in(folder.path(), &["new", "notes"], &[]);
    golden("terminal-new", &terminal.end());
}
