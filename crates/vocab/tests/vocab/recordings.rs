//! What `couplet tap` has recorded is valid, and nothing else is taken for a recording.

use couplet_vocab::validate::{Format, Options, Report, validate};

const PROBE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const REFUSED: &str = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found"}}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;

/// Lines of a recording: who sends, and what.
fn recording(session: &str, lines: &[(&str, &str)]) -> String {
    let line = |(from, message): &(&str, &str)| {
        let direction = if *from == "client" { "client-to-server" } else { "server-to-client" };
        format!(
            r#"{{"time":"2026-07-28T12:00:00Z","direction":"{direction}","session":"{session}","message":{message}}}"#
        )
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
}

fn report(text: &str, revision: Option<&str>, definition: Option<&str>) -> Report {
    let options =
        Options::default().revision(revision.map(|r| r.parse().unwrap())).definition(definition.map(str::to_owned));
    validate(text.as_bytes(), Format::Json, &options).unwrap()
}

/// Each problem as `line pointer: what`.
fn problems(text: &str, revision: Option<&str>) -> Vec<String> {
    let said = report(text, revision, None).problems;
    said.iter().map(|p| format!("{} {}: {}", p.line, p.finding.pointer, p.finding)).collect()
}

#[test]
fn a_probe_before_the_handshake_is_valid() {
    let asked = [("client", PROBE), ("server", REFUSED), ("client", HELLO)];
    let whole = recording("a", &asked);
    assert_eq!(problems(&whole, None), [""; 0]);
    assert_eq!(report(&whole, None, None).revision.as_str(), "2025-11-25");
    assert_eq!(problems(&whole, Some("2025-11-25")), [""; 0]);

    // Without a handshake after it, it is a request that the revision does not have.
    let alone = [r#"1 /method: expected a method of this revision, found the string "server/discover""#];
    assert_eq!(problems(&recording("a", &asked[..2]), Some("2025-11-25")), alone);
    // The handshake of another session is another handshake.
    let other = recording("a", &asked[..2]) + &recording("b", &asked[2..]);
    assert_eq!(problems(&other, Some("2025-11-25")), alone);
    // What is wrong with the probe itself is wrong, and stands where it belongs.
    let broken = PROBE.replace("\"2026-07-28\"", "5");
    let ended = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":5}}"#;
    let text = recording("a", &[("client", &broken), ("server", REFUSED), ("client", ended), ("client", HELLO)]);
    let found = problems(&text, Some("2025-11-25"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("1 /params/_meta/io.modelcontextprotocol~1protocolVersion: "), "{found:?}");
    assert!(found[1].starts_with("3 /params/name: "), "{found:?}");
}

#[test]
fn an_answer_to_a_form_may_have_a_fraction() {
    let asks = r#"{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"How much?","requestedSchema":{"type":"object","properties":{"number":{"type":"number"}}}}}"#;
    let answers = r#"{"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"number":3.14}}}"#;
    for revision in ["2025-06-18", "2025-11-25"] {
        assert_eq!(problems(&recording("a", &[("server", asks), ("client", answers)]), Some(revision)), [""; 0]);
        let refused = answers.replace("3.14", "{}");
        assert_eq!(problems(&recording("a", &[("server", asks), ("client", &refused)]), Some(revision)).len(), 1);
    }
}

#[test]
fn a_value_with_a_message_is_not_a_recording() {
    for (definition, text) in [
        ("Error", r#"{"code":-32603,"message":"x"}"#),
        ("ProgressNotificationParams", r#"{"progressToken":1,"progress":1,"message":"half"}"#),
        // With a definition, whatever stands there is the value.
        ("Result", r#"{"message":{"jsonrpc":"2.0","id":1,"method":"ping"}}"#),
        ("Result", r#"{"direction":"up","message":{"jsonrpc":"2.0"}}"#),
        ("Result", r#"{"direction":"up","raw":"x"}"#),
    ] {
        let found = report(text, Some("2025-11-25"), Some(definition)).problems;
        assert!(found.is_empty(), "{definition} {text}: {found:?}");
    }
    // Without one, it is told what is wrong with the value, and not with its message.
    for text in [r#"{"code":-32603,"message":"x"}"#, r#"{"message":"x"}"#, r#"{"code":1,"message":{"jsonrpc":"2.0"}}"#]
    {
        assert_eq!(problems(text, None), ["1 : expected a member `method`, `result` or `error`"], "{text}");
    }
    // Others record more of a message.
    let more = r#"{"direction":"client-to-server","transport":"http","message":{"jsonrpc":"2.0","id":1,"method":"x"}}"#;
    assert_eq!(problems(more, None), [""; 0]);
}
