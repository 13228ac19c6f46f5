//! What users build, and what comes out.

use couplet_types::*;
use serde::Serialize;
use serde_json::{Value, json};

#[track_caller]
fn check<T: Serialize>(built: T, expected: Value) {
    assert_eq!(serde_json::to_value(&built).unwrap(), expected);
}

#[test]
fn constructors_and_setters() {
    check(
        Tool::new("add", json!({ "type": "object" }))
            .title("Add")
            .annotations(ToolAnnotations::new().read_only_hint(true))
            .icons(vec![Icon::new("https://a/b").theme(IconTheme::Dark)]),
        json!({ "name": "add", "title": "Add", "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": true }, "icons": [{ "src": "https://a/b", "theme": "dark" }] }),
    );
    check(CallToolResult::error("no"), json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }));
    check(PromptMessage::user("hi"), json!({ "role": "user", "content": { "type": "text", "text": "hi" } }));
    check(
        ContentBlock::link(Resource::new("a:b", "n").size(3)),
        json!({ "type": "resource_link", "uri": "a:b", "name": "n", "size": 3 }),
    );
    check(
        ContentBlock::resource(ResourceContents::blob("a:b", "aGk=").mime_type("image/png")),
        json!({ "type": "resource", "resource": { "uri": "a:b", "mimeType": "image/png", "blob": "aGk=" } }),
    );
    check(
        CompleteParams::new(CompletionReference::prompt("p"), "a", "v")
            .context(CompletionContext::new([("b", "c".to_owned())])),
        json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "v" },
            "context": { "arguments": { "b": "c" } } }),
    );
    check(ProgressParams::new("t", 1.0).total(2.5), json!({ "progressToken": "t", "progress": 1, "total": 2.5 }));
    check(
        Task::new("t", TaskStatus::Working, "now"),
        json!({ "taskId": "t", "status": "working", "createdAt": "now", "lastUpdatedAt": "now", "ttl": null }),
    );
}

#[test]
fn sampling_content_keeps_its_form() {
    let block = || ContentBlock::text("t");
    check(SamplingContent::from("t"), json!({ "type": "text", "text": "t" }));
    check(SamplingContent::from(vec![block()]), json!([{ "type": "text", "text": "t" }]));
    assert_eq!(SamplingContent::from("t").blocks(), SamplingContent::Many(vec![block()]).blocks());
}

#[test]
fn forms() {
    let schema = ElicitSchema::new()
        .required("mail", StringSchema::new().format(StringFormat::Email))
        .optional("size", EnumSchema::titled([("s", "Small"), ("l", "Large")]).default_value("s"))
        .optional("tags", MultiEnumSchema::new(["a", "b"]).max_items(1))
        .optional("count", NumberSchema::integer().minimum(1.0).maximum(2.5));
    let params = ElicitParams::form("m", &schema);
    assert!(schema.is_required("mail") && !schema.is_required("size"));
    assert_eq!(params.schema().unwrap(), Some(schema));
    check(
        params,
        json!({ "message": "m", "requestedSchema": { "type": "object", "required": ["mail"], "properties": {
            "mail": { "type": "string", "format": "email" },
            "size": { "type": "string", "default": "s",
                "oneOf": [{ "const": "s", "title": "Small" }, { "const": "l", "title": "Large" }] },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "maxItems": 1 },
            "count": { "type": "integer", "minimum": 1, "maximum": 2.5 } } } }),
    );
    let answer = ElicitResult::accept([("mail", RawJson::from(json!("a@b.c")))]);
    assert_eq!(answer.parse::<Value>().unwrap(), json!({ "mail": "a@b.c" }));
    assert_eq!(ElicitResult::decline().parse::<Value>().unwrap(), json!({}));
}

#[test]
fn names_for_people() {
    let tool = Tool::new("n", json!({}));
    assert_eq!(tool.display_name(), "n");
    let tool = tool.annotations(ToolAnnotations::new().title("annotated"));
    assert_eq!(tool.display_name(), "annotated");
    assert_eq!(tool.title("title").display_name(), "title");
}

#[test]
fn elicitation_without_words_means_forms() {
    let capability = |text| from_json::<ElicitationCapability>(text).unwrap();
    for (text, form, url) in [
        ("{}", true, false),
        (r#"{"form":{}}"#, true, false),
        (r#"{"url":{}}"#, false, true),
        (r#"{"form":{},"url":{}}"#, true, true),
    ] {
        assert_eq!((capability(text).allows_form(), capability(text).allows_url()), (form, url), "{text}");
    }
}

#[test]
fn the_last_of_two_members_counts() {
    let map: Map<u8> = from_json(r#"{"a":1,"b":2,"a":3}"#).unwrap();
    assert_eq!(map.get("a"), Some(&3));
}

#[test]
fn a_task_hands_out_the_result_of_its_request() {
    let result = CallToolResult::text("done").meta(Meta::new().with("k", json!(1)));
    let payload = GetTaskPayloadResult::new(&result).unwrap();
    assert_eq!(payload.meta, result.meta);
    assert_eq!(payload.parse::<CallToolResult>().unwrap(), result);
}
