//! `couplet run` and `couplet demo`: servers served somewhere else.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStderr, Stdio},
};

use crate::kit::{Folder, check, couplet, golden, plain, run, shop};

/// A program that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A command that serves over HTTP.
pub(crate) struct Served {
    pub(crate) url: String,
    _errors: BufReader<ChildStderr>,
    _child: Running,
}

impl Served {
    /// It says on standard error where it serves.
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = couplet().args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        let url = loop {
            line.clear();
            assert!(errors.read_line(&mut line).unwrap() > 0, "it ended before it served");
            if let Some(url) = line.trim().strip_prefix("serving at ") {
                break url.to_owned();
            }
        };
        Self { url, _errors: errors, _child: Running(child) }
    }
}

/// The demo, which ends with this.
pub(crate) struct Demo {
    pub(crate) url: String,
    _child: Running,
}

impl Demo {
    /// It says on standard output where it serves.
    pub(crate) fn start() -> Self {
        let demo = couplet().args(["demo", "--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn();
        let mut child = Running(demo.unwrap());
        let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        // The rest of the page needs a reader.
        lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("Press Ctrl-C")).unwrap();
        Self { url: first.strip_prefix("Serving at ").unwrap().to_owned(), _child: child }
    }
}

#[test]
fn a_stdio_server_over_http_in_every_revision() {
    let shop = shop();
    let served = Served::start(&["run", &shop, "--http", "127.0.0.1:0"]);
    let url = served.url.as_str();
    let answers = ["--answer", "what=tea", "--answer", "size=Large", "--answer", "count=2"];
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let sum = run(&["call", url, "add", "a=1", "b=2", "--revision", revision]);
        assert!(sum.ends_with("\n3\n[exit 0]\n"), "{revision}: {sum}");
        if revision == "2025-03-26" {
            continue;
        }
        let order = run(&[&["call", url, "order", "--revision", revision][..], &answers].concat());
        assert!(order.contains("\n2 large tea\n"), "{revision}: {order}");
    }
}

#[test]
fn old_servers_are_served_in_new_revisions_and_the_other_way_round() {
    let shop = shop();
    for (near, far) in [("2026-07-28", "2024-11-05"), ("2024-11-05", "2026-07-28"), ("2025-06-18", "2025-11-25")] {
        let bridge = format!("{} run '{shop} {far}'", env!("CARGO_BIN_EXE_couplet"));
        let text = run(&["list", &bridge, "--revision", near]);
        assert!(text.contains(&format!("shop 1.2.3 · {near} · ")) && text.contains("forecast("), "{text}");
        let sum = run(&["call", &bridge, "add", "a=1", "b=2", "--revision", near]);
        assert!(sum.contains("\n3\n"), "{near} over {far}: {sum}");
    }
}

#[test]
fn a_remote_server_over_stdio() {
    let shop = shop();
    let served = Served::start(&["run", &shop, "--http", "127.0.0.1:0"]);
    let bridge = format!("{} run {}", env!("CARGO_BIN_EXE_couplet"), served.url);
    check("bridge", &[&["list", &bridge, "prompts"], &["prompt", &bridge, "greet", "name=Ada"]]);
}

#[test]
fn changes_are_heard() {
    let shop = shop();
    let served = Served::start(&["run", &shop, "--http", "127.0.0.1:0"]);
    let url = served.url.as_str();
    for revision in ["2025-06-18", "2026-07-28"] {
        let mut listener = couplet()
            .args(["listen", url, "shop://menu", "-n", "2", "--revision", revision])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(listener.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert_eq!(line, "listening for changes of tools, prompts, resources, shop://menu\n");
        let mut output = BufReader::new(listener.stdout.take().unwrap());
        let mut heard = String::new();
        run(&["call", url, "restock"]);
        output.read_line(&mut heard).unwrap();
        run(&["call", url, "hire", &format!("name=bob{}", &revision[..4])]);
        output.read_line(&mut heard).unwrap();
        assert_eq!(heard, "updated shop://menu\nthe list of tools changed\n", "{revision}");
        assert!(listener.wait().unwrap().success());
    }
}

/// A server that does not know `subscriptions/listen` can be served, and `listen` says what it does not offer.
#[test]
fn attack_10_a_server_that_notifies_of_nothing() {
    let quiet = format!("{} quiet", shop());
    let bridge = format!("{} run '{quiet}'", env!("CARGO_BIN_EXE_couplet"));
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let tea = run(&["call", &bridge, "tea", "--revision", revision]);
        assert!(tea.contains("tea is ready") && tea.ends_with("[exit 0]\n"), "{revision}: {tea}");
    }
    check("listen-quiet", &[&["listen", &quiet]]);
}

/// A server that keeps sessions and asks is served to clients that keep none.
#[test]
fn attack_10_a_server_that_keeps_sessions_asks_clients_that_keep_none() {
    let once = format!("{} 2025-11-25", shop());
    let served = Served::start(&["run", &once, "--http", "127.0.0.1:0"]);
    let url = served.url.as_str();
    let answers = ["--answer", "what=tea", "--answer", "size=Large", "--answer", "count=2"];
    for revision in ["2025-11-25", "2026-07-28"] {
        let order = run(&[&["call", url, "order", "--revision", revision][..], &answers].concat());
        assert!(order.contains("\n2 large tea\n"), "{revision}: {order}");
    }
}

#[test]
fn a_bridge_ends_with_its_server() {
    let shop = shop();
    let dies = format!("{shop} dies");
    golden("bridge-dies", &run(&["run", &dies]));
}

#[test]
fn the_demo_says_what_to_try() {
    let mut demo = Running(couplet().args(["demo", "--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines();
    let mut page = String::new();
    for line in lines.by_ref() {
        let line = line.unwrap();
        page.push_str(&format!("{line}\n"));
        if line.starts_with("Press Ctrl-C") {
            break;
        }
    }
    // What it says can be tried as it stands.
    let tries: Vec<Vec<String>> = page
        .lines()
        .filter(|line| line.starts_with("  ") && line.contains(" http://"))
        .map(|line| shlex::split(line).unwrap())
        .collect();
    assert_eq!(tries.len(), 3, "{page}");
    let mut text = plain(&page);
    for words in &tries {
        let mut args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        if args.contains(&"trigger-elicitation-request") {
            args.extend(["--answer", "name=Ada"]);
        }
        text.push_str(&format!("\n{}", run(&args)));
    }
    golden("demo", &text);
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let block = readme.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let mut demo = Running(couplet().args(["demo", "--http", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap());
    let mut first = String::new();
    BufReader::new(demo.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let url = first.trim().rsplit(' ').next().unwrap();
    let mut shown = String::new();
    for line in block.lines().filter_map(|line| line.strip_prefix("$ couplet ")) {
        let words = shlex::split(&line.replace("http://127.0.0.1:7878/mcp", url)).unwrap();
        let output = couplet().args(words).output().unwrap();
        let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        shown.push_str(&format!("$ couplet {line}\n{out}{err}"));
    }
    assert_eq!(shown, block);
}

#[test]
fn a_folder_is_a_root() {
    let folder = Folder::new("root");
    let shop = shop();
    let text = run(&["ping", &shop, "--root", &folder.file("")]);
    assert!(text.contains("shop answered in"), "{text}");
    let text = run(&["ping", &shop, "--root", &folder.file("missing")]);
    assert!(text.contains("cannot be used as a root") && text.ends_with("[exit 8]\n"), "{text}");
}
