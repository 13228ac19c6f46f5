//! Rug pulls: definitions and launch configurations that change after their approval (S3, S4, S17).

use couplet_core::JsonText;

use super::*;
use crate::names::{Kind, ServerId};

fn text(json: &str) -> JsonText {
    JsonText::new(json.to_owned()).unwrap()
}

fn seen(kind: Kind, raw: &str, json: &str) -> Seen {
    Seen::new(kind, raw, &text(json)).unwrap()
}

fn files() -> ServerId {
    ServerId::from_key("files")
}

fn launch() -> Digest {
    Digest::of("mcp-files /srv")
}

fn approval() -> Approval {
    Approval { at: 1_794_916_800, by: Some("ada".into()), expires: None }
}

/// A lock with these definitions, after a restart.
fn locked(seen: &[Seen]) -> Lock {
    let mut lock = Lock::default();
    let observed = lock.observe(&files(), &launch(), seen, Baseline::Approve(approval()), 0);
    assert!(observed.approved && observed.is_clean());
    restarted(&lock)
}

fn restarted(lock: &Lock) -> Lock {
    let again = Lock::parse(&lock.to_string()).unwrap();
    assert_eq!(again, *lock);
    assert_eq!(again.to_string(), lock.to_string());
    again
}

/// The state of one definition, and the text of the diff.
fn check(lock: &Lock, now: &[Seen], kind: Kind, raw: &str) -> (Pin, String) {
    let diff = lock.diff(&files(), &launch(), now, 0);
    let text = diff.to_string();
    let change = diff.changes.into_iter().find(|change| change.item.kind == kind && *change.item.raw == *raw);
    if let Some(seen) = now.iter().find(|seen| seen.kind == kind && *seen.raw == *raw) {
        let state = lock.state(&files(), kind, raw, &seen.fingerprint, 0);
        assert_eq!(state, change.as_ref().map_or(Pin::Approved, |change| change.pin));
    }
    (change.map_or(Pin::Approved, |change| change.pin), text)
}

const TOOL: &str = r#"{"name":"read","title":"Read","description":"Reads a file.\nAll of it.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}},"annotations":{"title":"T","readOnlyHint":false},"icons":[{"src":"a.png"}],"_meta":{"x":1}}"#;

/// One change after the approval: the old part, the new one, the state, and the line of the diff.
const CHANGES: [(&str, &str, &str, Pin, &str); 16] = [
    ("a", "Reads a file.", "Reads a file!", Pin::Changed, "+ /description line 1: Reads a file!"),
    ("a", "All of it.", "All of it.\u{200b}", Pin::Changed, "+ /description line 2: All of it.\\u{200b}"),
    ("b", "\"readOnlyHint\":false", "\"readOnlyHint\":true", Pin::Changed, "+ /annotations/readOnlyHint: true"),
    ("b", "\"readOnlyHint\":false", "\"destructiveHint\":false", Pin::Changed, "+ /annotations/destructiveHint: false"),
    ("b", "\"readOnlyHint\":false", "\"openWorldHint\":false", Pin::Changed, "+ /annotations/openWorldHint: false"),
    ("b", "\"readOnlyHint\":false", "\"destructiveHint\":true", Pin::Approved, ""),
    ("b", "\"readOnlyHint\":false", "\"readOnlyHint\":\"true\"", Pin::Changed, "+ /annotations/readOnlyHint: \"true\""),
    ("b", ",\"readOnlyHint\":false", "", Pin::Approved, ""),
    (
        "c",
        "\"_meta\"",
        "\"outputSchema\":{\"type\":\"object\"},\"_meta\"",
        Pin::Changed,
        "+ /outputSchema: {\"type\":\"object\"}",
    ),
    (
        "c",
        "\"type\":\"string\"",
        "\"type\":\"string\",\"default\":\"/etc\"",
        Pin::Changed,
        "+ /inputSchema/properties/path/default: \"/etc\"",
    ),
    ("d", "\"title\":\"Read\"", "\"title\":\"Reed\"", Pin::Changed, "- /title: \"Read\""),
    ("d", "\"title\":\"T\"", "\"title\":\"U\"", Pin::Changed, "+ /annotations/title: \"U\""),
    ("d", "a.png", "b.png", Pin::Changed, "+ /icons/0/src: \"b.png\""),
    ("d", "\"x\":1", "\"x\":2", Pin::Changed, "+ /_meta/x: 2"),
    ("d", "\"x\":1", "\"x\":1.0,\"traceparent\":\"00-1\"", Pin::Approved, ""),
    ("d", "\"title\":\"Read\"", "\"title\":\"Read\",\"unknown\":null", Pin::Changed, "+ /unknown: null"),
];

#[test]
fn s03_a_to_d_a_changed_definition_is_hidden_and_shown() {
    for kind in [Kind::Tool, Kind::Prompt, Kind::Template] {
        let lock = locked(&[seen(kind, "read", TOOL)]);
        for (letter, old, new, expected, line) in CHANGES {
            assert!(TOOL.contains(old), "{letter}: {old}");
            let json = TOOL.replacen(old, new, 1).replace("\u{200b}", "\\u200b");
            let (pin, diff) = check(&lock, &[seen(kind, "read", &json)], kind, "read");
            assert_eq!(pin, expected, "{letter}: {new}");
            assert!(diff.contains(line), "{letter}: {new}: {diff}");
            assert_eq!(diff == "files: approved\n", expected == Pin::Approved, "{diff}");
        }
    }
}

#[test]
fn s03_b_a_hint_that_comes_back_is_still_approved() {
    let with = |hint: &str| seen(Kind::Tool, "a", &format!(r#"{{"name":"a"{hint}}}"#));
    let lock = locked(&[with(r#","annotations":{"readOnlyHint":true}"#)]);
    for (hint, expected) in [
        ("", Pin::Approved),
        (r#","annotations":{}"#, Pin::Approved),
        (r#","annotations":{"readOnlyHint":false}"#, Pin::Approved),
        (r#","annotations":{"readOnlyHint":true}"#, Pin::Approved),
        (r#","annotations":{"readOnlyHint":true,"idempotentHint":true}"#, Pin::Changed),
    ] {
        assert_eq!(check(&lock, &[with(hint)], Kind::Tool, "a").0, expected, "{hint}");
    }
}

#[test]
fn s03_e_changed_instructions_are_hidden_and_shown() {
    let instructions = |text: &str| seen(Kind::Instructions, "", &serde_json::to_string(text).unwrap());
    let lock = locked(&[instructions("Use the tools.\nBe nice.")]);
    assert_eq!(check(&lock, &[instructions("Use the tools.\nBe nice.")], Kind::Instructions, "").0, Pin::Approved);
    let (pin, diff) = check(&lock, &[instructions("Use the tools.\nBe evil.")], Kind::Instructions, "");
    assert_eq!(pin, Pin::Changed);
    assert_eq!(diff, "files:\n  changed instructions\n    - text line 2: Be nice.\n    + text line 2: Be evil.\n");
    // Instructions that are new after the approval wait, too.
    let lock = locked(&[seen(Kind::Tool, "a", r#"{"name":"a"}"#)]);
    assert_eq!(check(&lock, &[instructions("Hi")], Kind::Instructions, "").0, Pin::Pending);
}

#[test]
fn s03_f_a_definition_that_was_removed_does_not_come_back_changed() {
    for kind in [Kind::Tool, Kind::Prompt, Kind::Template] {
        let (good, other) = (seen(kind, "a", r#"{"name":"a"}"#), seen(kind, "b", r#"{"name":"b"}"#));
        let mut lock = locked(&[good.clone(), other.clone()]);
        for _ in 0..3 {
            let gone =
                lock.observe(&files(), &launch(), std::slice::from_ref(&other), Baseline::Approve(approval()), 0);
            assert!(!gone.approved && gone.pending.is_empty() && gone.changed.is_empty());
            assert_eq!(gone.gone, [Item { kind, raw: "a".into() }]);
            lock = restarted(&lock);
        }
        // Not even if the server listed nothing for a while.
        assert_eq!(lock.observe(&files(), &launch(), &[], Baseline::Approve(approval()), 0).gone.len(), 2);
        let evil = seen(kind, "a", r#"{"name":"a","description":"evil"}"#);
        let back = lock.observe(&files(), &launch(), &[evil], Baseline::Approve(approval()), 0);
        assert_eq!(back.changed, [Item { kind, raw: "a".into() }]);
        assert_eq!(check(&lock, &[good, other], kind, "a").0, Pin::Approved);
    }
}

#[test]
fn s03_g_a_new_definition_waits() {
    let old = seen(Kind::Tool, "a", r#"{"name":"a"}"#);
    for kind in [Kind::Tool, Kind::Prompt, Kind::Template] {
        let mut lock = locked(std::slice::from_ref(&old));
        let new = seen(kind, "b", r#"{"name":"b","description":"\u001b]52;c;evil\u0007"}"#);
        let now = [old.clone(), new];
        let observed = lock.observe(&files(), &launch(), &now, Baseline::Approve(approval()), 0);
        assert_eq!(observed.pending, [Item { kind, raw: "b".into() }]);
        let (pin, diff) = check(&lock, &now, kind, "b");
        assert_eq!(pin, Pin::Pending);
        assert!(diff.contains("+ /description: \"\\u001b]52;c;evil\\u0007\""), "{diff}");

        assert_eq!(lock.approve(&files(), &launch(), &now, Select::Item(kind, "b"), &approval()), 1);
        assert!(restarted(&lock).compare(&files(), &launch(), &now, 0).is_clean());
        // So does the first one of a server that had none.
        let empty = locked(&[]).observe(&files(), &launch(), &now, Baseline::Approve(approval()), 0);
        assert_eq!((empty.approved, empty.pending.len()), (false, 2));
        // The same name of another kind is another definition.
        let other = if kind == Kind::Tool { Kind::Prompt } else { Kind::Tool };
        assert_eq!(check(&lock, &[seen(other, "b", r#"{"name":"b"}"#)], other, "b").0, Pin::Pending);
    }
}

#[test]
fn s03_h_spelling_alone_is_no_change() {
    let lock = locked(&[seen(Kind::Tool, "a", r#"{"name":"a","n":10,"m":[0.5,-0.0],"d":"é/\n"}"#)]);
    for same in [
        r#"{"d":"é/\n","m":[0.5,0],"n":10,"name":"a"}"#,
        r#" { "d" : "\u00e9\/\u000a" , "m":[5e-1,0.0], "n": 1e1, "n\u0061me":"a" } "#,
        r#"{"d":"é/\n","m":[0.50,0],"n":10.0,"name":"a","_meta":{"tracestate":"x"}}"#,
    ] {
        assert_eq!(check(&lock, &[seen(Kind::Tool, "a", same)], Kind::Tool, "a").0, Pin::Approved, "{same}");
    }
    for other in [r#"{"name":"a","n":10,"m":[-0.0,0.5],"d":"é/\n"}"#, r#"{"name":"a","n":"10","m":[0.5,0],"d":"é/\n"}"#]
    {
        assert_eq!(check(&lock, &[seen(Kind::Tool, "a", other)], Kind::Tool, "a").0, Pin::Changed, "{other}");
    }
}

#[test]
fn s04_a_changed_launch_configuration_is_not_approved() {
    let tool = [seen(Kind::Tool, "a", r#"{"name":"a"}"#)];
    let mut lock = locked(&tool);
    assert_eq!(lock.launch(&files(), &launch(), 0), Launch::Approved);
    let swapped = Digest::of("sh -c evil");
    assert_eq!(lock.launch(&files(), &swapped, 0), Launch::Changed);
    assert_eq!(lock.launch(&ServerId::from_key("other"), &swapped, 0), Launch::New);
    // Seeing it does not approve it, even if the definitions are the same or there are none.
    for definitions in [&tool[..], &[]] {
        let observed = lock.observe(&files(), &swapped, definitions, Baseline::Approve(approval()), 0);
        assert!(!observed.approved);
        assert_eq!(observed.launch, Launch::Changed);
    }
    assert!(lock.diff(&files(), &swapped, &tool, 0).to_string().starts_with("files: launch configuration changed\n"));
    lock.approve_launch(&files(), swapped, approval());
    assert_eq!(restarted(&lock).launch(&files(), &swapped, 0), Launch::Approved);
    assert_eq!(lock.launch(&files(), &launch(), 0), Launch::Changed);

    // A launch configuration that was approved alone is swapped before the first list.
    let mut lock = Lock::default();
    lock.approve_launch(&files(), launch(), approval());
    assert!(!lock.observe(&files(), &swapped, &tool, Baseline::Approve(approval()), 0).approved);
    assert!(lock.observe(&files(), &launch(), &tool, Baseline::Approve(approval()), 0).approved);
}

#[test]
fn a_quarantined_server_waits_for_approval() {
    let now = [seen(Kind::Tool, "a", r#"{"name":"a"}"#), seen(Kind::Prompt, "p", r#"{"name":"p"}"#)];
    let mut lock = Lock::default();
    let observed = lock.observe(&files(), &launch(), &now, Baseline::Quarantine, 0);
    assert_eq!((observed.launch, observed.pending.len(), observed.approved), (Launch::New, 2, false));
    assert_eq!(lock, Lock::default());
    assert_eq!(lock.approve(&files(), &launch(), &now, Select::Server, &approval()), 2);
    assert!(lock.compare(&files(), &launch(), &now, 0).is_clean());
    // Approving the server once more removes what is gone.
    lock.approve(&files(), &launch(), &now[..1], Select::Server, &approval());
    assert!(lock.compare(&files(), &launch(), &now[..1], 0).is_clean());
    assert!(
        lock.revoke(&files(), Select::Item(Kind::Tool, "a")) && !lock.revoke(&files(), Select::Item(Kind::Tool, "a"))
    );
    assert!(lock.revoke(&files(), Select::Server));
    assert_eq!(lock.servers().count(), 0);
    // Resources have no definition to approve.
    let resource = seen(Kind::Resource, "file:///a", r#"{"uri":"file:///a"}"#);
    assert_eq!(lock.state(&files(), Kind::Resource, "file:///a", &resource.fingerprint, 0), Pin::Approved);
}

#[test]
fn approvals_expire() {
    let now = [seen(Kind::Tool, "a", r#"{"name":"a"}"#)];
    let mut lock = Lock::default();
    let expiring = Approval { expires: Some(100), ..approval() };
    lock.approve(&files(), &launch(), &now, Select::Server, &expiring);
    let lock = restarted(&lock);
    assert!(lock.compare(&files(), &launch(), &now, 99).is_clean());
    let observed = lock.compare(&files(), &launch(), &now, 100);
    assert_eq!((observed.launch, observed.pending.len()), (Launch::New, 1));
    let diff = lock.diff(&files(), &launch(), &now, 100).to_string();
    assert!(diff.contains("pending tool `a`\n    the approval has expired"), "{diff}");
}

#[test]
fn a_long_definition_has_a_digest_only() {
    let long = |end: &str| {
        seen(Kind::Tool, "a", &format!(r#"{{"name":"a","description":"{}{end}"}}"#, "x".repeat(Lock::LONGEST)))
    };
    let lock = locked(&[long("")]);
    assert!(lock.to_string().len() < 1000);
    assert_eq!(check(&lock, &[long("")], Kind::Tool, "a").0, Pin::Approved);
    let (pin, diff) = check(&lock, &[long("y")], Kind::Tool, "a");
    assert_eq!(pin, Pin::Changed);
    assert!(diff.contains("too long for the lock") && diff.contains("xy\""));
}

#[test]
fn s17_a_diff_is_safe_for_a_terminal() {
    let lock = locked(&[seen(Kind::Tool, "a", r#"{"name":"a"}"#)]);
    let evil = "\\u001b[2J\\u202e\\u200b\\u009b1m\\udb40\\udc41\\u0000\\r";
    let json = format!(r#"{{"name":"a","{evil}":"{evil}","enum":["{evil}\n{evil}"]}}"#);
    let raw: String = serde_json::from_str(&format!("\"{evil}\n\"").replace('\n', "\\n")).unwrap();
    let now = [seen(Kind::Tool, "a", &json), seen(Kind::Prompt, &raw, &json)];
    let diff = lock.diff(&files(), &launch(), &now, 0).to_string();
    assert!(diff.contains("\\u{202e}") && diff.contains("\\u{e0041}"), "{diff}");
    assert!(diff.chars().all(|c| c == '\n' || matches!(c, ' '..='~')), "{diff:?}");
    assert_eq!(diff.lines().filter(|line| !line.starts_with("    ")).count(), 3, "{diff}");
}

#[test]
fn ambiguous_definitions_have_no_fingerprint() {
    for wrong in [r#"{"a":1,"a":1}"#, r#"{"a":{"b":1,"\u0062":2}}"#, "1e999"] {
        let error = fingerprint(&text(wrong)).unwrap_err().to_string();
        assert!(error.starts_with("the definition has no canonical form: "), "{error}");
    }
    // Integers of 64 bits are exact.
    assert_ne!(fingerprint(&text("9007199254740993")).unwrap(), fingerprint(&text("9007199254740992")).unwrap());
}

#[test]
fn numbers_are_canonical() {
    for (value, expected) in [
        ("0.0", "0"),
        ("-0.0", "0"),
        ("-0", "0"),
        ("1.0", "1"),
        ("-1.5", "-1.5"),
        ("1e20", "100000000000000000000"),
        ("1E21", "1e+21"),
        ("1.25e-6", "0.00000125"),
        ("125e-9", "1.25e-7"),
        ("0.10", "0.1"),
        ("123456.789", "123456.789"),
        ("5e-324", "5e-324"),
        ("1e-999", "0"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        // Digits that must be rounded correctly.
        ("1.184467440737095516165e+300", "1.1844674407370956e+300"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ] {
        let canonical = number::canonical(value).unwrap();
        assert_eq!(canonical, expected);
        assert_eq!(number::canonical(&canonical).as_ref(), Some(&canonical));
    }
    assert_eq!(number::canonical("1e999"), None);
    // The example of RFC 8785 for the order of keys.
    let sorted =
        canonical_text(r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#).unwrap();
    let order: Vec<_> = sorted.chars().filter(|c| matches!(c, '2'..='7')).collect();
    assert_eq!(order, ['2', '4', '6', '7', '5', '3']);
}

#[test]
fn a_lock_file_reads_well_and_errors_name_the_place() {
    let lock = locked(&[seen(Kind::Tool, "a", r#"{"name":"a","annotations":{"readOnlyHint":true}}"#)]);
    let text = lock.to_string();
    let digest = fingerprint(&self::text(r#"{"name":"a"}"#)).unwrap().digest;
    let expected = format!(
        r#"{{
  "version": 1,
  "servers": {{
    "files": {{
      "launch": {{
        "digest": "{}",
        "approved": "2026-11-17T12:00:00Z",
        "by": "ada"
      }},
      "baseline": true,
      "tools": {{
        "a": {{
          "digest": "{digest}",
          "approved": "2026-11-17T12:00:00Z",
          "by": "ada",
          "hints": {{
            "readOnlyHint": true
          }},
          "definition": {{
            "name": "a"
          }}
        }}
      }}
    }}
  }}
}}
"#,
        launch()
    );
    assert_eq!(text, expected);
    for (old, new, expected) in [
        ("\"version\": 1", "\"version\": 2", "its version is 2"),
        ("\"name\": \"a\"", "\"name\": \"b\"", "server `files`: tool `a`: the definition does not have this digest"),
        ("2026-11-17T12", "2026-11-17X12", "is not a time"),
        ("sha256:", "sha1:", "a digest is not"),
        ("\"files\"", "\"Files\"", "is not a server id"),
        ("\"tools\"", "\"tolls\"", "unknown field `tolls`"),
        ("\"hints\": {", "\"hints\": {\"x\": 1,", "unknown field `x`"),
        ("\"a\": {", "\"a\": {}, \"a\": {", "missing field"),
        ("{", "", "not a lock file"),
        ("<<<", "<<<", ""),
    ] {
        let changed = text.replacen(old, new, 1);
        match Lock::parse(&changed) {
            Ok(parsed) => assert!(changed == text && parsed == lock, "{new}"),
            Err(error) => assert!(error.to_string().contains(expected) && changed != text, "{new}: {error}"),
        }
    }
    let tool = &text[text.find("\"a\": {").unwrap()..text.rfind("\n      }\n    }").unwrap()];
    let twice = text.replacen(tool, &format!("{tool},{tool}"), 1);
    assert!(Lock::parse(&twice).unwrap_err().to_string().contains("`a` appears twice"));
}

#[tokio::test]
async fn pins_are_stored_before_they_count() {
    struct Failing;

    impl PinStore for Failing {
        fn load(&self) -> couplet_core::BoxFuture<'_, Result<Option<String>, PinError>> {
            Box::pin(async { Ok(None) })
        }

        fn save<'a>(&'a self, _: &'a str) -> couplet_core::BoxFuture<'a, Result<(), PinError>> {
            Box::pin(async { Err(PinError::new("disk full")) })
        }
    }

    let pins = Pins::open(Failing).await.unwrap();
    assert!(pins.update(|lock| lock.approve_launch(&files(), launch(), approval())).await.is_err());
    assert_eq!(pins.snapshot().launch(&files(), &launch(), 0), Launch::New);
    // A change of nothing stores nothing.
    assert_eq!(pins.update(|_| 7).await, Ok(7));

    let pins = Pins::open(MemoryPins::default()).await.unwrap();
    pins.update(|lock| lock.approve_launch(&files(), launch(), approval())).await.unwrap();
    pins.reload().await.unwrap();
    assert_eq!(pins.snapshot().launch(&files(), &launch(), 0), Launch::Approved);
}
