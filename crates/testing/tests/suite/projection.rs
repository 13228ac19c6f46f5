//! What a value looks like in each revision: what is kept, what is cut, what is said in another way.

use couplet_testing::block_on;
use serde_json::{Value, json};

use crate::{
    rows::{ROWS, Row, Wrong},
    shapes::answered,
    talk::Talk,
};

/// Asserts that a member is there if, and only if, the revision has it.
#[track_caller]
fn kept(row: &Row, has: bool, value: &Value, member: &str) {
    assert_eq!(value.get(member).is_some(), has, "{}: `{member}` in {value:#}", row.version);
}

#[track_caller]
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let entries = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    entries.iter().find(|e| e["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {list:#}"))
}

#[test]
fn the_greeting() {
    block_on(async {
        for row in &ROWS {
            let greeting = Talk::open(row).await.greeting["result"].clone();
            let info = if row.session {
                assert_eq!(greeting["protocolVersion"], row.version.as_str());
                &greeting["serverInfo"]
            } else {
                let versions = greeting["supportedVersions"].as_array().expect("versions");
                assert!(ROWS.iter().all(|r| versions.contains(&json!(r.version.as_str()))), "{greeting}");
                &greeting["_meta"]["io.modelcontextprotocol/serverInfo"]
            };
            assert_eq!((&info["name"], &info["version"]), (&json!("fixture"), &json!("1.2.3")), "{}", row.version);
            kept(row, row.titles, info, "title");
            for member in ["description", "icons", "websiteUrl"] {
                kept(row, row.icons, info, member);
            }
            assert_eq!(greeting["instructions"], "Call everything.");
            let capabilities = &greeting["capabilities"];
            kept(row, row.completions, capabilities, "completions");
            kept(row, false, capabilities, "tasks");
            let expected = json!({ "subscribe": true, "listChanged": true });
            assert_eq!(capabilities["resources"], expected, "{}", row.version);
            for list in ["tools", "prompts"] {
                assert_eq!(capabilities[list], json!({ "listChanged": true }), "{}", row.version);
            }
            assert_eq!(capabilities["logging"], json!({}), "{}", row.version);
        }
    });
}

#[test]
fn an_older_or_unknown_revision_is_answered_with_one_that_is_spoken() {
    block_on(async {
        for (asked, given) in [("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25"), ("2026-07-28", "2025-11-25")]
        {
            let row = &ROWS[0];
            let mut wire = couplet_testing::Wire::new(crate::fixture::server(), row.version);
            let client = json!({ "name": "c", "version": "1" });
            let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": client });
            wire.send(&json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params }));
            let answer = wire.response("i").await;
            assert_eq!(answer["result"]["protocolVersion"], given, "{asked}: {answer}");
        }
        // Without a handshake, a revision that is not spoken is an error that says which ones are.
        for (version, code) in [("1999-01-01", -32022), ("2025-11-25", -32022)] {
            let mut wire = couplet_testing::Wire::new(crate::fixture::server(), ROWS[4].version);
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            wire.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } }));
            let answer = wire.response(1).await;
            assert_eq!(answer["error"]["code"], code, "{answer}");
            assert_eq!(answer["error"]["data"]["requested"], version);
            assert!(answer["error"]["data"]["supported"].as_array().is_some_and(|s| s.len() == 5), "{answer}");
            crate::schema::check(ROWS[4].version, "UnsupportedProtocolVersionError", &answer);
        }
    });
}

#[test]
fn the_frame_of_results() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            for (method, params, cacheable) in [
                ("tools/list", json!({}), true),
                ("prompts/list", json!({}), true),
                ("resources/list", json!({}), true),
                ("resources/templates/list", json!({}), true),
                ("resources/read", json!({ "uri": "fix://text" }), true),
                ("tools/call", json!({ "name": "blocks" }), false),
                ("prompts/get", json!({ "name": "gallery" }), false),
            ] {
                let result = talk.ask(method, params).await["result"].clone();
                let expected = if row.session { Value::Null } else { json!("complete") };
                assert_eq!(result["resultType"], expected, "{}: `{method}`", row.version);
                kept(row, cacheable && !row.session, &result, "ttlMs");
                kept(row, cacheable && !row.session, &result, "cacheScope");
                let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
                assert_eq!(info.is_object(), !row.session, "{}: {result}", row.version);
                if method == "tools/call" {
                    // The open map of a result exists in all revisions.
                    assert_eq!(result["_meta"]["example.com/mark"], json!({ "n": 1 }), "{}", row.version);
                }
            }
        }
    });
}

#[test]
fn listed_tools() {
    block_on(async {
        for row in &ROWS {
            let tools = Talk::open(row).await.ask("tools/list", json!({})).await["result"]["tools"].clone();
            let add = named(&tools, "add");
            assert_eq!(add["description"], "Adds two numbers.");
            assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
            kept(row, row.titles, add, "title");
            kept(row, row.titles, add, "_meta");
            kept(row, row.icons, add, "icons");
            kept(row, row.tool_annotations, add, "annotations");
            kept(row, false, add, "outputSchema");
            kept(row, row.structured, named(&tools, "sum"), "outputSchema");
            kept(row, row.any_structured, named(&tools, "range"), "outputSchema");
            for tool in tools.as_array().expect("a list") {
                kept(row, false, tool, "execution");
            }
        }
    });
}

#[test]
fn listed_resources_and_prompts() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let resources = talk.ask("resources/list", json!({})).await["result"]["resources"].clone();
            let templates = talk.ask("resources/templates/list", json!({})).await["result"].clone();
            let prompts = talk.ask("prompts/list", json!({})).await["result"]["prompts"].clone();
            let (text, item) = (named(&resources, "text"), named(&templates["resourceTemplates"], "item"));
            let plan = named(&prompts, "plan");
            for entry in [text, item, plan] {
                kept(row, row.titles, entry, "title");
                kept(row, row.titles, entry, "_meta");
                kept(row, row.icons, entry, "icons");
                kept(row, true, entry, "description");
            }
            for entry in [text, item] {
                assert_eq!(entry["annotations"]["priority"], 0.5, "{}", row.version);
                kept(row, row.titles, &entry["annotations"], "lastModified");
            }
            assert_eq!(text["size"], 9);
            let country = named(&plan["arguments"], "country");
            assert_eq!(country["required"], true);
            assert_eq!(country["description"], "Where to go");
            kept(row, row.titles, country, "title");
        }
    });
}

/// The blocks of the fixture as a revision has them.
fn check_blocks(row: &Row, blocks: &[Value]) {
    let [text, image, audio, embedded, blob, link] = blocks else { panic!("{}: {blocks:#?}", row.version) };
    for (block, kind) in [(text, "text"), (image, "image"), (embedded, "resource"), (blob, "resource")] {
        assert_eq!(block["type"], kind, "{}", row.version);
    }
    for block in [text, image, embedded] {
        kept(row, row.titles, block, "_meta");
        kept(row, row.titles, &block["annotations"], "lastModified");
        assert_eq!(block["annotations"]["audience"], json!(["user"]), "{}", row.version);
    }
    assert_eq!(embedded["resource"]["text"], "inside");
    kept(row, row.titles, &embedded["resource"], "_meta");
    assert_eq!(blob["resource"]["blob"], "AAEC");
    // What a revision does not know is told as text, and keeps the hints that the revision knows.
    for (block, has, kind, said) in
        [(audio, row.audio, "audio", "audio/wav"), (link, row.links, "resource_link", "fix://text")]
    {
        assert_eq!(block["type"], if has { kind } else { "text" }, "{}: {block}", row.version);
        assert_eq!(block["annotations"]["priority"], 0.5, "{}: {block}", row.version);
        kept(row, row.titles, &block["annotations"], "lastModified");
        kept(row, row.titles, block, "_meta");
        if !has {
            assert!(block["text"].as_str().is_some_and(|t| t.contains(said)), "{}: {block}", row.version);
        }
    }
    if row.links {
        assert_eq!((&link["name"], &link["title"]), (&json!("text"), &json!("The text")));
        kept(row, row.icons, link, "icons");
    }
}

#[test]
fn content_blocks() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let result = talk.call("blocks", json!({})).await;
            check_blocks(row, result["content"].as_array().expect("blocks"));
            let gallery = talk.ask("prompts/get", json!({ "name": "gallery" })).await["result"].clone();
            let messages = gallery["messages"].as_array().expect("messages");
            let blocks: Vec<_> = messages.iter().map(|m| m["content"].clone()).collect();
            check_blocks(row, &blocks);
        }
    });
}

#[test]
fn structured_content() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            for (tool, arguments, data, has) in [
                ("sum", json!({ "a": 1, "b": 2 }), json!({ "total": 3.0 }), row.structured),
                ("range", json!({ "n": 3 }), json!([0, 1, 2]), row.any_structured),
            ] {
                let result = talk.call(tool, arguments).await;
                kept(row, has, &result, "structuredContent");
                if has {
                    assert_eq!(result["structuredContent"], data, "{}", row.version);
                }
                // The text is there for everybody, and says the same.
                let text = result["content"][0]["text"].as_str().expect("a text");
                assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), data, "{}", row.version);
            }
        }
    });
}

#[test]
fn failures() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let failed = talk.call("fail", json!({})).await;
            assert_eq!((&failed["isError"], &failed["content"][0]["text"]), (&json!(true), &json!("it did not work")));
            for (method, params, code) in [
                ("tools/call", json!({ "name": "refuse" }), 1234),
                ("tools/call", json!({ "name": "boom" }), -32603),
                ("tools/call", json!({ "name": "nobody" }), -32602),
                ("prompts/get", json!({ "name": "nobody" }), -32602),
                ("prompts/get", json!({ "name": "plan" }), -32602),
                ("prompts/get", json!({ "name": "plan", "arguments": { "country": "x", "days": "many" } }), -32602),
                ("resources/read", json!({ "uri": "fix://nothing" }), row.not_found),
                ("resources/read", json!({ "uri": "fix://gone/1" }), row.not_found),
                ("resources/read", json!({ "uri": "fix://item/apple/seven" }), -32602),
                (
                    "completion/complete",
                    json!({ "ref": { "type": "ref/prompt", "name": "no" }, "argument": { "name": "a", "value": "" } }),
                    -32602,
                ),
            ] {
                let answer = talk.ask(method, params.clone()).await;
                assert_eq!(answer["error"]["code"], code, "{}: {params}: {answer}", row.version);
                assert!(!answer.to_string().contains("a secret"), "a panic is not told: {answer}");
                if params["uri"].is_string() && code == row.not_found && params["uri"] != "fix://item/apple/seven" {
                    assert_eq!(answer["error"]["data"]["uri"], params["uri"], "{}: {answer}", row.version);
                }
                if code == 1234 {
                    assert_eq!(answer["error"]["data"], json!({ "why": "rain" }));
                }
            }
            for arguments in [json!({ "a": 1 }), json!({ "a": 1, "b": "two" })] {
                let answer = talk.ask("tools/call", json!({ "name": "add", "arguments": arguments })).await;
                match row.wrong_arguments {
                    Wrong::Protocol => assert_eq!(answer["error"]["code"], -32602, "{}: {answer}", row.version),
                    Wrong::Result => assert_eq!(answer["result"]["isError"], true, "{}: {answer}", row.version),
                }
                assert!(answer.to_string().contains('b'), "it says what is wrong: {answer}");
            }
            // Parameters that are not a call at all are an error of the protocol everywhere.
            for params in [json!({}), json!({ "name": 5 }), json!({ "name": "add", "arguments": [1] })] {
                assert_eq!(talk.refused("tools/call", params).await, -32602, "{}", row.version);
            }
            let levels = if row.session { -32602 } else { -32601 };
            assert_eq!(talk.refused("logging/setLevel", json!({ "level": "loud" })).await, levels);
        }
    });
}

#[test]
fn forms() {
    block_on(async {
        for row in ROWS.iter().filter(|r| r.forms) {
            let mut talk = Talk::open(row).await;
            let (questions, _) = talk.converse("tools/call", json!({ "name": "form" }), answered).await;
            let params = &questions[0]["params"];
            assert_eq!(params["mode"], if row.rich { json!("form") } else { Value::Null }, "{}", row.version);
            let fields = &params["requestedSchema"]["properties"];
            let expected = json!({ "type": "string", "description": "Who you are", "minLength": 1, "maxLength": 40 });
            assert_eq!(fields["name"], expected, "{}", row.version);
            assert_eq!(fields["mail"]["format"], "email");
            assert_eq!((&fields["count"]["type"], &fields["count"]["maximum"]), (&json!("integer"), &json!(9)));
            assert_eq!(fields["ratio"]["type"], "number");
            assert_eq!(fields["ready"], json!({ "type": "boolean", "default": false }));
            assert_eq!(fields["color"]["enum"], json!(["red", "green"]));
            if row.rich {
                let titled = json!([
                    { "const": "small", "title": "Fits a pocket" },
                    { "const": "large", "title": "Needs a truck" },
                ]);
                assert_eq!(fields["size"]["oneOf"], titled, "{}", row.version);
            } else {
                let size = &fields["size"];
                assert_eq!(size["enum"], json!(["small", "large"]), "{size}");
                assert_eq!(size["enumNames"], json!(["Fits a pocket", "Needs a truck"]), "{size}");
            }
        }
    });
}

#[test]
fn choices_and_visits() {
    block_on(async {
        for row in ROWS.iter().filter(|r| r.forms) {
            let mut talk = Talk::open(row).await;
            let (choose, answer) = talk.converse("tools/call", json!({ "name": "choose" }), answered).await;
            let (visit, visited) = talk.converse("tools/call", json!({ "name": "visit" }), answered).await;
            if !row.rich {
                let fields = choose[0]["params"]["requestedSchema"]["properties"].as_object().unwrap();
                let names: Vec<_> = fields.keys().map(String::as_str).collect();
                assert_eq!(names, ["flag", "number", "one", "text", "titled"], "several of many cannot be asked for");
                assert!(answer.get("result").is_some(), "{answer}");
                assert_eq!(visited["result"]["isError"], true, "{visited}");
                continue;
            }
            let fields = &choose[0]["params"]["requestedSchema"]["properties"];
            assert_eq!(fields["some"]["items"], json!({ "type": "string", "enum": ["a", "b"] }));
            assert_eq!(fields["some_titled"]["items"]["anyOf"][1], json!({ "const": "l", "title": "Large" }));
            assert_eq!(fields["some_titled"]["default"], json!(["s"]));
            assert_eq!((&fields["text"]["default"], &fields["number"]["default"]), (&json!("x"), &json!(3)));
            assert_eq!((&fields["one"]["default"], &fields["flag"]["default"]), (&json!("a"), &json!(true)));
            let visit = &visit[0]["params"];
            assert_eq!((&visit["mode"], &visit["url"]), (&json!("url"), &json!("https://example.com/login")));
            kept(row, row.elicitation_id, visit, "elicitationId");
            // An id of the server's own is kept, and the end of the visit is told, where there are ids.
            let (known, _) = talk.converse("tools/call", json!({ "name": "visit-known" }), answered).await;
            let id = if row.elicitation_id { json!("visit-1") } else { Value::Null };
            assert_eq!(known[0]["params"]["elicitationId"], id, "{}", row.version);
            let told: Vec<_> = talk.notes.iter().map(|n| (&n["method"], &n["params"]["elicitationId"])).collect();
            let complete = json!("notifications/elicitation/complete");
            let expected = if row.elicitation_id { vec![(&complete, &id)] } else { vec![] };
            assert_eq!(told, expected, "{}", row.version);
        }
    });
}

#[test]
fn answers_that_say_no() {
    block_on(async {
        for row in ROWS.iter().filter(|r| r.forms) {
            let mut talk = Talk::open(row).await;
            for (action, told) in [("decline", "the user declined"), ("cancel", "the user did not answer")] {
                let says = |_: &Value| json!({ "action": action });
                let (_, answer) = talk.converse("tools/call", json!({ "name": "form" }), says).await;
                assert_eq!(answer["result"]["isError"], true, "{}: {answer}", row.version);
                assert_eq!(answer["result"]["content"][0]["text"], told, "{}", row.version);
            }
            // An answer that is not what was asked for.
            let wrong = |_: &Value| json!({ "action": "accept", "content": { "name": 5 } });
            let (_, answer) = talk.converse("tools/call", json!({ "name": "form" }), wrong).await;
            assert_eq!(answer["error"]["code"], -32602, "{}: {answer}", row.version);
        }
    });
}

#[test]
fn sampling() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let (asked, _) = talk.converse("tools/call", json!({ "name": "sample" }), answered).await;
            let params = &asked[0]["params"];
            assert_eq!(params["messages"][0]["content"], json!({ "type": "text", "text": "What is it?" }));
            kept(row, row.rich, &params["messages"][0], "_meta");
            assert_eq!((&params["systemPrompt"], &params["maxTokens"]), (&json!("Be short."), &json!(100)));
            let (asked, answer) = talk.converse("tools/call", json!({ "name": "sample-tools" }), answered).await;
            if row.rich {
                let tool = &asked[0]["params"]["tools"][0];
                assert_eq!(tool["name"], "look");
                kept(row, row.core_tasks, tool, "execution");
                assert_eq!(asked[0]["params"]["toolChoice"], json!({ "mode": "auto" }));
            } else {
                assert_eq!(answer["result"]["isError"], true, "{}: {answer}", row.version);
            }
        }
    });
}

#[test]
fn completions_with_what_is_settled() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let reference = json!({ "type": "ref/prompt", "name": "plan" });
            let mut params = json!({ "ref": reference, "argument": { "name": "city", "value": "" } });
            let all = talk.ask("completion/complete", params.clone()).await;
            assert_eq!(all["result"]["completion"]["values"], json!(["Oslo", "Bergen", "Santiago"]), "{all}");
            params["context"] = json!({ "arguments": { "country": "Norway" } });
            let some = talk.ask("completion/complete", params).await;
            assert_eq!(some["result"]["completion"]["values"], json!(["Oslo", "Bergen"]), "{some}");
        }
    });
}

#[test]
fn the_open_map_of_requests() {
    block_on(async {
        for row in &ROWS {
            let mut talk = Talk::open(row).await;
            let meta = json!({ "example.com/trace": "abc", "progressToken": 1 });
            let answer = talk.ask("tools/call", json!({ "name": "meta", "_meta": meta })).await;
            let text = answer["result"]["content"][0]["text"].as_str().expect("a text");
            assert_eq!(text, r#"{"example.com/trace":"abc"}"#, "{}: only what is the application's", row.version);
        }
    });
}

#[test]
fn batches() {
    block_on(async {
        for row in &ROWS {
            let mut wire = couplet_testing::Wire::new(crate::fixture::server(), row.version);
            wire.open().await;
            let call = |id: &str| {
                let params = json!({ "name": "add", "arguments": { "a": 1, "b": 2 } });
                json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
            };
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" });
            wire.send(&json!([call("a"), note, call("b"), 5]));
            let answer = wire.next().await.expect("an answer");
            if !row.batches {
                assert_eq!(answer["error"]["code"], -32600, "{}: {answer}", row.version);
                continue;
            }
            let answers = answer.as_array().expect("a batch is answered with one");
            assert_eq!(answers.len(), 3, "{answer}");
            for id in ["a", "b"] {
                let one = answers.iter().find(|a| a["id"] == id).expect("an answer");
                assert_eq!(one["result"]["content"][0]["text"], "3", "{answer}");
            }
            assert!(answers.iter().any(|a| a["error"]["code"] == -32600), "{answer}");
            // Only what needs an answer gets one.
            wire.send(&json!([note]));
            assert!(wire.ready().is_empty());
            wire.send(&json!([call("c")]));
            crate::schema::check(row.version, "JSONRPCBatchResponse", &wire.next().await.expect("an answer"));
            wire.send(&json!([]));
            assert_eq!(wire.next().await.expect("an answer")["error"]["code"], -32600);
        }
    });
}
