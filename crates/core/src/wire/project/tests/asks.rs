//! Requests for input in every revision: the request that the client gets, or the reason why it gets none.

use couplet_types::{ElicitParams, TaskMetadata};

use super::{super::ask::is_web_address, *};

fn rendered(ask: &Ask, revision: Revision, can: &Value) -> Result<Value, String> {
    let can: ClientCapabilities = serde_json::from_value(can.clone()).unwrap();
    let request = ask.clone().render(revision, &can).map_err(|e| format!("{} {}", e.code, e.message))?;
    Ok(json!({ "method": request.method, "params": request.params }))
}

/// The error for a capability that the client lacks.
fn cannot(revision: Revision, what: &str) -> Result<Value, String> {
    let code = if is_marked(SESSIONS, revision) { -32600 } else { -32021 };
    Err(format!("{code} the client cannot {what}; use a client that does"))
}

fn form() -> ElicitParams {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string", "default": "b" } } });
    let mut params = ElicitParams::default();
    params.message = "m".to_owned();
    params.requested_schema(schema).url("https://a.b").elicitation_id("e").task(TaskMetadata::new())
}

#[test]
fn forms() {
    let lacks = "ask the user: it does not support elicitation";
    for revision in revisions() {
        let mut expected = json!({
            "mode": "form", "message": "m",
            "requestedSchema": { "type": "object", "properties": { "a": { "type": "string", "default": "b" } } },
        });
        if !is_marked(FROM_11_25, revision) {
            expected.as_object_mut().unwrap().remove("mode");
            expected["requestedSchema"]["properties"]["a"].as_object_mut().unwrap().remove("default");
        }
        let expected = Ok(json!({ "method": "elicitation/create", "params": expected }));
        let allowed = is_marked(FROM_06_18, revision);
        let expected = if allowed { expected } else { cannot(revision, lacks) };
        let ask = Ask::Elicit(form().into());
        assert_eq!(rendered(&ask, revision, &json!({ "elicitation": {} })), expected, "{revision:?}");
        for can in [json!({}), json!({ "elicitation": { "url": {} } })] {
            assert_eq!(rendered(&ask, revision, &can), cannot(revision, lacks), "{revision:?}");
        }
        let schema = |schema: Option<Value>| {
            let mut params = form();
            params.requested_schema = schema.map(Into::into);
            rendered(&Ask::Elicit(params.into()), revision, &json!({ "elicitation": {} }))
        };
        if allowed {
            assert_eq!(schema(None), Err("-32603 the form has no schema".to_owned()));
            let nested = json!({ "type": "object", "properties": { "a": { "type": "object" } } });
            let error = schema(Some(nested)).unwrap_err();
            assert!(error.starts_with("-32603 the form is not a flat object of plain fields"), "{error}");
        }
    }
}

#[test]
fn urls() {
    let can = json!({ "elicitation": { "url": {} } });
    for revision in revisions() {
        for id in [None, Some("e")] {
            let mut params = ElicitParams::visit("m", "https://a.b/c");
            params.elicitation_id = id.map(str::to_owned);
            params.requested_schema = Some(RawJson::empty_object());
            let ask = Ask::Elicit(params.into());
            let lacks = "ask the user to open a page: it does not support URL elicitation";
            assert_eq!(rendered(&ask, revision, &json!({ "elicitation": {} })), cannot(revision, lacks));
            let found = rendered(&ask, revision, &can);
            if !is_marked(FROM_11_25, revision) {
                assert_eq!(found, cannot(revision, lacks), "{revision:?}");
                continue;
            }
            let mut found = found.unwrap();
            let found_id = found["params"].as_object_mut().unwrap().remove("elicitationId");
            let expected = json!({ "mode": "url", "message": "m", "url": "https://a.b/c" });
            assert_eq!(found, json!({ "method": "elicitation/create", "params": expected }), "{revision:?}");
            match (is_marked(ONLY_11_25, revision), id) {
                (false, _) => assert_eq!(found_id, None),
                (true, Some(id)) => assert_eq!(found_id, Some(json!(id))),
                (true, None) => {
                    let random = |value: &Value| value.as_str().unwrap().len() == 22;
                    assert!(random(&found_id.unwrap()));
                    let other = rendered(&ask, revision, &can).unwrap();
                    assert!(random(&other["params"]["elicitationId"]));
                }
            }
        }
    }
}

#[test]
fn urls_are_those_of_the_web() {
    for (url, good) in [
        ("https://a.b", true),
        ("http://a.b/c?d=e#f", true),
        ("HTTPS://a.b", true),
        ("http://user@a.b:80/", true),
        ("https://[::1]/", true),
        ("ftp://a.b", false),
        ("a.b", false),
        ("https:/a.b", false),
        ("https://", false),
        ("https:///c", false),
        ("https://?a", false),
        ("https://#a", false),
        ("https://:80/", false),
        ("https://user@/", false),
        ("https://a.b/c d", false),
        ("https://a.b/<c>", false),
        ("https://a.b/\u{e9}", false),
        ("https://a.b/\n", false),
        ("", false),
    ] {
        assert_eq!(is_web_address(url), good, "{url}");
        let ask = Ask::Elicit(ElicitParams::visit("m", url).into());
        let latest = Revision::of(ProtocolVersion::LATEST);
        let found = rendered(&ask, latest, &json!({ "elicitation": { "url": {} } }));
        let refused = "-32603 the address to visit must be an absolute `https:` or `http:` URL";
        assert_eq!(found.err().as_deref(), (!good).then_some(refused), "{url}");
    }
}

#[test]
fn roots() {
    for revision in revisions() {
        let expected = json!({ "method": "roots/list", "params": {} });
        assert_eq!(rendered(&Ask::Roots, revision, &json!({ "roots": {} })), Ok(expected), "{revision:?}");
        let lacks = cannot(revision, "list its roots: it does not support roots");
        assert_eq!(rendered(&Ask::Roots, revision, &json!({ "sampling": {} })), lacks, "{revision:?}");
    }
}

fn sampling(messages: &Value, more: &Value) -> Ask {
    let mut params = json!({ "messages": messages, "maxTokens": 9, "task": {} });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Ask::Sample(Box::new(serde_json::from_value(params).unwrap()))
}

fn said(content: &Value) -> Value {
    json!([{ "role": "user", "content": content, "_meta": meta() }])
}

#[test]
fn messages_are_sampled() {
    let text = json!({ "type": "text", "text": "t" });
    let use_tool = json!({ "type": "tool_use", "id": "1", "name": "t", "input": {} });
    let used = json!({ "type": "tool_result", "toolUseId": "1", "content": [text] });
    let with_tools = json!([{ "role": "assistant", "content": use_tool }, { "role": "user", "content": used }]);
    for revision in revisions() {
        let recent = is_marked(FROM_11_25, revision);
        let check = |messages: &Value, expected: Result<&Value, &str>| {
            let found = rendered(&sampling(messages, &json!({})), revision, &json!({ "sampling": { "tools": {} } }));
            let expected = match expected {
                Ok(messages) => Ok(
                    json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 9 } }),
                ),
                Err(what) => cannot(revision, &format!("ask its model: it does not support {what}")),
            };
            assert_eq!(found, expected, "{revision:?} {messages}");
        };
        let plain = json!([{ "role": "user", "content": text }]);
        let several = "sampling messages with tools or several blocks";
        let many = said(&json!([text, text]));
        if recent {
            check(&said(&text), Ok(&said(&text)));
            check(&said(&json!([text])), Ok(&said(&json!([text]))));
            check(&many, Ok(&many));
            check(&with_tools, Ok(&with_tools));
        } else {
            check(&said(&text), Ok(&plain));
            check(&said(&json!([text])), Ok(&plain));
            check(&many, Err(several));
            check(&with_tools, Err(several));
        }
        let none = rendered(&sampling(&plain, &json!({})), revision, &json!({ "roots": {} }));
        assert_eq!(none, cannot(revision, "ask its model: it does not support sampling"), "{revision:?}");
    }
}

#[test]
fn sampling_with_tools_needs_the_capability() {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": "t" } }]);
    for revision in revisions() {
        let recent = is_marked(FROM_11_25, revision);
        let lacks = cannot(revision, "ask its model: it does not support sampling with tools");
        for more in
            [json!({ "toolChoice": { "mode": "auto" } }), json!({ "tools": [tool(&json!({ "type": "object" }))] })]
        {
            let ask = sampling(&messages, &more);
            assert_eq!(rendered(&ask, revision, &json!({ "sampling": {} })), lacks, "{revision:?}");
            let found = rendered(&ask, revision, &json!({ "sampling": { "tools": {} } }));
            if !recent {
                assert_eq!(found, lacks, "{revision:?}");
                continue;
            }
            let params = &found.unwrap()["params"];
            for (key, value) in more.as_object().unwrap() {
                let mut value = value.clone();
                if key == "tools" && !is_marked(ONLY_11_25, revision) {
                    value[0].as_object_mut().unwrap().remove("execution");
                }
                assert_eq!(params[key], value, "{revision:?}");
            }
        }
    }
}

#[test]
fn context_of_servers_needs_the_capability() {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": "t" } }]);
    for revision in revisions() {
        let recent = is_marked(FROM_11_25, revision);
        for (context, can, sent) in [
            ("thisServer", json!({}), !recent),
            ("thisServer", json!({ "context": {} }), true),
            ("none", json!({}), true),
        ] {
            let ask = sampling(&messages, &json!({ "includeContext": context }));
            let found = rendered(&ask, revision, &json!({ "sampling": can })).unwrap();
            let expected = if sent { json!(context) } else { Value::Null };
            assert_eq!(found["params"]["includeContext"], expected, "{revision:?} {context} {can}");
        }
    }
}

#[test]
fn broken_messages_are_not_sampled() {
    let revision = Revision::of(ProtocolVersion::LATEST);
    let can = json!({ "sampling": { "tools": {} } });
    for (content, error) in [
        (
            json!({ "type": "tool_result", "toolUseId": "1", "content": [] }),
            "-32602 sampling messages: every tool use needs its result in the next message",
        ),
        (
            json!({ "type": "image", "data": "!", "mimeType": "image/png" }),
            "-32603 sampling messages: the data is not base64",
        ),
    ] {
        let found = rendered(&sampling(&said(&content), &json!({})), revision, &can);
        assert_eq!(found, Err(error.to_owned()));
    }
}
