//! Values in every revision: a value with all its members, and the revisions that have each of them.

mod asks;

use couplet_types::{HasMeta, ProtocolVersion};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::*;
use crate::JsonText;

/// A mark for each revision, oldest first; later revisions are like the last one.
type Marks = &'static str;

//                       2024-11 2025-03 2025-06 2025-11 2026-07
const FROM_03_26: Marks = "-xxxx";
const FROM_06_18: Marks = "--xxx";
const FROM_11_25: Marks = "---xx";
const ONLY_11_25: Marks = "---x-";
const ONLY_2026: Marks = "----x";
const SESSIONS: Marks = "xxxx-";
const NEVER: Marks = "-----";

fn is_marked(marks: Marks, revision: Revision) -> bool {
    marks.as_bytes()[revision.index().min(marks.len() - 1)] == b'x'
}

fn revisions() -> impl Iterator<Item = Revision> {
    ProtocolVersion::ALL.iter().map(|version| Revision::of(*version))
}

fn projected<T: Project + Serialize + DeserializeOwned>(full: &Value, to: Revision) -> Value {
    let mut value: T = serde_json::from_value(full.clone()).unwrap();
    assert_eq!(&json!(value), full, "the type has every member of the example");
    assert_eq!(value.unspeakable(to), None);
    value.project(to);
    json!(value)
}

/// Members are pointers; one without a row is in every revision.
#[track_caller]
fn check<T: Project + Serialize + DeserializeOwned>(full: &Value, members: &[(&str, Marks)]) {
    for revision in revisions() {
        let mut expected = full.clone();
        for (pointer, _) in members.iter().filter(|(_, marks)| !is_marked(marks, revision)) {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            // The parent may be gone with a row of its own.
            if let Some(parent) = expected.pointer_mut(parent).and_then(Value::as_object_mut) {
                parent.remove(key);
            }
        }
        assert_eq!(projected::<T>(full, revision), expected, "{revision:?}");
    }
}

fn icons() -> Value {
    json!([{ "src": "https://example.com/i.png" }])
}

fn annotations() -> Value {
    json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z" })
}

fn meta() -> Value {
    json!({ "com.example/a": 1 })
}

fn tool(schema: &Value) -> Value {
    json!({
        "name": "t", "title": "T", "description": "d", "inputSchema": { "type": "object" }, "outputSchema": schema,
        "annotations": { "readOnlyHint": true }, "execution": { "taskSupport": "optional" }, "icons": icons(),
        "_meta": meta(),
    })
}

#[test]
fn tools() {
    for (schema, marks) in [
        (json!({ "type": "object" }), FROM_06_18),
        (json!({ "type": "array" }), ONLY_2026),
        (json!({ "anyOf": [] }), ONLY_2026),
        (json!({ "type": ["object"] }), ONLY_2026),
    ] {
        let members = [
            ("/title", FROM_06_18),
            ("/_meta", FROM_06_18),
            ("/annotations", FROM_03_26),
            ("/execution", ONLY_11_25),
            ("/icons", FROM_11_25),
            ("/outputSchema", marks),
        ];
        check::<Tool>(&tool(&schema), &members);
        let members = members.map(|(pointer, marks)| (format!("/tools/0{pointer}"), marks));
        let mut members: Vec<_> = members.iter().map(|(pointer, marks)| (&**pointer, *marks)).collect();
        members.push(("/resultType", NEVER));
        check::<ListToolsResult>(&json!({ "tools": [tool(&schema)], "resultType": "complete" }), &members);
    }
}

#[test]
fn prompts_resources_and_templates() {
    let listed = [("/title", FROM_06_18), ("/_meta", FROM_06_18), ("/icons", FROM_11_25)];
    let argument = json!({ "name": "a", "title": "A", "description": "d", "required": true });
    check::<PromptArgument>(&argument, &[("/title", FROM_06_18)]);
    let prompt = json!({ "name": "p", "title": "P", "arguments": [argument], "icons": icons(), "_meta": meta() });
    check::<Prompt>(&prompt, &[&listed[..], &[("/arguments/0/title", FROM_06_18)]].concat());
    let dated = [&listed[..], &[("/annotations/lastModified", FROM_06_18)]].concat();
    let resource = json!({
        "uri": "a:b", "name": "r", "title": "R", "annotations": annotations(), "icons": icons(), "_meta": meta(),
    });
    check::<Resource>(&resource, &dated);
    let template = json!({
        "uriTemplate": "a:{b}", "name": "r", "title": "R", "annotations": annotations(), "icons": icons(),
        "_meta": meta(),
    });
    check::<ResourceTemplate>(&template, &dated);
    check::<ResourceContents>(&json!({ "uri": "a:b", "text": "t", "_meta": meta() }), &[("/_meta", FROM_06_18)]);
}

#[test]
fn implementations_and_capabilities() {
    let info = json!({
        "name": "n", "version": "1", "title": "N", "description": "d", "icons": icons(), "websiteUrl": "https://a.b",
    });
    let of_info =
        [("/title", FROM_06_18), ("/description", FROM_11_25), ("/icons", FROM_11_25), ("/websiteUrl", FROM_11_25)];
    check::<Implementation>(&info, &of_info);

    let server = json!({ "logging": {}, "completions": {}, "tools": { "listChanged": true }, "tasks": {} });
    let of_server = [("/completions", FROM_03_26), ("/tasks", ONLY_11_25)];
    check::<ServerCapabilities>(&server, &of_server);

    let client = json!({
        "roots": { "listChanged": true }, "sampling": { "context": {}, "tools": {} }, "elicitation": { "form": {}, "url": {} },
        "tasks": {},
    });
    let of_client = [
        ("/roots/listChanged", SESSIONS),
        ("/sampling/context", FROM_11_25),
        ("/sampling/tools", FROM_11_25),
        ("/elicitation", FROM_06_18),
        ("/elicitation/form", FROM_11_25),
        ("/elicitation/url", FROM_11_25),
        ("/tasks", ONLY_11_25),
    ];
    check::<ClientCapabilities>(&client, &of_client);
    check::<ClientCapabilities>(&json!({ "elicitation": { "url": {} } }), &[("/elicitation", FROM_11_25)]);
    check::<ClientCapabilities>(&json!({ "elicitation": {} }), &[("/elicitation", FROM_06_18)]);

    fn within(place: &str, members: &[(&str, Marks)]) -> Vec<(String, Marks)> {
        members.iter().map(|(pointer, marks)| (format!("{place}{pointer}"), *marks)).collect()
    }
    let hello = json!({ "protocolVersion": "x", "capabilities": client, "clientInfo": info });
    let members = [within("/capabilities", &of_client), within("/clientInfo", &of_info)].concat();
    check::<InitializeParams>(&hello, &members.iter().map(|(p, m)| (&**p, *m)).collect::<Vec<_>>());
    let welcome =
        json!({ "protocolVersion": "x", "capabilities": server, "serverInfo": info, "resultType": "complete" });
    let result = vec![("/resultType".to_owned(), NEVER)];
    let members = [within("/capabilities", &of_server), within("/serverInfo", &of_info), result.clone()].concat();
    check::<InitializeResult>(&welcome, &members.iter().map(|(p, m)| (&**p, *m)).collect::<Vec<_>>());
    let found = json!({ "supportedVersions": ["x"], "capabilities": server, "resultType": "complete" });
    let members = [within("/capabilities", &of_server), result].concat();
    check::<DiscoverResult>(&found, &members.iter().map(|(p, m)| (&**p, *m)).collect::<Vec<_>>());
}

#[test]
fn content_blocks() {
    let contents = json!({ "uri": "a:b", "text": "t", "_meta": meta() });
    let titled = [("/_meta", FROM_06_18), ("/annotations/lastModified", FROM_06_18)];
    for (mut block, more) in [
        (json!({ "type": "text", "text": "t" }), &[][..]),
        (json!({ "type": "image", "data": "AAAA", "mimeType": "image/png" }), &[]),
        (json!({ "type": "resource", "resource": contents }), &[("/resource/_meta", FROM_06_18)]),
    ] {
        block["annotations"] = annotations();
        block["_meta"] = meta();
        check::<ContentBlock>(&block, &[&titled[..], more].concat());
    }
    check::<ContentBlock>(&json!({ "type": "tool_use", "id": "1", "name": "t", "input": {}, "_meta": meta() }), &[]);
    let text = json!({ "type": "text", "text": "t", "_meta": meta() });
    for (data, marks) in [(json!({ "a": 1 }), FROM_06_18), (json!([1]), ONLY_2026)] {
        let result = json!({ "type": "tool_result", "toolUseId": "1", "content": [text], "structuredContent": data });
        check::<ContentBlock>(&result, &[("/structuredContent", marks), ("/content/0/_meta", FROM_06_18)]);
    }
}

/// Blocks that a revision lacks become text.
#[test]
fn unknown_content_blocks_are_described() {
    let old = json!({ "audience": ["user"], "priority": 0.5 });
    let audio = json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": annotations(), "_meta": meta() });
    let link =
        json!({ "type": "resource_link", "uri": "a:b", "name": "n", "title": "N", "annotations": annotations() });
    for revision in revisions() {
        let mut expected = audio.clone();
        if !is_marked(FROM_06_18, revision) {
            expected = json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": old });
        }
        if !is_marked(FROM_03_26, revision) {
            expected = json!({ "type": "text", "text": "[audio, audio/wav]", "annotations": old });
        }
        assert_eq!(projected::<ContentBlock>(&audio, revision), expected, "{revision:?}");
        let mut expected = link.clone();
        if !is_marked(FROM_06_18, revision) {
            expected = json!({ "type": "text", "text": "[N](a:b)", "annotations": old });
        }
        assert_eq!(projected::<ContentBlock>(&link, revision), expected, "{revision:?}");
    }
    let with_icons = json!({ "type": "resource_link", "uri": "a:b", "name": "n", "icons": icons() });
    for revision in revisions().filter(|revision| is_marked(FROM_06_18, *revision)) {
        let found = projected::<ContentBlock>(&with_icons, revision);
        assert_eq!(found.get("icons").is_some(), is_marked(FROM_11_25, revision), "{revision:?}");
    }
}

#[test]
fn results_and_parameters() {
    let text = json!({ "type": "text", "text": "t", "_meta": meta() });
    let result = [("/resultType", NEVER)];
    let prompt = json!({ "messages": [{ "role": "user", "content": text }], "resultType": "complete" });
    check::<GetPromptResult>(&prompt, &[result[0], ("/messages/0/content/_meta", FROM_06_18)]);
    let roots = json!({ "roots": [{ "uri": "file:///a", "_meta": meta() }], "resultType": "complete" });
    check::<ListRootsResult>(&roots, &[result[0], ("/roots/0/_meta", FROM_06_18)]);
    check::<ElicitResult>(&json!({ "action": "accept", "content": { "a": 1 }, "resultType": "complete" }), &result);
    let message = json!({ "role": "assistant", "content": text, "model": "m", "resultType": "complete" });
    check::<CreateMessageResult>(&message, &[result[0], ("/content/_meta", FROM_06_18)]);
    check::<CallToolParams>(&json!({ "name": "t", "arguments": {}, "task": { "ttl": 1 } }), &[("/task", ONLY_11_25)]);
    let progress = json!({ "progressToken": 1, "progress": 1, "message": "m" });
    check::<ProgressParams>(&progress, &[("/message", FROM_03_26)]);
    let argument = json!({ "name": "a", "value": "v" });
    let context = json!({ "arguments": { "b": "c" } });
    let complete =
        json!({ "ref": { "type": "ref/prompt", "name": "p", "title": "P" }, "argument": argument, "context": context });
    check::<CompleteParams>(&complete, &[("/ref/title", FROM_06_18), ("/context", FROM_06_18)]);
    let complete =
        json!({ "ref": { "type": "ref/resource", "uri": "a:{b}" }, "argument": argument, "context": context });
    check::<CompleteParams>(&complete, &[("/context", FROM_06_18)]);
}

#[test]
fn structured_content_becomes_text() {
    for (data, marks) in [(json!({ "a": 1 }), FROM_06_18), (json!([1]), ONLY_2026)] {
        for content in [json!([]), json!([{ "type": "text", "text": "t", "_meta": meta() }])] {
            let full = json!({ "content": content, "structuredContent": data, "resultType": "complete" });
            for revision in revisions() {
                let found = projected::<CallToolResult>(&full, revision);
                let text = if content == json!([]) { data.to_string() } else { "t".to_owned() };
                assert_eq!(found["content"][0]["text"], json!(text), "{revision:?}");
                assert_eq!(found["content"].as_array().map(Vec::len), Some(1), "{revision:?}");
                assert_eq!(found.get("structuredContent").is_some(), is_marked(marks, revision), "{revision:?}");
                let has_meta = content != json!([]) && is_marked(FROM_06_18, revision);
                assert_eq!(found["content"][0].get("_meta").is_some(), has_meta, "{revision:?}");
                assert_eq!(found.get("resultType"), None, "{revision:?}");
            }
        }
    }
}

/// A tool result that is relayed is one that the projection does not change.
#[test]
fn relayed_tool_results() {
    let text = json!({ "type": "text", "text": "t", "annotations": annotations(), "_meta": meta() });
    let link = json!({ "type": "resource_link", "name": "n", "title": "T", "uri": "a:b", "icons": icons() });
    let audio = json!({ "type": "audio", "data": "", "mimeType": "audio/ogg" });
    for (content, data, marks) in [
        (json!([text, link, audio]), None, FROM_11_25),
        (json!([]), None, FROM_11_25),
        (json!([text]), Some(json!({ "a": 1 })), FROM_11_25),
        (json!([text]), Some(json!([1])), ONLY_2026),
        (json!([]), Some(json!({ "a": 1 })), NEVER),
    ] {
        let mut full = json!({ "content": content, "isError": true });
        if let Some(data) = &data {
            full["structuredContent"] = data.clone();
        }
        let members = Params::from_text(JsonText::new(full.to_string()).unwrap()).unwrap();
        for revision in revisions() {
            assert_eq!(revision.relays_tool_result(&members), is_marked(marks, revision), "{full} {revision:?}");
            if revision.relays_tool_result(&members) {
                assert_eq!(projected::<CallToolResult>(&full, revision), full, "{revision:?}");
            }
        }
    }
    let without = Params::from_text(JsonText::new(r#"{"content":null}"#).unwrap()).unwrap();
    assert!(!revisions().any(|revision| revision.relays_tool_result(&without)));
}

/// The answer of a client to a sampling request: only later revisions have several blocks, and tools.
#[test]
fn sampled_messages() {
    let text = json!({ "type": "text", "text": "t" });
    let tool = json!({ "type": "tool_use", "id": "1", "name": "t", "input": {} });
    for (content, marks, alone) in [
        (text.clone(), "xxxxx", None),
        (json!([text]), "xxxxx", Some(&text)),
        (json!([text, text]), FROM_11_25, None),
        (json!([]), FROM_11_25, None),
        (tool.clone(), FROM_11_25, None),
        (json!([tool]), FROM_11_25, None),
    ] {
        let full = json!({ "role": "assistant", "content": content, "model": "m" });
        for revision in revisions() {
            let mut message: CreateMessageResult = serde_json::from_value(full.clone()).unwrap();
            let why =
                (!is_marked(marks, revision)).then_some("this revision takes one block of content that uses no tool");
            assert_eq!(message.unspeakable(revision), why, "{revision:?} {content}");
            message.project(revision);
            let unwrapped = alone.filter(|_| !is_marked(FROM_11_25, revision));
            if why.is_none() {
                assert_eq!(json!(message)["content"], *unwrapped.unwrap_or(&content), "{revision:?}");
            }
        }
    }
}

#[test]
fn cache_hints_are_taken_out() {
    fn check<T: Project + HasMeta + Serialize + DeserializeOwned>(members: &Value, cached: bool) {
        let mut full = members.clone();
        if cached {
            full["ttlMs"] = json!(7);
            full["cacheScope"] = json!("public");
        }
        let mut value: T = serde_json::from_value(full).unwrap();
        let hint = value.take_cache();
        assert!(value.take_long().is_none() && value.size_hint() >= json!(value).to_string().len());
        assert_eq!(json!(value), *members);
        let found = hint.map(|hint| (hint.ttl_ms, json!(hint.scope)));
        assert_eq!(found, cached.then(|| (Some(7), json!("public"))));
    }
    check::<DiscoverResult>(&json!({ "supportedVersions": [], "capabilities": {} }), true);
    check::<ListToolsResult>(&json!({ "tools": [] }), true);
    check::<ReadResourceResult>(&json!({ "contents": [] }), true);
    check::<CallToolResult>(&json!({ "content": [] }), false);
    check::<GetPromptResult>(&json!({ "messages": [] }), false);
}

/// A long string is sent from its own buffer.
#[test]
fn long_strings_are_taken_out_and_put_back() {
    let long = "A".repeat(16 << 10);
    let short = "A".repeat((16 << 10) - 4);
    for (block, front) in [
        (ContentBlock::text(&*long), Some(r#"{"content":[{"type":"text","text":""#)),
        (ContentBlock::image(&*long, "image/png"), Some(r#"{"content":[{"type":"image","data":""#)),
        (ContentBlock::audio(&*long, "audio/wav"), Some(r#"{"content":[{"type":"audio","data":""#)),
        (ContentBlock::text(&*short), None),
        (ContentBlock::image(&*short, "image/png"), None),
        (ContentBlock::link(Resource::new("a:b", "n")), None),
    ] {
        let full = CallToolResult::new(vec![block]);
        let mut result = full.clone();
        let taken = result.take_long();
        assert_eq!(taken.as_ref().map(|(_, front)| *front), front.map(str::as_bytes));
        let Some((text, front)) = taken else { continue };
        assert_eq!(text, long);
        assert!(serde_json::to_vec(&result).unwrap().starts_with(front), "the string is empty in its place");
        result.put_back(text);
        assert_eq!(result, full);
    }
}

/// The hint is at least the real size, and not much more.
#[test]
fn sizes_are_estimated() {
    let text = |length| "A".repeat(length);
    for content in [
        vec![],
        vec![ContentBlock::text(text(1000))],
        vec![ContentBlock::image(text(4000), "image/png")],
        vec![ContentBlock::audio(text(4000), "audio/wav"), ContentBlock::text(text(4000))],
        vec![ContentBlock::link(Resource::new("a:b", "n"))],
    ] {
        for data in [None, Some(RawJson::from(json!({ "data": text(2000) })))] {
            let mut result = CallToolResult::new(content.clone());
            result.structured_content = data;
            let (hint, size) = (result.size_hint(), json!(result).to_string().len());
            assert!(hint >= size && hint <= size + size / 8 + 300, "{hint} for {size}");
        }
    }
}
