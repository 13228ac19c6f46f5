//! Examples of every revision, read and printed again: the JSON stays the same.

use couplet_types::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::pass;

#[track_caller]
fn check<T: Serialize + DeserializeOwned>(examples: &[&str]) {
    for text in examples {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(pass::<T>(&value), Ok(value), "{text}");
    }
}

#[test]
fn lifecycle() {
    check::<InitializeParams>(&[
        r#"{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":{"y":1}},"roots":{"listChanged":true},
            "sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"a.b/c":{"d":[1]}},
            "tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}},
            "clientInfo":{"name":"c","version":"1","title":"C","description":"d","websiteUrl":"https://e.f",
            "icons":[{"src":"data:,","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]},
            "_meta":{"progressToken":7}}"#,
    ]);
    check::<InitializeResult>(&[
        r#"{"protocolVersion":"2025-03-26","capabilities":{"experimental":{"x":{}},"logging":{},"completions":{},
            "prompts":{"listChanged":false},"resources":{"subscribe":true,"listChanged":true},"tools":{}},
            "serverInfo":{"name":"s","version":"2"},"instructions":"be kind","_meta":{}}"#,
        r#"{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}},
            "serverInfo":{"name":"s","version":"2"}}"#,
    ]);
    check::<DiscoverParams>(&["{}", r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#]);
    check::<DiscoverResult>(&[r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},
        "instructions":"i","ttlMs":3600000,"cacheScope":"public",
        "_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#]);
    check::<PingParams>(&["{}", r#"{"_meta":{"progressToken":"t"}}"#]);
    check::<EmptyResult>(&["{}", r#"{"resultType":"complete"}"#, r#"{"_meta":{"a":null}}"#]);
}

#[test]
fn tools() {
    check::<PaginatedParams>(&["{}", r#"{"cursor":"c","_meta":{}}"#]);
    check::<ListToolsResult>(&[
        r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#,
        r#"{"tools":[{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","properties":{}},
            "outputSchema":{"type":"array"},"annotations":{"title":"t","readOnlyHint":true,"destructiveHint":false,
            "idempotentHint":true,"openWorldHint":false},"execution":{"taskSupport":"optional"},
            "icons":[{"src":"https://a/b"}],"_meta":{"ui":{"resourceUri":"ui://x"}}}],
            "nextCursor":"n","ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":{}}"#,
        r#"{"tools":[],"cacheScope":""}"#,
        r#"{"tools":[],"cacheScope":"galactic","resultType":"unheard-of"}"#,
    ]);
    check::<CallToolParams>(&[
        r#"{"name":"a"}"#,
        r#"{"name":"a","arguments":{"x":[1]},"task":{"ttl":60000},"_meta":{"progressToken":1}}"#,
        r#"{"name":"a","inputResponses":{"b":{"action":"accept"},"a":{"roots":[]}},"requestState":"opaque"}"#,
    ]);
    check::<CallToolResult>(&[
        r#"{"content":[]}"#,
        r#"{"content":[{"type":"text","text":"t"}],"isError":true}"#,
        r#"{"content":[],"structuredContent":{"a":1},"_meta":{"b":2}}"#,
        r#"{"content":[],"structuredContent":null,"resultType":"complete"}"#,
        r#"{"content":[],"structuredContent":[1,2]}"#,
    ]);
}

#[test]
fn content() {
    let annotations = r#""annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12"}"#;
    for block in [
        r#""type":"text","text":"t""#,
        r#""type":"image","data":"aGk=","mimeType":"image/png""#,
        r#""type":"audio","data":"aGk=","mimeType":"audio/wav""#,
        r#""type":"resource","resource":{"uri":"a:b","mimeType":"text/plain","text":"t","_meta":{"x":1}}"#,
        r#""resource":{"uri":"a:b","blob":"aGk="},"type":"resource""#,
        r#""type":"resource_link","uri":"a:b","name":"n","title":"t","description":"d","mimeType":"m","size":5,
           "icons":[{"src":"s","theme":"light"}]"#,
        r#""name":"n","uri":"a:b","type":"resource_link""#,
    ] {
        check::<ContentBlock>(&[&format!("{{{block}}}"), &format!(r#"{{{block},{annotations},"_meta":{{"k":1}}}}"#)]);
    }
    check::<ContentBlock>(&[
        r#"{"type":"tool_use","id":"1","name":"n","input":{"a":1},"_meta":{}}"#,
        r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"t"}],"structuredContent":null,
            "isError":false,"_meta":{}}"#,
        // The tag may come last, also inside.
        r#"{"toolUseId":"1","content":[{"text":"t","type":"text"}],"structuredContent":[1],"type":"tool_result"}"#,
    ]);
}

#[test]
fn resources_and_prompts() {
    check::<ListResourcesResult>(&[r#"{"resources":[{"uri":"a:b","name":"n"}],"nextCursor":"c"}"#]);
    check::<ListResourceTemplatesResult>(&[r#"{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n","title":"t",
        "description":"d","mimeType":"m","annotations":{"priority":1},"icons":[],"_meta":{}}],"ttlMs":5,
        "cacheScope":"public"}"#]);
    check::<ReadResourceParams>(&[r#"{"uri":"a:b"}"#, r#"{"uri":"a:b","inputResponses":{},"requestState":""}"#]);
    check::<ReadResourceResult>(&[r#"{"contents":[{"uri":"a:b","text":""},{"uri":"a:c","blob":""}],"ttlMs":1}"#]);
    check::<ListPromptsResult>(&[r#"{"prompts":[{"name":"p","title":"P","description":"d","icons":[],"_meta":{},
        "arguments":[{"name":"a","title":"A","description":"d","required":true}]}]}"#]);
    check::<GetPromptParams>(&[r#"{"name":"p","arguments":{"b":"1","a":"2"},"inputResponses":{},"requestState":"s"}"#]);
    check::<GetPromptResult>(&[
        r#"{"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":"t"}}]}"#,
    ]);
    check::<CompleteParams>(&[
        r#"{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"a","value":"v"}}"#,
        r#"{"ref":{"uri":"a:{b}","type":"ref/resource"},"argument":{"name":"a","value":""},
            "context":{"arguments":{"c":"d"}}}"#,
    ]);
    check::<CompleteResult>(&[r#"{"completion":{"values":["a"],"total":12,"hasMore":true},"resultType":"complete"}"#]);
}

#[test]
fn requests_to_the_client() {
    check::<CreateMessageParams>(&[
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"t"}}],"maxTokens":100}"#,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"t"}],"_meta":{}},{"role":"user","content":[]}],
            "maxTokens":1,"modelPreferences":{"hints":[{"name":"m"},{}],"costPriority":0.1,"speedPriority":1,
            "intelligencePriority":0},"systemPrompt":"s","includeContext":"thisServer","temperature":0.7,
            "stopSequences":["."],"metadata":{"a":1},"tools":[{"name":"t","inputSchema":{}}],
            "toolChoice":{"mode":"required"},"task":{},"_meta":{}}"#,
    ]);
    check::<CreateMessageResult>(&[
        r#"{"role":"assistant","content":{"type":"text","text":"t"},"model":"m","stopReason":"endTurn"}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}}],"model":"m",
            "stopReason":"toolUse","_meta":{}}"#,
        r#"{"role":"assistant","content":[],"model":"m","stopReason":"tired"}"#,
    ]);
    check::<ListRootsResult>(&[r#"{"roots":[{"uri":"file:///a","name":"a","_meta":{}}],"_meta":{}}"#]);
    check::<ElicitParams>(&[
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#,
        r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}},"task":{"ttl":1}}"#,
        r#"{"mode":"url","message":"m","url":"https://a","elicitationId":"e"}"#,
        r#"{"mode":"url","message":"m","url":"https://a"}"#,
    ]);
    check::<ElicitResult>(&[
        r#"{"action":"accept","content":{"a":"b","c":1.5,"d":true,"e":["f"]},"_meta":{}}"#,
        r#"{"action":"decline"}"#,
        r#"{"action":"cancel"}"#,
    ]);
    check::<InputRequiredResult>(&[
        r#"{"resultType":"input_required","requestState":"s","inputRequests":{"z":{"method":"roots/list"},
            "a":{"method":"elicitation/create","params":{"message":"m"}}},"_meta":{}}"#,
    ]);
}

#[test]
fn forms() {
    check::<ElicitSchema>(&[
        r#"{"type":"object","properties":{}}"#,
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["b"],"properties":{
            "b":{"type":"string","title":"t","description":"d","minLength":1,"maxLength":9,"format":"email",
                "default":"x"},
            "a":{"type":"number","title":"t","description":"d","minimum":0.5,"maximum":10,"default":2},
            "i":{"type":"integer","minimum":-3,"default":0},
            "o":{"type":"boolean","title":"t","description":"d","default":false},
            "u":{"type":"string","title":"t","description":"d","enum":["x","y"],"default":"x"},
            "l":{"type":"string","enum":["x","y"],"enumNames":["X"]},
            "t":{"type":"string","oneOf":[{"const":"x","title":"X"}],"default":"x"},
            "m":{"type":"array","title":"t","description":"d","items":{"type":"string","enum":["x"]},"minItems":1,
                "maxItems":2,"default":["x"]},
            "n":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}},
            "f":{"type":"string","format":"ipv4"}}}"#,
    ]);
}

#[test]
fn notifications() {
    check::<ProgressParams>(&[
        r#"{"progressToken":"t","progress":50,"total":100,"message":"half","_meta":{}}"#,
        r#"{"progressToken":1,"progress":0.5}"#,
        r#"{"progressToken":1,"progress":1e300}"#,
    ]);
    check::<CancelledParams>(&["{}", r#"{"requestId":5,"reason":"r"}"#, r#"{"requestId":"5"}"#]);
    check::<SetLevelParams>(&[r#"{"level":"warning"}"#]);
    check::<LogParams>(&[
        r#"{"level":"debug","logger":"l","data":{"a":[1]},"_meta":{}}"#,
        r#"{"level":"emergency","data":null}"#,
    ]);
    check::<ListenParams>(&[
        r#"{"notifications":{}}"#,
        r#"{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,
            "resourceSubscriptions":["a:b"],"taskIds":["t"]},"_meta":{}}"#,
    ]);
    check::<SubscriptionAckParams>(&[r#"{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}"#]);
    check::<ElicitationCompleteParams>(&[r#"{"elicitationId":"e","_meta":{}}"#]);
}

#[test]
fn tasks() {
    let task = r#""taskId":"t","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"x","ttl":null"#;
    check::<Task>(&[
        &format!("{{{task}}}"),
        r#"{"taskId":"t","status":"input_required","statusMessage":"m","createdAt":"a","lastUpdatedAt":"b","ttl":5,
            "pollInterval":1000,"_meta":{}}"#,
    ]);
    check::<CreateTaskResult>(&[&format!(r#"{{"task":{{{task}}},"_meta":{{}}}}"#)]);
    check::<ListTasksResult>(&[&format!(r#"{{"tasks":[{{{task}}}],"nextCursor":"n"}}"#)]);
    check::<GetTaskPayloadResult>(&[
        r#"{"content":[],"resultType":"complete","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
    ]);
    let detailed = r#""taskId":"t","createdAt":"a","lastUpdatedAt":"b","ttlMs":null"#;
    check::<DetailedTask>(&[
        &format!(r#"{{{detailed},"status":"working","statusMessage":"m","pollIntervalMs":5,"resultType":"task"}}"#),
        &format!(r#"{{{detailed},"status":"input_required","inputRequests":{{"a":{{"method":"roots/list"}}}}}}"#),
        &format!(r#"{{{detailed},"status":"completed","result":{{"content":[]}},"resultType":"complete"}}"#),
        &format!(r#"{{{detailed},"status":"failed","error":{{"code":-32603,"message":"m","data":1}},"_meta":{{}}}}"#),
    ]);
    check::<UpdateTaskParams>(&[r#"{"taskId":"t","inputResponses":{"a":{"action":"cancel"}},"_meta":{}}"#]);
}

#[test]
fn unknown_members_are_ignored() {
    let result: CallToolResult = from_json(
        r#"{"later":{"a":[1,{"b":2}]},"content":[{"type":"text","size":"big","name":5,"text":"t"}],"x":null}"#,
    )
    .unwrap();
    assert_eq!(result, CallToolResult::text("t"));
}

#[test]
fn blocks_of_unknown_types_are_kept() {
    let known = r#"{"type":"text","text":"t"}"#;
    let first = r#"{"type":"hologram","depth":1.50,"data":{"b":1,"a":[2]}}"#;
    let late = r#"{"depth":1.50,"data":{"b":1,"a":[2]},"type":"hologram"}"#;
    for block in [first, late] {
        let result: CallToolResult = from_json(&format!(r#"{{"content":[{known},{block}]}}"#)).unwrap();
        assert!(matches!(&result.content[1], ContentBlock::Other(other) if other.kind == "hologram"), "{result:?}");
        assert_eq!(serde_json::to_string(&result.content).unwrap(), format!("[{known},{first}]"));
    }
}

#[test]
fn a_negative_ttl_is_expired() {
    for (text, expected) in
        [("-1", Some(0)), ("1.5", Some(1)), ("null", None), ("-0.5", Some(0)), ("1e30", Some(u64::MAX))]
    {
        let result: ListToolsResult = from_json(&format!(r#"{{"tools":[],"ttlMs":{text}}}"#)).unwrap();
        assert_eq!(result.ttl_ms, expected, "{text}");
    }
}
