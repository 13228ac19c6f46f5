//! What is listed: as the official server lists it, and as it was when it was last looked at.

use couplet::ProtocolVersion;
use couplet_testing::Surface;
use serde_json::{Map, Value, json};

use crate::kit::{able, connect, is_in};

/// What the official server tells a client that can do everything, in 2025-11-25.
const OFFICIAL: &str = include_str!("../official.json");

#[couplet::test]
async fn the_contract_is_kept() {
    let client = connect(couplet_everything::server().build(), ProtocolVersion::V2025_11_25).await;
    let ours = Surface::of(&client).await.unwrap();
    check(ours.as_json(), &serde_json::from_str(OFFICIAL).expect("the file is JSON"));
}

/// Everything that the official server lists is listed here, first and in its order.
fn check(ours: &Value, official: &Value) {
    for list in ["tools", "resources", "resourceTemplates", "prompts"] {
        let theirs = official[list][list].as_array().expect("a list");
        for (at, theirs) in theirs.iter().enumerate() {
            assert_eq!(settled(ours[list][at].clone()), settled(theirs.clone()), "{list} {at}");
        }
        let names = |of: &Value| of.as_array().unwrap().iter().map(|t| t["name"].clone()).collect::<Vec<_>>();
        assert!(names(&ours[list]).starts_with(&names(&official[list][list])), "{list}: the order is the same");
    }
    let egg = |instructions: &Value| instructions.as_str().unwrap().split("## Easter Egg").nth(1).unwrap().to_owned();
    assert_eq!(egg(&ours["instructions"]), egg(&official["initialize"]["instructions"]));
    for (capability, settings) in official["initialize"]["capabilities"].as_object().unwrap() {
        assert_eq!(&ours["capabilities"][capability], settings, "{capability}");
    }
}

/// What is said without saying it, said; and what only one of the two says, left out.
fn settled(mut entry: Value) -> Value {
    if entry.get("inputSchema").is_some() {
        // The defaults of the specification.
        let hints = &mut entry["annotations"];
        for (hint, default) in [("readOnlyHint", false), ("idempotentHint", false)] {
            hints[hint] = hints.get(hint).cloned().unwrap_or(default.into());
        }
        entry["execution"] = entry.get("execution").cloned().unwrap_or(json!({ "taskSupport": "forbidden" }));
        schema(&mut entry["inputSchema"]);
        // That no other arguments are known can be said or not.
        entry["inputSchema"].as_object_mut().unwrap().remove("additionalProperties");
        if let Some(output) = entry.get_mut("outputSchema") {
            schema(output);
        }
    }
    for argument in entry.get_mut("arguments").and_then(Value::as_array_mut).into_iter().flatten() {
        argument["required"] = argument.get("required").cloned().unwrap_or(false.into());
    }
    for more in ["size", "annotations"] {
        if entry.get("uri").is_some() {
            entry.as_object_mut().unwrap().remove(more);
        }
    }
    entry
}

/// A schema in one dialect, with numbers in one spelling.
fn schema(schema: &mut Value) {
    let root = schema.as_object_mut().expect("a schema");
    root.remove("$schema");
    root.entry("properties").or_insert(json!({}));
    *schema = numbers(std::mem::take(schema));
}

fn numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.into_iter().map(numbers).collect(),
        Value::Object(members) => members.into_iter().map(|(k, v)| (k, numbers(v))).collect::<Map<_, _>>().into(),
        other => other,
    }
}

#[couplet::test]
async fn the_surface_is_as_it_was(version: ProtocolVersion) {
    let client = connect(couplet_everything::server().build(), version).await;
    let path = format!("{}/tests/surface/{version}.json", env!("CARGO_MANIFEST_DIR"));
    Surface::of(&client).await.unwrap().assert_matches(path);
}

/// In a session, the list has the tools that the client can use. Without one, it is the same for all clients.
#[couplet::test]
async fn tools_that_cannot_be_used_are_not_listed_in_sessions(version: ProtocolVersion) {
    let server = couplet_everything::server().build();
    let names = |client: couplet::Client| async move {
        client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect::<Vec<_>>()
    };
    let all = names(able(version).connect(server.clone()).await.unwrap()).await;
    let few = names(couplet_testing::connect(server.clone(), version).await.unwrap()).await;
    let missing: Vec<_> = all.iter().filter(|name| !few.contains(name)).map(String::as_str).collect();
    let expected: &[(&str, &str)] = &[
        ("get-roots-list", "xxxx-"),
        ("trigger-elicitation-request", "--xx-"),
        ("trigger-url-elicitation", "---x-"),
        ("trigger-sampling-request", "xxxx-"),
        ("trigger-sampling-request-async", "---x-"),
        ("trigger-elicitation-request-async", "---x-"),
        ("trigger-sampling-with-tools", "---x-"),
    ];
    let expected: Vec<_> = expected.iter().filter(|(_, marks)| is_in(marks, version)).map(|(name, _)| *name).collect();
    assert_eq!(missing, expected);
    // What is not listed says what it would need.
    let plain = couplet_testing::connect(server, version).await.unwrap();
    let result = plain.call("get-roots-list", ()).await.expect("a result that the model sees");
    assert!(result.is_error() && result.text().contains("roots"), "{result:?}");
}
