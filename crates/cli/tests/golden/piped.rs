//! Every command in a pipe.

use crate::kit::{Folder, check, couplet, golden, run, run_with, shop, show};

#[test]
fn help() {
    check("help", &[&["--help"], &["call", "--help"], &["frobnicate"], &["call", "--json"]]);
}

#[test]
fn list() {
    let shop = &*shop();
    check(
        "list",
        &[
            &["list", shop],
            &["list", shop, "prompts"],
            &["list", shop, "forecast"],
            &["list", shop, "greet"],
            &["list", shop, "forcast"],
            &["list", shop, "prompts", "--json", "--revision", "2025-06-18"],
            &["list", shop, "add", "--json"],
        ],
    );
}

#[test]
fn the_list_is_the_same_in_every_revision() {
    let shop = shop();
    let lists: Vec<String> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
        .iter()
        .map(|revision| {
            let args = ["list", &shop, "--revision", revision];
            let text = run(&args);
            assert!(text.contains(&format!("shop 1.2.3 · {revision} · shop")), "{text}");
            text.replace(revision, "DATE")
        })
        .collect();
    assert!(lists.windows(2).all(|pair| pair[0] == pair[1]), "{lists:#?}");
}

#[test]
fn call() {
    let shop = &*shop();
    check(
        "call",
        &[
            &["call", shop, "add", "a=1", "b=2.5"],
            &["call", shop, "add", "a=1", "b=2", "--json"],
            &["call", shop, "forecast", "city=Oslo", "days=2", "unit=F"],
            &["call", shop, "forecast", "city=Oslo", "--json"],
            &["call", shop, "search", "tags=red", "tags=ripe", "price.to=3", "exact=yes"],
            &["call", shop, "search", "tags:=[\"a\"]", "price:={\"from\":1,\"to\":2}"],
            &["call", shop, "picture"],
            &["call", shop, "links"],
            &["call", shop, "chatter"],
            &["call", shop, "chatter", "--log", "debug"],
            &["call", shop, "bake"],
            &["call", shop, "bake", "--revision", "2025-11-25"],
            &["call", shop, "fail"],
            &["call", shop, "fail", "--json"],
        ],
    );
}

#[test]
fn wrong_arguments() {
    let shop = &*shop();
    check(
        "wrong-arguments",
        &[
            &["call", shop, "ad", "a=1"],
            &["call", shop, "nothing"],
            &["call", shop, "add", "a=1"],
            &["call", shop, "add", "a=one", "b=2"],
            &["call", shop, "add", "a=1", "b=2", "aa=3"],
            &["call", shop, "add", "1", "2"],
            &["call", shop, "forecast", "city=Oslo", "unit=K"],
            &["call", shop, "forecast", "city=Oslo", "unit=K", "--json"],
            &["call", shop, "picture", "x=1"],
            &["read", shop, "shop://meny"],
            &["read", shop, "shop://item/x"],
            &["read", shop, "nothing"],
            &["prompt", shop, "greet"],
            &["prompt", shop, "greet", "nam=Ada"],
            &["prompt", shop, "great"],
        ],
    );
}

#[test]
fn arguments_from_files_and_standard_input() {
    let (shop, folder) = (shop(), Folder::new("arguments"));
    let file = folder.file("args.json");
    std::fs::write(&file, r#"{ "a": 1, "b": 2 }"#).unwrap();
    let at_file = format!("@{file}");
    let text = [
        run(&["call", &shop, "add", &at_file]),
        run(&["call", &shop, "add", &at_file, "b=10"]),
        run_with(&["call", &shop, "add", "@-"], r#"{"a": 3, "b": 4}"#),
        run_with(&["call", &shop, "add", "@-"], "[1, 2]"),
    ];
    golden("files", &text.join("\n").replace(&file, "args.json"));
}

#[test]
fn read() {
    let shop = &*shop();
    check(
        "read",
        &[
            &["read", shop, "shop://menu"],
            &["read", shop, "menu"],
            &["read", shop, "shop://item/3"],
            &["read", shop, "shop://item/{id}", "id=7"],
            &["read", shop, "shop://item/{id}"],
            &["read", shop, "shop://menu", "--json"],
        ],
    );
    let logo = couplet().args(["read", shop, "shop://logo"]).output().unwrap();
    assert!(logo.stdout.starts_with(b"\x89PNG\r\n"), "bytes go through a pipe as they are");
}

#[test]
fn images_are_saved_to_the_given_file() {
    let (shop, folder) = (shop(), Folder::new("pictures"));
    let file = folder.file("out.png");
    let args = ["call", &shop, "picture", "--output", &file];
    assert_eq!(run(&args).lines().nth(1), Some(&*file));
    assert!(std::fs::read(&file).unwrap().starts_with(b"\x89PNG"));
    let again = run(&args);
    assert!(again.contains("cannot be written") && again.ends_with("[exit 8]\n"), "nothing is replaced: {again}");
}

#[test]
fn prompt() {
    let shop = &*shop();
    check(
        "prompt",
        &[
            &["prompt", shop, "greet", "name=Ada", "tone=warmly"],
            &["prompt", shop, "wait"],
            &["prompt", shop, "greet", "name=Ada", "--json", "--revision", "2025-06-18"],
        ],
    );
}

#[test]
fn complete() {
    let shop = &*shop();
    check(
        "complete",
        &[
            &["complete", shop, "greet", "name=A"],
            &["complete", shop, "shop://item/{id}", "id=1"],
            &["complete", shop, "greet", "name=Z"],
            &["complete", shop, "greet", "name=G", "--json"],
        ],
    );
}

#[test]
fn ping_and_discover() {
    let shop = &*shop();
    let one_revision = format!("{shop} 2025-06-18 2024-11-05");
    check(
        "discover",
        &[
            &["ping", shop],
            &["ping", shop, "--revision", "2025-11-25", "-n", "2"],
            &["discover", shop],
            &["discover", &one_revision],
            &["discover", &one_revision, "--all-revisions"],
            &["discover", &one_revision, "--all-revisions", "--json"],
        ],
    );
}

#[test]
fn listen() {
    let shop = &*shop();
    // Changes by another client are tested over HTTP, in `bridge.rs`.
    check("listen", &[&["listen", shop, "-n", "0"], &["listen", shop, "shop://menu", "shop://nothing", "-n", "0"]]);
}

#[test]
fn questions_without_a_terminal() {
    let shop = &*shop();
    let answers = ["--answer", "what=tea", "--answer", "size=Large", "--answer", "count=2"];
    let answered = [&["call", shop, "order"][..], &answers].concat();
    let older = [&["call", shop, "order", "--revision", "2025-06-18"][..], &answers].concat();
    check(
        "questions",
        &[
            &["call", shop, "order"],
            &["call", shop, "order", "--revision", "2025-06-18"],
            &["call", shop, "order", "--json"],
            &answered,
            &older,
            &["call", shop, "order", "--answer", "what=tea"],
            &["call", shop, "order", "--answer", "count=99"],
            &["call", shop, "pay"],
            &["call", shop, "poem", "about=rust"],
            &["call", shop, "poem", "about=rust", "--revision", "2025-06-18"],
            &["call", shop, "poem", "about=rust", "--sample", "Crabs do not rust."],
        ],
    );
}

#[test]
fn what_a_server_says_goes_through_a_pipe_as_it_is() {
    let shop = shop();
    let output = couplet().args(["call", &shop, "trick"]).output().unwrap();
    assert_eq!(output.stdout, "\u{1b}]0;gotcha\u{7}\u{1b}[2Jnot\u{202e} red\r\nend\n".as_bytes());
}

#[test]
fn colours_can_be_forced_and_forbidden() {
    let shop = shop();
    let args = ["list", &shop, "prompts"];
    let is_painted = |output: std::process::Output| output.stdout.contains(&0x1b);
    assert!(!is_painted(couplet().args(args).output().unwrap()));
    assert!(is_painted(couplet().args(args).env("CLICOLOR_FORCE", "1").output().unwrap()));
    assert!(is_painted(couplet().args(args).arg("--color=always").env("NO_COLOR", "1").output().unwrap()));
    assert!(!is_painted(couplet().args(args).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap()));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let shop = shop();
    let mut child = couplet()
        .args(["list", &shop])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_repl_takes_commands_from_a_pipe() {
    let shop = shop();
    let lines = "add a=1 b=2\nhire name=bob\nbob\nlist prompts\nread shop://menu\nad a=1\nhelp\nquit\n";
    let folder = Folder::new("repl");
    let mut command = couplet();
    command.env("XDG_STATE_HOME", folder.file("state")).stdin(std::process::Stdio::piped());
    let mut child = command
        .args(["repl", &shop])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    golden("repl", &show(&["repl", &shop], &child.wait_with_output().unwrap()));
}

#[test]
fn completions() {
    // In `completion.rs` they are used.
    for (shell, word) in [
        ("bash", "__complete bash"),
        ("zsh", "__complete zsh"),
        ("fish", "__complete fish"),
        ("powershell", "discover"),
        ("elvish", "discover"),
    ] {
        let output = couplet().args(["completions", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains(word), "{shell}: {script}");
    }
}
