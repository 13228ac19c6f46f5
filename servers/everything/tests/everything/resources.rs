//! Resources, prompts and completions.

use couplet::{ProtocolVersion, types::CompletionReference};
use serde_json::json;

use crate::kit::{connect, is_in};

#[couplet::test]
async fn resources_are_read(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    for resource in client.resources().await.unwrap() {
        let read = client.read(&resource.uri).await.unwrap();
        assert_eq!(read.contents[0].uri, resource.uri);
        let text = read.contents[0].as_text().expect("all of them are text");
        assert_eq!(resource.size.unwrap_or(text.len() as u64), text.len() as u64, "{}", resource.uri);
    }
    let text = client.read("demo://resource/dynamic/text/7").await.unwrap().all_text();
    assert!(text.starts_with("Resource 7: This is a plaintext resource created at "), "{text}");
    let blob = client.read("demo://resource/dynamic/blob/7").await.unwrap();
    assert!(blob.contents[0].as_blob().is_some());
    for uri in ["demo://resource/dynamic/text/0", "demo://resource/dynamic/text/x", "demo://resource/static/none"] {
        let error = client.read(uri).await.expect_err("there is no such resource");
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
    let guarded = client.read("demo://resource/guarded/tea").await;
    match is_in("--xxx", version) {
        true => assert_eq!(guarded.unwrap().all_text(), "The secret of tea."),
        false => assert!(guarded.is_err(), "elicitation is not possible"),
    }
}

/// What was compressed is a resource afterwards, under a name that cannot be anything else.
#[couplet::test]
async fn files_become_resources(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    let before = client.resources().await.unwrap().len();
    for (name, address) in [
        ("a.gz", "demo://resource/session/a.gz"),
        ("a.gz", "demo://resource/session/a.gz"),
        ("../{a}/b", "demo://resource/session/..%2F%7Ba%7D%2Fb"),
    ] {
        let arguments = json!({ "name": name, "data": "data:,hello" });
        let result = client.call("gzip-file-as-resource", arguments).await.unwrap();
        let content = json!(result.content()).to_string();
        assert!(content.contains(address), "{content}");
        assert!(client.read(address).await.unwrap().contents[0].as_blob().unwrap().starts_with("H4sI"));
    }
    // Without sessions, what a client does must not change what it is listed.
    let after = client.resource_pages().no_cache().all().await.unwrap().len();
    assert_eq!(after - before, if is_in("xxxx-", version) { 2 } else { 0 });
}

#[couplet::test]
async fn answers_say_how_long_they_are_good() {
    let client = connect(couplet_everything::server().build(), ProtocolVersion::V2026_07_28).await;
    for (uri, ttl) in [
        ("demo://resource/static/document/features.md", 300_000),
        ("demo://resource/kept/now", 10_000),
        ("demo://resource/dynamic/text/1", 0),
        ("demo://resource/guarded/tea", 0),
    ] {
        assert_eq!(client.read(uri).await.unwrap().ttl_ms, Some(ttl), "{uri}");
    }
}

#[couplet::test]
async fn prompts_are_written(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    for (name, arguments, says, marks) in [
        ("simple-prompt", json!({}), "This is a simple prompt without arguments.", "xxxxx"),
        ("args-prompt", json!({ "city": "Oslo" }), "What's weather in Oslo?", "xxxxx"),
        ("args-prompt", json!({ "city": "Boston", "state": "MA" }), "What's weather in Boston, MA?", "xxxxx"),
        (
            "completable-prompt",
            json!({ "department": "Sales", "name": "Eve" }),
            "Please promote Eve to the head of the Sales team.",
            "xxxxx",
        ),
        (
            "resource-prompt",
            json!({ "resourceType": "Blob", "resourceId": "2" }),
            "This prompt includes the Blob resource with id: 2.",
            "xxxxx",
        ),
        ("tailored-prompt", json!({ "topic": "tea" }), "Write about tea. Be Ada.", "--xxx"),
        ("args-prompt", json!({}), "", "-----"),
        ("resource-prompt", json!({ "resourceType": "Film", "resourceId": "2" }), "", "-----"),
        ("resource-prompt", json!({ "resourceType": "Text", "resourceId": "0" }), "", "-----"),
    ] {
        let prompt = client.prompt(name, arguments).await;
        if !is_in(marks, version) {
            assert!(prompt.is_err(), "{name}: {prompt:?}");
            continue;
        }
        let messages = json!(prompt.unwrap().messages).to_string();
        assert!(messages.contains(says), "{name}: {messages}");
    }
}

#[couplet::test]
async fn arguments_are_completed(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    let team = || CompletionReference::prompt("completable-prompt");
    assert_eq!(client.complete(team(), "department", "S").await.unwrap().values, ["Sales", "Support"]);
    let knows_context = is_in("--xxx", version);
    let members = client.complete(team(), "name", "").context([("department", "Sales")]).await.unwrap().values;
    assert_eq!(members, if knows_context { vec!["David", "Eve", "Frank"] } else { vec![] });
    let text = || CompletionReference::resource("demo://resource/dynamic/text/{resourceId}");
    assert_eq!(client.complete(text(), "resourceId", "12").await.unwrap().values, ["12"]);
    assert!(client.complete(text(), "resourceId", "x").await.unwrap().values.is_empty());
    let prompt = CompletionReference::prompt("resource-prompt");
    assert_eq!(client.complete(prompt, "resourceType", "B").await.unwrap().values, ["Blob"]);
}
