//! The commands, in memory.

use clap::Parser;
use couplet_vocab::cli::{Command, Terminal};

#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The exit code, and what was written and complained.
fn run(arguments: &[&str], input: &str) -> (u8, String, String) {
    let cli = Cli::try_parse_from(["couplet"].iter().chain(arguments)).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = cli.command.run(&mut Terminal::new(&mut input.as_bytes(), &mut out, &mut err));
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn schemas_are_printed() {
    let (code, out, _) = run(&["schema", "--revision", "2025-06-18", "--type", "Tool"], "");
    assert_eq!(code, 0);
    assert!(out.contains(r##""$ref": "#/definitions/Tool""##), "{out}");
    let (code, _, err) = run(&["schema", "--revision", "2025-06-18", "--type", "Task"], "");
    assert_eq!((code, err.as_str()), (2, "error: 2025-06-18 has no `Task`; it is defined in 2025-11-25\n"));
    let (code, _, err) = run(&["schema", "--type", "tool"], "");
    assert_eq!((code, err.as_str()), (2, "error: there is no `tool`; did you mean `Tool`?\n"));
    assert!(run(&["schema", "--list"], "").1.lines().any(|l| l == "DiscoverRequest"));
}

#[test]
fn problems_are_printed_and_counted() {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#;
    let (code, out, err) = run(&["validate", "--revision", "2025-06-18", "-"], call);
    let expected =
        "-:1:64: /params/name expected a string, found the number 5\n-: 1 problem in 2025-06-18 (1 checked)\n";
    assert_eq!((code, out.as_str(), err.as_str()), (1, expected, ""));

    let discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    let (_, out, _) = run(&["validate", "--revision", "2025-11-25", "-"], discover);
    assert!(out.contains("(valid in 2026-07-28)"), "{out}");

    let (code, out, _) = run(&["validate", "-"], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!((code, out.as_str()), (0, "-: valid in 2025-11-25, which fits best (1 checked)\n"));
    assert_eq!(
        run(&["validate", "-q", "-"], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        (0, String::new(), String::new())
    );
    let (code, _, err) = run(&["validate", "no such file.json", "-"], "");
    assert_eq!(code, 2);
    assert!(err.starts_with("error: no such file.json: "), "{err}");
    assert_eq!(run(&["validate", "--type", "Nothing", "-"], "").0, 2);
}

#[test]
fn rdf_is_printed_and_read() {
    let log = concat!(
        r#"{"session":"a","time":0,"message":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        "\nnot json\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"b":[2,1],"a":null}}"#,
    );
    for format in ["turtle", "ntriples", "trig", "nquads", "jsonld"] {
        let (code, out, err) = run(&["rdf", "--format", format, "-"], log);
        assert_eq!(code, 1);
        assert!(err.starts_with("error: -:2: "), "{err}");
        let (code, back, _) = run(&["rdf", "--reverse", "--format", format, "-"], &out);
        let expected = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}
{"jsonrpc":"2.0","id":1,"result":{"b":[2,1],"a":null}}
"#;
        assert_eq!((code, back.as_str()), (0, expected), "{format}: {out}");
    }
    assert!(run(&["rdf", "--vocabulary"], "").1.contains("mcp:Tool a rdfs:Class"));
    assert_eq!(run(&["rdf", "--context"], "").1, couplet_vocab::jsonld::CONTEXT);
    let (code, _, err) = run(&["rdf", "--reverse", "-"], "this is not turtle");
    assert_eq!(code, 2);
    assert!(err.contains("not turtle"), "{err}");
}

#[test]
fn colours_are_for_those_who_want_them() {
    let cli = Cli::try_parse_from(["couplet", "validate", "-"]).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = &b"{}"[..];
    cli.command.run(&mut Terminal::new(&mut input, &mut out, &mut err).coloured());
    assert!(String::from_utf8(out).unwrap().contains("\u{1b}[31m1 problem\u{1b}[0m"));
}

#[test]
fn arguments_are_checked() {
    for arguments in [&["couplet", "rdf"][..], &["couplet", "validate"], &["couplet", "rdf", "--format", "xml", "-"]] {
        assert!(Cli::try_parse_from(arguments).is_err(), "{arguments:?}");
    }
}
