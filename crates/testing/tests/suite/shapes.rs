//! Every method and every notification of the protocol, in every revision, against the official schemas.

use couplet_server::{Ctx, Server, tool};
use couplet_testing::{
    block_on,
    types::{ClientCapabilities, RootsCapability},
};
use serde_json::{Value, json};

use crate::{
    rows::{ROWS, Row},
    schema,
    talk::Talk,
};

/// A request of the client: its parameters, and in which revisions it exists.
type Request = (&'static str, Value, &'static str);

fn requests() -> Vec<Request> {
    let plan = json!({ "type": "ref/prompt", "name": "plan" });
    vec![
        ("ping", json!({}), "xxxx-"),
        ("server/discover", json!({}), "----x"),
        ("tools/list", json!({}), "xxxxx"),
        ("tools/call", json!({ "name": "add", "arguments": { "a": 1, "b": 2 } }), "xxxxx"),
        ("tools/call", json!({ "name": "sum", "arguments": { "a": 1, "b": 2 } }), "xxxxx"),
        ("tools/call", json!({ "name": "range", "arguments": { "n": 3 } }), "xxxxx"),
        ("tools/call", json!({ "name": "blocks" }), "xxxxx"),
        ("tools/call", json!({ "name": "fail" }), "xxxxx"),
        ("resources/list", json!({}), "xxxxx"),
        ("resources/templates/list", json!({}), "xxxxx"),
        ("resources/read", json!({ "uri": "fix://text" }), "xxxxx"),
        ("resources/read", json!({ "uri": "fix://blob" }), "xxxxx"),
        ("resources/read", json!({ "uri": "fix://json" }), "xxxxx"),
        ("resources/read", json!({ "uri": "fix://item/apple/7" }), "xxxxx"),
        ("resources/subscribe", json!({ "uri": "fix://live" }), "xxxx-"),
        ("resources/unsubscribe", json!({ "uri": "fix://live" }), "xxxx-"),
        ("prompts/list", json!({}), "xxxxx"),
        ("prompts/get", json!({ "name": "plan", "arguments": { "country": "Norway", "days": "3" } }), "xxxxx"),
        ("prompts/get", json!({ "name": "gallery" }), "xxxxx"),
        ("completion/complete", json!({ "ref": plan, "argument": { "name": "country", "value": "N" } }), "xxxxx"),
        (
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "fix://item/{kind}/{id}" },
                "argument": { "name": "kind", "value": "ap" },
            }),
            "xxxxx",
        ),
        ("logging/setLevel", json!({ "level": "warning" }), "xxxx-"),
        ("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }), "----x"),
        // Tasks are a feature of their own, which this server does not have.
        ("tasks/get", json!({ "taskId": "1" }), "-----"),
        ("tasks/result", json!({ "taskId": "1" }), "-----"),
        ("tasks/list", json!({}), "-----"),
        ("tasks/cancel", json!({ "taskId": "1" }), "-----"),
        ("tasks/update", json!({ "taskId": "1", "inputResponses": {} }), "-----"),
        // Requests of the server are none of the client.
        ("sampling/createMessage", json!({ "messages": [], "maxTokens": 1 }), "-----"),
        ("roots/list", json!({}), "-----"),
        ("elicitation/create", json!({ "message": "?" }), "-----"),
        ("no/such/method", json!({}), "-----"),
    ]
}

async fn check_request(talk: &mut Talk, row: &Row, (method, params, revisions): Request) {
    if !row.is_in(revisions) {
        assert_eq!(talk.refused(method, params).await, -32601, "{}: `{method}`", row.version);
        return;
    }
    if method == "subscriptions/listen" {
        let id = talk.start(method, params);
        let acknowledged = talk.next().await;
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{acknowledged}");
        assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        talk.notify("notifications/cancelled", json!({ "requestId": id, "reason": "enough" }));
        return;
    }
    let answer = talk.ask(method, params.clone()).await;
    assert!(answer.get("result").is_some(), "{}: `{method}` {params} -> {answer}", row.version);
}

#[test]
fn every_request_of_the_client() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            for request in requests() {
                check_request(&mut talk, row, request).await;
            }
            assert_eq!(talk.ready(), [Value::Null; 0], "{}", row.version);
        }
    });
}

#[test]
fn a_session_is_opened_once() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let params = json!({
                "protocolVersion": row.version.as_str(),
                "capabilities": {},
                "clientInfo": { "name": "again", "version": "1" },
            });
            let expected = if row.session { -32600 } else { -32601 };
            assert_eq!(talk.refused("initialize", params).await, expected, "{}", row.version);
        }
    });
}

/// What a client that answers everything says to a question.
pub(crate) fn answered(question: &Value) -> Value {
    let params = &question["params"];
    match question["method"].as_str() {
        Some("roots/list") => json!({ "roots": [{ "uri": "file:///work", "name": "work" }] }),
        Some("sampling/createMessage") => {
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "a fish" } })
        }
        _ if params["mode"] == "url" => json!({ "action": "accept" }),
        _ => {
            let fields = params["requestedSchema"]["properties"].as_object().expect("a form has fields");
            let content: serde_json::Map<_, _> =
                fields.iter().map(|(name, field)| (name.clone(), filled(field))).collect();
            json!({ "action": "accept", "content": content })
        }
    }
}

/// Fills in one field of a form.
pub(crate) fn filled(field: &Value) -> Value {
    let choice = |choices: &Value| match &choices[0] {
        Value::Object(titled) => titled["const"].clone(),
        plain => plain.clone(),
    };
    match field["type"].as_str() {
        Some("array") if field["items"].get("anyOf").is_some() => json!([choice(&field["items"]["anyOf"])]),
        Some("array") => json!([choice(&field["items"]["enum"])]),
        Some("boolean") => json!(true),
        Some("number" | "integer") => json!(3),
        _ if field.get("enum").is_some() => choice(&field["enum"]),
        _ if field.get("oneOf").is_some() => choice(&field["oneOf"]),
        _ if field["format"] == "email" => json!("ada@example.com"),
        _ => json!("Ada"),
    }
}

/// A call that asks, the questions that it asks in order, what it says in the end, and in which revisions that works.
struct Question {
    method: &'static str,
    params: Value,
    asked: &'static [&'static str],
    told: &'static str,
    revisions: &'static str,
}

fn questions() -> Vec<Question> {
    let tool = |name: &str, asked, told, revisions| Question {
        method: "tools/call",
        params: json!({ "name": name }),
        asked,
        told,
        revisions,
    };
    let form =
        r#"{"name":"Ada","mail":"ada@example.com","count":3,"ratio":3.0,"ready":true,"color":"red","size":"small"}"#;
    vec![
        tool("form", &["elicitation/create"], form, "--xxx"),
        tool("choose", &["elicitation/create"], "", "--xxx"),
        tool("visit", &["elicitation/create"], "visited", "---xx"),
        tool("visit-known", &["elicitation/create"], "visited", "---xx"),
        tool("both", &["elicitation/create", "elicitation/create"], "true true", "--xxx"),
        tool("wizard", &["elicitation/create", "elicitation/create"], "true true", "--xxx"),
        tool("sample", &["sampling/createMessage"], "m: a fish", "xxxxx"),
        tool("sample-tools", &["sampling/createMessage"], "m", "---xx"),
        tool("roots", &["roots/list"], "file:///work", "xxxxx"),
        Question {
            method: "resources/read",
            params: json!({ "uri": "fix://asked" }),
            asked: &["elicitation/create"],
            told: "true",
            revisions: "--xxx",
        },
        Question {
            method: "prompts/get",
            params: json!({ "name": "asked" }),
            asked: &["elicitation/create"],
            told: "yes is true",
            revisions: "--xxx",
        },
    ]
}

async fn check_question(talk: &mut Talk, row: &Row, question: Question) {
    let Question { method, params, asked, told, revisions } = question;
    let (questions, answer) = talk.converse(method, params.clone(), answered).await;
    if !row.is_in(revisions) {
        // What cannot be asked is not asked.
        assert!(questions.is_empty(), "{}: {params}: {questions:?}", row.version);
        let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
        assert!(failed, "{}: {params}: {answer}", row.version);
        return;
    }
    let methods: Vec<_> = questions.iter().map(|q| q["method"].as_str().expect("a method")).collect();
    assert_eq!(methods, asked, "{}: {params}", row.version);
    let result = &answer["result"];
    let texts =
        [&result["content"][0]["text"], &result["contents"][0]["text"], &result["messages"][0]["content"]["text"]];
    let text = texts.iter().find_map(|t| t.as_str()).unwrap_or_else(|| panic!("{}: {params}: {answer}", row.version));
    assert!(text.contains(told), "{}: {params}: {text}", row.version);
}

#[test]
fn every_request_of_the_server() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            for question in questions() {
                check_question(&mut talk, row, question).await;
            }
            // The work before and between the questions was done once, however the questions were asked.
            let expected = if row.forms { 2 } else { 1 };
            let counters = talk.call("counters", json!({})).await;
            let text = counters["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains(&format!("\"steps\":{expected}")), "{}: {text}", row.version);
        }
    });
}

#[test]
fn what_a_client_cannot_do_is_not_asked_for() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::with(crate::fixture::server(), row, json!({})).await;
            for tool in ["form", "choose", "visit", "both", "sample", "sample-tools", "roots"] {
                let answer = talk.ask("tools/call", json!({ "name": tool })).await;
                let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
                assert_eq!(answer["result"]["isError"], true, "{}: {tool}: {answer}", row.version);
                assert!(text.starts_with("the client cannot ") && text.contains("does not support"), "{text}");
            }
            // What no model is told of, or the developer asks for, is an error of the protocol.
            let read = talk.ask("resources/read", json!({ "uri": "fix://asked" })).await;
            let needs = ClientCapabilities::new().roots(RootsCapability::new());
            let requires = move |ctx: Ctx| std::future::ready(ctx.require(&needs).map(|()| "it is there"));
            let server = Server::new("s", "1").tool(tool("requires", requires)).build();
            let required =
                Talk::with(server, row, json!({})).await.ask("tools/call", json!({ "name": "requires" })).await;
            for answer in [read, required] {
                assert_eq!(answer["error"]["code"], row.missing_capability, "{}: {answer}", row.version);
                assert!(answer["error"]["data"]["requiredCapabilities"].is_object(), "{answer}");
                if !row.session {
                    schema::check(row.version, "MissingRequiredClientCapabilityError", &answer);
                }
            }
        }
    });
}

/// Calls a tool and returns the notifications before its response.
async fn told(talk: &mut Talk, params: Value) -> Vec<Value> {
    let id = talk.start("tools/call", params);
    let answer = talk.response(id).await;
    assert!(answer.get("result").is_some(), "{answer}");
    talk.ready()
}

#[test]
fn progress() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            for token in [json!(77), json!("seventy-seven")] {
                let params = json!({ "name": "work", "_meta": { "progressToken": token } });
                let notes = told(&mut talk, params).await;
                assert_eq!(notes.len(), 3, "{}: {notes:?}", row.version);
                for (note, done) in notes.iter().zip(1..) {
                    assert_eq!(note["method"], "notifications/progress");
                    let mut expected = json!({ "progressToken": token, "progress": done, "total": 3 });
                    if row.progress_message {
                        expected["message"] = json!(format!("part {done}"));
                    }
                    assert_eq!(note["params"], expected, "{}", row.version);
                }
            }
            assert!(told(&mut talk, json!({ "name": "work" })).await.is_empty(), "{}: not asked for", row.version);
        }
    });
}

#[test]
fn log_messages() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            for (level, expected) in [
                ("debug", vec![json!("details"), json!({ "disk": "full" }), json!("broken")]),
                ("warning", vec![json!({ "disk": "full" }), json!("broken")]),
                ("error", vec![json!("broken")]),
                ("emergency", vec![]),
            ] {
                let mut params = json!({ "name": "chatter" });
                if row.session {
                    talk.ask("logging/setLevel", json!({ "level": level })).await;
                } else {
                    params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": level });
                }
                let notes = told(&mut talk, params).await;
                assert!(notes.iter().all(|n| n["method"] == "notifications/message"), "{notes:?}");
                let data: Vec<_> = notes.iter().map(|n| n["params"]["data"].clone()).collect();
                assert_eq!(data, expected, "{}: from `{level}`", row.version);
            }
            if !row.session {
                assert!(told(&mut talk, json!({ "name": "chatter" })).await.is_empty(), "nobody asked for logs");
            }
        }
    });
}

#[test]
fn changes() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let listening = if row.session {
                talk.ask("resources/subscribe", json!({ "uri": "fix://live" })).await;
                None
            } else {
                let filter = json!({
                    "toolsListChanged": true,
                    "promptsListChanged": true,
                    "resourcesListChanged": true,
                    "resourceSubscriptions": ["fix://live"],
                });
                let id = talk.start("subscriptions/listen", json!({ "notifications": filter }));
                assert_eq!(talk.next().await["params"]["notifications"], filter);
                Some(id)
            };
            talk.call("grow", json!({ "name": "new" })).await;
            talk.call("touch", json!({ "name": "fix://live" })).await;
            talk.call("touch", json!({ "name": "fix://text" })).await;
            let notes = talk.ready();
            let mut methods: Vec<_> = notes.iter().map(|n| n["method"].as_str().expect("a method")).collect();
            methods.sort_unstable();
            let expected = [
                "notifications/prompts/list_changed",
                "notifications/resources/list_changed",
                "notifications/resources/updated",
                "notifications/tools/list_changed",
            ];
            assert_eq!(methods, expected, "{}", row.version);
            for note in &notes {
                let meta = &note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
                assert_eq!(*meta, json!(listening), "{}: {note}", row.version);
                if note["method"] == "notifications/resources/updated" {
                    assert_eq!(note["params"]["uri"], "fix://live");
                }
            }
            // After the end of the subscription nothing is told about the resource.
            if let Some(id) = listening {
                talk.notify("notifications/cancelled", json!({ "requestId": id }));
            } else {
                talk.ask("resources/unsubscribe", json!({ "uri": "fix://live" })).await;
            }
            talk.call("touch", json!({ "name": "fix://live" })).await;
            assert_eq!(talk.ready(), [Value::Null; 0], "{}", row.version);
        }
    });
}

#[test]
fn subscriptions_end_with_the_input() {
    block_on(async {
        for row in ROWS.iter().filter(|r| !r.session) {
            let mut talk = Talk::open(row).await;
            let id = talk.start("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
            talk.next().await;
            let last = talk.finish().await;
            assert_eq!(last.len(), 2, "{last:?}");
            schema::response(row.version, "subscriptions/listen", &last[0]);
            assert_eq!(last[0]["id"], id);
            schema::notification(row.version, schema::From::Server, &last[1]);
            assert_eq!(last[1]["params"]["requestId"], id);
        }
    });
}

#[test]
fn cancellation() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let params = json!({ "name": "slow", "_meta": { "progressToken": "p" } });
            let slow = talk.start("tools/call", params);
            assert_eq!(talk.next().await["method"], "notifications/progress");
            talk.notify("notifications/cancelled", json!({ "requestId": slow, "reason": "too slow" }));
            let counters = talk.call("counters", json!({})).await;
            let text = counters["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains(r#""started":1,"dropped":1"#), "{}: {text}", row.version);
            assert_eq!(talk.ready(), [Value::Null; 0], "{}: a cancelled request has no response", row.version);
            // A question of a call that is cancelled is taken back.
            if row.session && row.forms {
                let form = talk.start("tools/call", json!({ "name": "form" }));
                let question = talk.next().await;
                talk.notify("notifications/cancelled", json!({ "requestId": form }));
                let back = talk.next().await;
                assert_eq!(back["method"], "notifications/cancelled", "{back}");
                assert_eq!(back["params"]["requestId"], question["id"]);
            }
            // Cancelling what is not there does no harm.
            talk.notify("notifications/cancelled", json!({ "requestId": 99_999 }));
            talk.call("add", json!({ "a": 1, "b": 2 })).await;
        }
    });
}

#[test]
fn notifications_of_the_client() {
    block_on(async {
        for row in ROWS.iter().filter(|r| r.session) {
            let mut talk = Talk::open(row).await;
            talk.notify("notifications/roots/list_changed", json!({}));
            talk.notify("notifications/progress", json!({ "progressToken": 1, "progress": 0.5 }));
            let counters = talk.call("counters", json!({})).await;
            let text = counters["content"][0]["text"].as_str().expect("a text");
            assert!(text.contains("notifications/roots/list_changed"), "{}: {text}", row.version);
        }
    });
}

#[test]
fn pages() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::with(crate::fixture::paged(), row, json!({})).await;
            for (method, list) in [
                ("tools/list", "tools"),
                ("prompts/list", "prompts"),
                ("resources/list", "resources"),
                ("resources/templates/list", "resourceTemplates"),
            ] {
                let mut params = json!({});
                let mut sizes = Vec::new();
                loop {
                    let page = talk.ask(method, params).await;
                    sizes.push(page["result"][list].as_array().expect("a list").len());
                    match &page["result"]["nextCursor"] {
                        Value::Null => break,
                        cursor => params = json!({ "cursor": cursor }),
                    }
                }
                assert_eq!(sizes, [2, 2, 1], "{}: `{method}`", row.version);
                let wrong = talk.ask(method, json!({ "cursor": "bogus" })).await;
                assert_eq!(wrong["error"]["code"], -32602, "{}: {wrong}", row.version);
            }
            // What the server does not offer does not exist.
            for method in ["completion/complete", "resources/subscribe", "logging/setLevel"] {
                assert_eq!(talk.refused(method, json!({})).await, -32601, "{}: `{method}`", row.version);
            }
        }
    });
}

#[test]
fn a_method_beyond_the_specification() {
    block_on(async {
        for row in &ROWS {
            let mut wire = couplet_testing::Wire::new(crate::fixture::server(), row.version);
            wire.open().await;
            let answer = wire.request("fixture/echo", json!({ "a": [1, null] })).await;
            assert_eq!(answer["result"]["a"], json!([1, null]), "{}: {answer}", row.version);
        }
    });
}

/// What the client carries from round to round is bound to the call that it belongs to.
#[test]
fn state_that_is_not_the_servers() {
    block_on(async {
        for row in ROWS.iter().filter(|r| !r.session) {
            let mut talk = Talk::open(row).await;
            let first = talk.ask("tools/call", json!({ "name": "wizard" })).await;
            let state = first["result"]["requestState"].as_str().expect("a state").to_owned();
            let mut forged = state.clone();
            let last = forged.pop().expect("a character");
            forged.push(if last == 'A' { 'B' } else { 'A' });
            let answers = json!({ "first": { "action": "accept", "content": { "yes": true } } });
            for (tool, state) in [("wizard", "nonsense"), ("wizard", &*forged), ("both", &*state)] {
                let params = json!({ "name": tool, "requestState": state, "inputResponses": answers });
                let answer = talk.ask("tools/call", params).await;
                assert_eq!(answer["error"]["code"], -32602, "{tool} with {state}: {answer}");
            }
            // The true one still works, and the next question is another one.
            let params = json!({ "name": "wizard", "requestState": state, "inputResponses": answers });
            let second = talk.ask("tools/call", params).await;
            let questions = second["result"]["inputRequests"].as_object().expect("questions");
            assert_eq!(questions.keys().collect::<Vec<_>>(), ["second"], "{second}");
        }
    });
}
