//! Seeded mistakes are found, with the right pointer, place and revision.

use couplet_types::ProtocolVersion;
use couplet_vocab::validate::{Format, Options, Problem, validate};

fn problems(revision: Option<&str>, text: &str) -> Vec<Problem> {
    let revision = revision.map(|r| r.parse().unwrap());
    validate(text.as_bytes(), Format::Json, &Options::default().revision(revision)).unwrap().problems
}

/// Exactly one problem, at a pointer and a place, of which something is said.
#[track_caller]
fn check(revision: &str, text: &str, pointer: &str, place: (u64, u64), said: &str) {
    let problems = problems(Some(revision), text);
    assert_eq!(problems.len(), 1, "{text}: {problems:?}");
    let problem = &problems[0];
    assert_eq!(problem.finding.pointer, pointer, "{text}");
    assert_eq!((problem.line, problem.column), place, "{text}");
    assert_eq!(problem.finding.to_string(), said, "{text}");
}

#[test]
fn mistakes_are_found_where_they_are() {
    for (text, pointer, place, said) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
            "/params/name",
            (1, 64),
            "expected a string, found the number 5",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            "/params",
            (1, 56),
            "expected a member `name` (a string)",
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            "/id",
            (1, 23),
            "expected a string or an integer, found null",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
            "/error",
            (1, 45),
            "expected no `error` beside `result`, found an object",
        ),
        (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, "/jsonrpc", (1, 12), r#"expected "2.0", found the string "1.0""#),
        (r#"{"jsonrpc":"2.0","id":1}"#, "", (1, 1), "expected a member `method`, `result` or `error`"),
        (r#"{"jsonrpc":"2.0","method":"tools/list"}"#, "", (1, 1), "expected a member `id` (a string or an integer)"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}"#,
            "/id",
            (1, 23),
            "expected no `id`, since `notifications/initialized` is not answered, found the number 1",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}"#,
            "/error/code",
            (1, 41),
            r#"expected an integer, found the string "x""#,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/tool"},"argument":{"name":"a","value":"b"}}}"#,
            "/params/ref/type",
            (1, 80),
            r#"expected one of "ref/prompt", "ref/resource", found the string "ref/tool""#,
        ),
        (r#"{"jsonrpc":"2.0",}"#, "", (1, 18), "expected valid JSON: trailing comma"),
        (r#"{"jsonrpc":"éé",}"#, "", (1, 17), "expected valid JSON: trailing comma"),
        ("{\n  \"a\": \"é\", b}", "", (2, 13), "expected valid JSON: key must be a string"),
        ("[]", "", (1, 1), "expected an object, since this revision has no batches, found an array of 0"),
    ] {
        for revision in ["2024-11-05", "2025-06-18"] {
            check(revision, text, pointer, place, said);
        }
    }
}

#[test]
fn an_answer_is_checked_against_what_was_asked() {
    let log = concat!(
        r#"{"direction":"client-to-server","session":"a","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#,
        "\n",
        r#"{"direction":"server-to-client","session":"b","message":{"jsonrpc":"2.0","id":1,"result":{"tools":5}}}"#,
        "\n",
        r#"{"direction":"server-to-client","session":"a","message":{"jsonrpc":"2.0","id":1,"result":{"tools":5}}}"#,
        "\n",
    );
    check("2025-06-18", log, "/result/tools", (3, 99), "expected an array, found the number 5");
}

/// A request and its answer in a revision: what is found in the answer.
#[track_caller]
fn check_answer(revision: &str, method: &str, params: &str, answer: &str, pointers: &[&str]) {
    let meta =
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let log = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{{{meta}{params}}}}}\n\
         {{\"jsonrpc\":\"2.0\",\"id\":1,{answer}}}\n"
    );
    let problems = problems(Some(revision), &log);
    let found: Vec<_> = problems.iter().map(|p| p.finding.pointer.as_str()).collect();
    assert_eq!(found, pointers, "{log}: {problems:?}");
    assert!(problems.iter().all(|p| p.line == 2), "{problems:?}");
}

#[test]
fn an_answer_is_what_it_says_that_it_is() {
    let call = r#","name":"a""#;
    for (answer, pointers) in [
        (r#""result":{"resultType":"complete","content":[]}"#, &[][..]),
        (r#""result":{"resultType":"complete","content":5}"#, &["/result/content"]),
        (r#""result":{"resultType":"complete"}"#, &["/result"]),
        (r#""result":{"content":[]}"#, &["/result"]),
        (r#""result":{"resultType":5,"content":[]}"#, &["/result/resultType"]),
        (r#""result":{"resultType":"input_required","requestState":"s"}"#, &[]),
        (r#""result":{"resultType":"input_required","requestState":5}"#, &["/result/requestState"]),
        (r#""result":{"resultType":"of an extension","content":5}"#, &[]),
    ] {
        check_answer("2026-07-28", "tools/call", call, answer, pointers);
    }
    // A list is never asked back about, but may be of an extension.
    let list = r#""result":{"resultType":"of an extension"}"#;
    check_answer("2026-07-28", "tools/list", "", list, &[]);
    // Before, a task was asked for.
    let task = r#","name":"a","task":{"ttl":5}"#;
    check_answer("2025-11-25", "tools/call", task, r#""result":{"task":5}"#, &["/result/task"]);
    check_answer("2025-11-25", "tools/call", task, r#""result":{"content":[]}"#, &["/result"]);
    // An error of the protocol says more.
    let error = r#""error":{"code":-32022,"message":"a","data":{"supported":5,"requested":"b"}}"#;
    check_answer("2026-07-28", "tools/list", "", error, &["/error/data/supported"]);
    check_answer("2025-11-25", "tools/list", "", error, &[]);
}

#[test]
fn a_mistake_inside_of_what_a_revision_does_not_have_is_not_valid_there() {
    let discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#;
    let sampled = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"role":"user","model":"m","content":[{"type":"text","text":5}]}}"#,
    );
    let audio = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"audio","data":"","mimeType":5}}]}}"#,
    );
    for (revision, text, pointer) in [
        ("2026-07-28", discover, "/params"),
        ("2025-11-25", sampled, "/result/content/0/text"),
        ("2025-03-26", audio, "/result/messages/0/content/mimeType"),
    ] {
        let found = problems(Some(revision), text);
        assert_eq!((found.len(), found[0].finding.pointer.as_str()), (1, pointer), "{found:?}");
        assert_eq!(found[0].valid_in, [], "{text}");
    }
}

#[test]
fn limits_and_names_are_those_of_the_protocol() {
    let completion = |count: usize| {
        let values = vec!["a"; count];
        serde_json::json!({ "resultType": "complete", "completion": { "values": values } }).to_string()
    };
    let result = |text: &str| {
        let options = Options::default()
            .revision("2026-07-28".parse::<ProtocolVersion>().unwrap())
            .definition("CompleteResult".to_owned());
        validate(text.as_bytes(), Format::Json, &options).unwrap().problems
    };
    assert_eq!(result(&completion(100)), []);
    assert_eq!(result(&completion(101))[0].finding.pointer, "/completion/values");
    // A slash in a name is written as `~1` in a pointer.
    let meta = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":5,"io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let pointer = "/params/_meta/io.modelcontextprotocol~1protocolVersion";
    check("2026-07-28", meta, pointer, (1, 108), "expected a string, found the number 5");
    check("2025-03-26", "[]", "", (1, 1), "expected at least one message, found an array of 0");
    // The envelope and the method would both say something about it.
    let number = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":5}"#;
    let found = problems(Some("2025-06-18"), number);
    assert_eq!((found.len(), found[0].finding.pointer.as_str()), (1, "/params"), "{found:?}");
}

#[test]
fn who_sends_what_is_known() {
    let log = r#"{"direction":"server-to-client","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}"#;
    let said = r#"expected a method that servers send, found the string "tools/list""#;
    check("2025-06-18", log, "/method", (1, 76), said);
}

#[test]
fn a_question_inside_of_a_result_is_no_message() {
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let said =
        r#"expected a method of this revision that is sent in a message of its own, found the string "roots/list""#;
    check("2026-07-28", ask, "/method", (1, 34), said);
    assert_eq!(problems(Some("2025-11-25"), ask), []);
}

#[test]
fn problems_without_end_are_counted() {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{{"ref":{{"type":"ref/prompt","name":"a"}},"argument":{{"name":"a","value":"b"}},"context":{{"arguments":{{{}}}}}}}}}"#,
        (0..1500).map(|n| format!("\"a{n}\":{n}")).collect::<Vec<_>>().join(",")
    );
    let revision = "2025-06-18".parse().ok();
    let report = validate(text.as_bytes(), Format::Json, &Options::default().revision(revision)).unwrap();
    assert_eq!((report.count, report.problems.len()), (1500, 1000));
}

#[test]
fn a_mistake_says_in_which_revision_it_is_none() {
    let audio = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a"}}
{"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"audio","data":"","mimeType":"a/b"}}]}}
"#;
    let found = problems(Some("2024-11-05"), audio);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].finding.pointer, "/result/messages/0/content/type");
    assert_eq!(found[0].line, 2);
    assert_eq!(found[0].valid_in, ProtocolVersion::ALL[1..]);

    let discover = r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#;
    let found = problems(Some("2025-11-25"), discover);
    assert_eq!(found[0].finding.pointer, "/method");
    assert_eq!(found[0].valid_in, ProtocolVersion::ALL[4..]);
}

#[test]
fn the_best_revision_is_found() {
    for (text, best) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x","capabilities":{},"clientInfo":{"name":"a","version":"b"}}}"#,
            "2025-11-25",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/list"}"#, "2025-11-25"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "2025-03-26"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"example/other"}"#, "2026-07-28"),
    ] {
        let report = validate(text.as_bytes(), Format::Json, &Options::default()).unwrap();
        assert_eq!((report.revision.as_str(), report.count), (best, 0), "{text}: {:?}", report.problems);
    }
}

#[test]
fn methods_and_results_of_extensions_pass() {
    let log = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"a"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"task","task":{}}}"#,
        "\n",
    );
    assert_eq!(problems(Some("2026-07-28"), log), []);
}

#[test]
fn a_type_can_be_named() {
    let tool = r#"{ "name": "a", "inputSchema": { "type": "array" } }"#;
    let options = |revision: Option<ProtocolVersion>, name: &str| {
        Options::default().revision(revision).definition(name.to_owned())
    };
    let report = validate(tool.as_bytes(), Format::Json, &options(None, "Tool")).unwrap();
    assert_eq!(report.problems[0].finding.to_string(), r#"expected "object", found the string "array""#);
    let first = Some(ProtocolVersion::ALL[0]);
    assert!(validate(tool.as_bytes(), Format::Json, &options(first, "Task")).is_err());
    assert!(validate(tool.as_bytes(), Format::Json, &options(None, "Toll")).is_err());
}

/// What is wrong begins behind the mark, in every kind of file, in every revision.
#[test]
fn mistakes_are_found_in_every_kind_of_file() {
    let fine = r#"{"jsonrpc":"2.0","id":1,"method":"example/fine"}"#;
    for (message, pointer) in [
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":«5}}"#, "/error/message"),
        (r#"{"jsonrpc":"2.0","id":1,"error":«{"code":-32000}}"#, "/error"),
        (r#"{"jsonrpc":"2.0","id":«null,"method":"example/x"}"#, "/id"),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"},"error":«{"code":1,"message":"é"}}"#, "/error"),
    ] {
        let pretty = message.replace(',', ",\n    ").replace('{', "{ ");
        for (format, marked) in [
            (Format::Json, message.to_owned()),
            (Format::Json, format!("\n{pretty}\n")),
            (Format::Json, format!("{fine}\n\n{message}\n{fine}\n")),
            (Format::Json, format!("{{\"time\":0,\"session\":\"é\",\"message\": {message}}}\n")),
            (Format::Markdown, format!("# é\n```json\n{fine}\n```\n1. item\n   ~~~json\n   {pretty}\n   ~~~\n")),
        ] {
            let before = marked.split('«').next().unwrap();
            let line = before.matches('\n').count() as u64 + 1;
            let column = before.rsplit('\n').next().unwrap().chars().count() as u64 + 1;
            let text = marked.replace('«', "");
            for &revision in ProtocolVersion::ALL {
                let options = Options::default().revision(revision);
                let problems = validate(text.as_bytes(), format, &options).unwrap().problems;
                let places: Vec<_> = problems.iter().map(|p| (p.finding.pointer.as_str(), p.line, p.column)).collect();
                assert_eq!(places, [(pointer, line, column)], "{revision}: {text}");
            }
        }
    }
}

#[test]
fn what_a_log_says_wrong_is_told() {
    for (line, said) in [
        (
            r#"{"direction":"server-to-client","raw":"oh no"}"#,
            r#"expected a message, or an entry of a log, found data that is not JSON: "oh no""#,
        ),
        (
            r#"{"direction":"up","message":{"jsonrpc":"2.0","id":1,"method":"x"}}"#,
            "expected a message, or an entry of a log, found unknown variant `up`, expected `client-to-server` or `server-to-client`",
        ),
    ] {
        check("2025-06-18", line, "", (1, 1), said);
    }
}

#[test]
fn a_document_shows_other_things_too() {
    let document = "```json\n{ \"a\": 1 } // a fragment\n```\n```json\n{ \"jsonrpc\": \"2.0\", ... }\n```\n";
    let validate = |definition: Option<&str>| {
        let options = Options::default().definition(definition.map(str::to_owned));
        let report = validate(document.as_bytes(), Format::Markdown, &options).unwrap();
        (report.checked, report.skipped, report.problems.iter().map(|p| (p.line, p.column)).collect::<Vec<_>>())
    };
    assert_eq!(validate(None), (1, 1, vec![(5, 21)]));
    // Where a type is asked for, everything has to be of it.
    assert_eq!(validate(Some("Tool")), (2, 0, vec![(2, 12), (5, 21)]));
}
