//! What the protocol does not look into stays as it was written, to the last digit and space.

use couplet_types::*;
use serde::{Serialize, de::DeserializeOwned};

/// Spacing, order, repeated zeros and big numbers: all would change in a round trip through numbers and maps.
const ODD: &str = r#"{ "z": 12345678901234567890.000100, "a": [1e2,  -0.0], "u": "\u00e9\/" }"#;

#[track_caller]
fn check<T: Serialize + DeserializeOwned>(template: &str) {
    let text = template.replace("ODD", ODD);
    let printed = serde_json::to_string(&from_json::<T>(&text).unwrap()).unwrap();
    assert_eq!(printed.matches(ODD).count(), template.matches("ODD").count(), "{printed}");
}

#[test]
fn opaque_values_are_verbatim() {
    check::<Tool>(r#"{"name":"t","inputSchema":ODD,"outputSchema":ODD,"_meta":{"k":ODD}}"#);
    check::<CallToolParams>(r#"{"name":"t","arguments":ODD,"inputResponses":{"k":ODD},"_meta":{"k":ODD}}"#);
    check::<CallToolResult>(r#"{"content":[],"structuredContent":ODD,"_meta":{"k":ODD}}"#);
    check::<LogParams>(r#"{"level":"info","data":ODD}"#);
    check::<CreateMessageParams>(r#"{"messages":[],"maxTokens":1,"metadata":ODD}"#);
    check::<ElicitParams>(r#"{"message":"m","requestedSchema":ODD}"#);
    check::<ElicitResult>(r#"{"action":"accept","content":{"k":ODD}}"#);
    check::<InputRequiredResult>(r#"{"inputRequests":{"k":{"method":"m","params":ODD}}}"#);
    check::<GetTaskPayloadResult>(r#"{"structuredContent":ODD,"_meta":{"k":ODD}}"#);
    check::<ClientCapabilities>(
        r#"{"experimental":{"k":ODD},"extensions":{"k":ODD},"sampling":{"tools":ODD},"elicitation":{"url":ODD}}"#,
    );
    check::<ServerCapabilities>(r#"{"logging":ODD,"completions":ODD,"experimental":{"k":ODD},"extensions":{"k":ODD}}"#);
    check::<RpcError>(r#"{"code":1,"message":"m","data":ODD}"#);
    check::<ResourceContents>(r#"{"uri":"a:b","text":"t","_meta":{"k":ODD}}"#);
}

#[test]
fn blocks_are_verbatim_wherever_the_tag_stands() {
    check::<ContentBlock>(r#"{"type":"tool_use","id":"1","name":"n","input":ODD,"_meta":{"k":ODD}}"#);
    check::<ContentBlock>(r#"{"_meta":{"k":ODD},"id":"1","name":"n","input":ODD,"type":"tool_use"}"#);
    check::<ContentBlock>(r#"{"id":"1","type":"tool_use","name":"n","input":ODD}"#);
    check::<ContentBlock>(
        r#"{"toolUseId":"1","content":[{"text":"t","_meta":{"k":ODD},"type":"text"}],"structuredContent":ODD,
            "type":"tool_result"}"#,
    );
    check::<SamplingMessage>(r#"{"role":"user","content":{"input":ODD,"id":"1","name":"n","type":"tool_use"}}"#);
    check::<SamplingMessage>(r#"{"role":"user","content":[{"type":"tool_use","id":"1","name":"n","input":ODD}]}"#);
}

#[test]
fn a_null_is_not_an_absence() {
    let null: CallToolResult = from_json(r#"{"content":[],"structuredContent":null}"#).unwrap();
    assert_eq!(null.structured_content.map(|raw| raw.to_string()), Some("null".to_owned()));
    let absent: CallToolResult = from_json(r#"{"content":[]}"#).unwrap();
    assert_eq!(absent.structured_content, None);
}

#[test]
fn a_type_can_be_read_from_a_value_too() {
    let value = serde_json::json!({ "input": { "a": 1 }, "id": "1", "name": "n", "type": "tool_use" });
    let block: ContentBlock = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&block).unwrap(), value);
}
