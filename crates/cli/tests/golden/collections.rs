//! `couplet test`: collections of calls.

use std::fs;

use crate::{
    bridge::Demo,
    kit::{Folder, couplet, golden, plain, shop, show},
};

/// Calls that pass in all revisions, with every kind of request and answer.
const GOOD: &str = r#"
target = "SHOP"
timeout = 30

[[call]]
name = "adds two numbers"
tool = "add"
arguments = { a = 1, b = 2 }
expect.text = "3"
save.sum = { pointer = "/content/0/text", capture = '(\d+)' }

[[call]]
name = "adds to the sum"
tool = "forecast"
arguments = { city = "No. ${sum}", days = 2 }
[call.expect]
text = { contains = ["No. 3", "grey"] }
pointer."/content/0/text" = { json = { "/city" = "No. ${sum}", "/high" = { min = 11, max = 13 } } }
snapshot = true

[[call]]
name = "structured"
tool = "forecast"
arguments = { city = "Oslo" }
revisions = ["2025-06-18", "2025-11-25", "2026-07-28"]
expect.pointer."/structuredContent" = { schema = { required = ["city", "sky"], properties.high.type = "number" } }

[[call]]
resource = "shop://item/${sum}"
expect.text = "item 3"

[[call]]
prompt = "greet"
arguments = { name = "Ada" }
expect.pointer."/messages/0" = { equals = { role = "user", content = { type = "text", text = "Greet Ada, politely." } } }

[[call]]
method = "tools/list"
expect.pointer."/tools" = { length = 15, type = "array" }

[[call]]
name = "a failing tool"
tool = "fail"
expect.error.contains = "the till is"

[[call]]
name = "an unknown tool"
tool = "there-is-none"
expect.error = true

[[call]]
name = "takes an order"
tool = "order"
revisions = ["2025-06-18", "2025-11-25", "2026-07-28"]
answers = [{ content = { what = "tea", size = "Large", count = 2 }, message = "Your order" }]
expect.text = "2 large tea"

[[call]]
name = "asks a model"
tool = "poem"
arguments = { about = "rust" }
answers = [{ text = "Crabs." }]
expect.text = { matches = '^“Crabs\.”' }

[[call]]
name = "pays"
tool = "pay"
revisions = ["2025-11-25", "2026-07-28"]
answers = [{ action = "decline" }]
expect.text = "not paid"

[[call]]
name = "a task"
tool = "bake"
expect = { text = "bread", max_ms = 30000 }
"#;

/// Calls that fail in every way.
const BAD: &str = r#"
target = "SHOP"

[[call]]
name = "wrong text"
tool = "add"
arguments = { a = 1, b = 2 }
expect.text = "4"

[[call]]
name = "wrong value"
tool = "forecast"
arguments = { city = "Oslo" }
save.nothing = "/nothing"
[call.expect.pointer]
"/structuredContent" = { equals = { city = "Oslo", sky = "blue", high = 13 } }
"/structuredContent/high" = { max = 10 }
"/structuredContent/low" = 3

[[call]]
name = "no value"
tool = "add"
arguments = { a = "${nothing}", b = 1 }

[[call]]
name = "fails"
tool = "fail"

[[call]]
name = "does not fail"
tool = "add"
arguments = { a = 1, b = 1 }
expect.error = true

[[call]]
name = "no answer"
tool = "order"

[[call]]
name = "an answer too many"
tool = "add"
arguments = { a = 1, b = 1 }
answers = [{ text = "x" }]

[[call]]
name = "no snapshot"
resource = "shop://menu"
expect = { snapshot = true }

[[call]]
name = "too slow"
tool = "slow"
arguments = { until = "/there/is/no/such/file" }
timeout = 0.2

[[call]]
name = "not now"
tool = "add"
revisions = ["2024-11-05"]
"#;

/// Runs the command in a folder with collections.
fn run(folder: &Folder, args: &[&str]) -> String {
    let output = couplet().args(args).current_dir(folder.path()).output().unwrap();
    let text = show(args, &output).replace(folder.file("").trim_end_matches('/'), "FOLDER");
    without_milliseconds(&text)
}

fn write(folder: &Folder, name: &str, text: &str) {
    fs::write(folder.file(name), text.replace("SHOP", &shop())).unwrap();
}

#[test]
fn collections_pass_and_fail() {
    let folder = Folder::new("collections");
    write(&folder, "good.toml", GOOD);
    write(&folder, "bad.toml", BAD);
    let text = [
        run(&folder, &["test", "good.toml", "--update"]),
        run(&folder, &["test", "good.toml", "--revision", "all", "--update"]),
        run(&folder, &["test", "good.toml", "--filter", "item"]),
        run(&folder, &["test", "bad.toml", "--junit", "out/report.xml"]),
        run(&folder, &["test", "good.toml", "--filter", "adds two", "--json"]),
        run(&folder, &["test", "bad.toml", "--filter", "wrong text", "--json"]),
    ];
    golden("test", &text.join("\n"));
    let report = fs::read_to_string(folder.file("out/report.xml")).unwrap();
    let is_time = |line: &str| line.contains(" time=\"");
    let masked: Vec<String> =
        report.lines().map(|line| if is_time(line) { without_time(line) } else { line.into() }).collect();
    golden("test-junit", &(plain(&masked.join("\n")) + "\n"));
    // What was written is what is expected.
    let again = run(&folder, &["test", "good.toml", "--revision", "all"]);
    assert!(again.ends_with("[exit 0]\n") && !again.contains("written"), "{again}");
    // A changed result is shown as a difference.
    let snapshot = folder.file("good.snapshots/adds-to-the-sum.json");
    let stored = fs::read_to_string(&snapshot).unwrap();
    fs::write(&snapshot, stored.replace("grey", "blue")).unwrap();
    golden("test-snapshot", &run(&folder, &["test", "good.toml", "--filter", "adds to the sum"]));
}

/// Masks the times of JSON Lines.
fn without_milliseconds(text: &str) -> String {
    let mut parts = text.split("\"ms\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| format!("{text}\"ms\":N{}", part.trim_start_matches(|c: char| c.is_ascii_digit())))
}

/// Masks the seconds of an element.
fn without_time(line: &str) -> String {
    let (before, after) = line.split_once(" time=\"").unwrap();
    let (_, after) = after.split_once('"').unwrap();
    format!("{before} time=\"N\"{after}")
}

#[test]
fn invalid_collections_are_explained() {
    let folder = Folder::new("invalid-collections");
    let call = "[[call]]\ntool = 'add'\narguments = { a = 1, b = 2 }\n";
    for (name, text) in [
        ("key.toml", format!("{call}expect.tekst = '3'\n")),
        ("toml.toml", format!("{call}expect = \n")),
        ("value.toml", "[[call]]\ntool = 'add'\narguments.a = '${token}'\n".to_owned()),
        ("target.toml", call.to_owned()),
        ("gone.toml", format!("target = '/there/is/no/such/program'\n{call}")),
        ("url.toml", format!("target = 'SHOP'\nheaders = {{ A = 'b' }}\n{call}")),
        ("env.toml", format!("target = 'SHOP'\nenv = {{ A = '${{env:COUPLET_UNSET}}' }}\n{call}")),
        ("dies.toml", format!("target = 'SHOP dies'\n{call}")),
    ] {
        write(&folder, name, &text);
    }
    let text = [
        run(&folder, &["test", "key.toml"]),
        run(&folder, &["test", "key.toml", "--json"]),
        run(&folder, &["test", "toml.toml"]),
        run(&folder, &["test", "value.toml"]),
        run(&folder, &["test", "target.toml"]),
        run(&folder, &["test", "target.toml", "--target", &shop()]),
        run(&folder, &["test", "gone.toml", "target.toml"]),
        run(&folder, &["test", "url.toml"]),
        run(&folder, &["test", "env.toml"]),
        run(&folder, &["test", "dies.toml"]),
        run(&folder, &["test", "missing.toml"]),
        run(&folder, &["test", "target.toml", "--filter", "x"]),
        run(&folder, &["test", "target.toml", "--revision", "2026"]),
    ];
    golden("test-invalid", &text.join("\n"));
}

#[test]
fn the_example_of_the_everything_server_passes() {
    let demo = Demo::start();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../servers/everything/tests/collection.toml");
    let args = ["test", file, "--target", &demo.url];
    let output = couplet().args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        assert!(text.contains(&format!(" · {revision}\n")), "{revision}: {text}");
    }
}
