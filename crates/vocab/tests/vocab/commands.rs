//! The commands, on files.

use std::{fs, path::PathBuf};

use clap::Parser;
use couplet_vocab::cli::{self, Failure, Outcome, OutputFormat, RdfArgs, SchemaArgs, ValidateArgs};

#[derive(Clone, Debug, Parser)]
enum Program {
    Schema(SchemaArgs),
    Validate(ValidateArgs),
    Rdf(RdfArgs),
}

/// What a command gives, and what it writes.
fn run(arguments: &[&str]) -> (Result<Outcome, Failure>, String) {
    let program = Program::try_parse_from(["couplet"].iter().chain(arguments)).unwrap();
    let mut out = Vec::new();
    let outcome = match program {
        Program::Schema(args) => cli::schema(&args, &mut out),
        Program::Validate(args) => cli::validate(&args, &mut out),
        Program::Rdf(args) => cli::rdf(&args, &mut out),
    };
    (outcome, String::from_utf8(out).unwrap())
}

/// What a command says that cannot be done, with its hint.
#[track_caller]
fn failure(arguments: &[&str]) -> (Failure, String) {
    let failure = run(arguments).0.unwrap_err();
    let told = format!("{failure}; {}", failure.hint().unwrap_or_default());
    (failure, told)
}

/// A file with some text, for one test.
fn file(name: &str, text: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn schemas_are_printed() {
    let (outcome, out) = run(&["schema", "--revision", "2025-06-18", "--type", "Tool"]);
    assert!(outcome.unwrap().is_success);
    assert!(out.contains(r##""$ref": "#/definitions/Tool""##), "{out}");
    assert!(run(&["schema", "--list"]).1.lines().any(|l| l == "DiscoverRequest"));
    assert!(run(&["schema"]).1.contains("DiscoverRequest"));
}

#[test]
fn unknown_types_are_told_with_what_was_meant() {
    for (arguments, expected) in [
        (
            &["schema", "--revision", "2025-06-18", "--type", "Task"][..],
            "2025-06-18 has no type `Task`; it is defined in 2025-11-25",
        ),
        (&["schema", "--type", "tool"], "there is no type `tool`; did you mean `Tool`?"),
        (&["schema", "--type", "CallToolResutl"], "there is no type `CallToolResutl`; did you mean `CallToolResult`?"),
        (&["schema", "--type", "zzz"], "there is no type `zzz`; `couplet schema --list` lists the types"),
        (&["validate", "--type", "Toll", "x"], "there is no type `Toll`; did you mean `Tool`?"),
        (
            &["validate", "--revision", "2024-11-05", "--type", "Task", "x"],
            "2024-11-05 has no type `Task`; it is defined in 2025-11-25",
        ),
    ] {
        let (failure, told) = failure(arguments);
        assert_eq!(told, expected);
        assert!(failure.is_usage() && !failure.is_file() && !failure.is_closed());
    }
    let told = failure(&["schema", "--type", "CallTool"]).1;
    assert!(told.contains("`CallToolResult`") && told.contains("`CallToolRequest`"), "{told}");
}

#[test]
fn problems_are_printed_and_counted() {
    let call = file("call.json", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#);
    let (outcome, out) = run(&["validate", "--revision", "2025-06-18", &call]);
    let expected = format!(
        "{call}:1:64: /params/name: expected a string, found the number 5\n{call}: 1 problem in 2025-06-18 (1 checked)\n"
    );
    assert_eq!((outcome.unwrap().is_success, out), (false, expected));

    let discover = file("discover.json", r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
    let (_, out) = run(&["validate", "--revision", "2025-11-25", &discover]);
    assert!(out.contains("(valid in 2026-07-28)"), "{out}");

    let ping = file("ping.json", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let (outcome, out) = run(&["validate", &ping]);
    assert_eq!(
        (outcome.unwrap().is_success, out),
        (true, format!("{ping}: valid in 2025-11-25, which fits best (1 checked)\n"))
    );
    assert_eq!(run(&["validate", "-q", &ping]).1, "");

    // What may be of an extension may also be misspelt.
    let misspelt = r#"{"jsonrpc":"2.0","id":1,"method":"tools/cal"}"#;
    let known = r#"{"jsonrpc":"2.0","id":2,"method":"tasks/update","params":{}}"#;
    let (outcome, out) = run(&["validate", &file("misspelt.json", &format!("{misspelt}\n{known}\n"))]);
    assert!(outcome.unwrap().is_success);
    assert!(out.ends_with("(2 checked; no revision has the method `tools/cal`)\n"), "{out}");

    // All files are looked at, whatever is wrong with one of them.
    let (outcome, out) = run(&["validate", "--revision", "2025-06-18", "no such file.json", &call, "nor this.json"]);
    let failure = outcome.unwrap_err();
    assert!(failure.is_file() && !failure.is_usage());
    assert!(failure.to_string().starts_with("`no such file.json` cannot be read: "), "{failure}");
    assert!(failure.to_string().contains("; `nor this.json` cannot be read: "), "{failure}");
    assert!(out.contains("1 problem"), "{out}");
}

#[test]
fn nothing_is_not_valid() {
    let (outcome, out) = run(&["validate", &file("empty.json", "\n")]);
    assert!(!outcome.unwrap().is_success);
    assert!(out.contains(":1:1: expected JSON, found nothing"), "{out}");
    let (outcome, out) = run(&["validate", &file("plain.md", "Text\n```json\n{}\n```\n")]);
    assert!(outcome.unwrap().is_success);
    assert!(out.ends_with(": nothing to validate (0 checked, 1 block that is not a message)\n"), "{out}");
}

#[test]
fn problems_are_printed_for_programs() {
    let call = file("programs.json", r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
    let Program::Validate(mut args) = Program::parse_from(["couplet", "validate", "--revision", "2025-11-25", &call])
    else {
        unreachable!()
    };
    args.output = OutputFormat::Json;
    let mut out = Vec::new();
    assert!(!cli::validate(&args, &mut out).unwrap().is_success);
    let expected = serde_json::json!({
        "file": call, "revision": "2025-11-25", "checked": 1, "skipped": 0, "unknown": [], "count": 1,
        "problems": [{
            "line": 1, "column": 34, "pointer": "/method", "expected": "a method of this revision",
            "found": "the string \"server/discover\"", "validIn": ["2026-07-28"]
        }],
    });
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), expected);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let Program::Validate(mut args) = Program::parse_from(["couplet", "validate", &file("colours.json", "{}")]) else {
        unreachable!()
    };
    args.output = OutputFormat::Coloured;
    let mut out = Vec::new();
    cli::validate(&args, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("\u{1b}[31m1 problem\u{1b}[0m"));
}

#[test]
fn a_file_cannot_move_the_cursor() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"\u001b[2J":5}}}}"#;
    let (_, out) = run(&["validate", "--revision", "2025-06-18", &file("cursor.json", text)]);
    assert!(out.contains(r"/params/context/arguments/\u{1b}[2J: expected a string"), "{out}");
    let (outcome, _) = run(&["rdf", &file("cursor.jsonl", "{\"a\":1}\n{\"b\\u001b \":1}\n")]);
    assert!(outcome.unwrap().notes[0].contains(r"\u{1b}"));
}

#[test]
fn rdf_is_printed_and_read() {
    let log = concat!(
        r#"{"session":"a","time":0,"message":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        "\nnot json\n",
        r#"{"session":"a","time":0,"direction":"server-to-client","raw":"oh no"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"b":[2,1],"a":null}}"#,
    );
    let log = file("log.jsonl", log);
    for format in ["turtle", "ntriples", "trig", "nquads", "jsonld"] {
        let (outcome, out) = run(&["rdf", "--format", format, &log]);
        let outcome = outcome.unwrap();
        assert!(!outcome.is_success);
        assert_eq!(
            outcome.notes,
            [
                format!("{log}:2: left out: not JSON: expected ident at column 2"),
                format!("{log}:3: left out: data that is not JSON: \"oh no\""),
            ]
        );
        let (outcome, back) = run(&["rdf", "--reverse", "--format", format, &file(&format!("back.{format}"), &out)]);
        let expected = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}
{"jsonrpc":"2.0","id":1,"result":{"b":[2,1],"a":null}}
"#;
        assert_eq!((outcome.unwrap().is_success, back.as_str()), (true, expected), "{format}: {out}");
    }
    assert_eq!(run(&["rdf", "--format", "nt", &log]).1, run(&["rdf", "--format", "ntriples", &log]).1);
    assert!(run(&["rdf", "--vocabulary"]).1.contains("mcp:Tool a rdfs:Class"));
    assert_eq!(run(&["rdf", "--context"]).1, couplet_vocab::jsonld::CONTEXT);
}

#[test]
fn what_is_not_rdf_is_told_of() {
    let (failure, told) = failure(&["rdf", "--reverse", &file("not.ttl", "this is not turtle")]);
    assert!(failure.is_file() && told.contains("not turtle"), "{told}");
    let document = r#"{"@context":"https://example.com/c","jsonrpc":"2.0"}"#;
    let (_, told) = self::failure(&["rdf", "--reverse", "--format", "jsonld", &file("other.jsonld", document)]);
    assert!(told.contains("the context `https://example.com/c` is not embedded, and nothing is fetched"), "{told}");
    let (outcome, _) = run(&["rdf", &file("already.jsonld", document)]);
    assert!(outcome.unwrap().notes[0].ends_with(":1: left out: expected a message, found JSON-LD"));
    let many = file("many.jsonl", &"{\"a b\":1}\n".repeat(50));
    let outcome = run(&["rdf", &many]).0.unwrap();
    assert_eq!((outcome.notes.len(), outcome.notes[20].as_str()), (21, "and 30 more lines"));
}

#[test]
fn the_reader_is_gone_and_nothing_can_be_written() {
    struct Gone(std::io::ErrorKind);
    impl std::io::Write for Gone {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let ping = file("gone.json", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    for (kind, is_closed) in [(std::io::ErrorKind::BrokenPipe, true), (std::io::ErrorKind::StorageFull, false)] {
        let mut out = Gone(kind);
        let rdf = Program::parse_from(["couplet", "rdf", &ping]);
        let validate = Program::parse_from(["couplet", "validate", &ping]);
        for program in [Program::Schema(SchemaArgs::default()), rdf, validate] {
            let failure = match program {
                Program::Schema(args) => cli::schema(&args, &mut out),
                Program::Validate(args) => cli::validate(&args, &mut out),
                Program::Rdf(args) => cli::rdf(&args, &mut out),
            };
            let failure = failure.unwrap_err();
            assert_eq!((failure.is_closed(), failure.is_file()), (is_closed, false), "{failure}");
        }
    }
}

#[test]
fn arguments_are_checked() {
    for (arguments, said) in [
        (&["couplet", "rdf"][..], "<FILE>"),
        (&["couplet", "validate"], "<FILE>"),
        (&["couplet", "rdf", "--format", "xml", "-"], "ntriples"),
        (&["couplet", "schema", "--revision", "2025-06-17"], "2025-06-18"),
        (&["couplet", "validate", "--revision", "latest", "-"], "2026-07-28"),
    ] {
        let error = Program::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
