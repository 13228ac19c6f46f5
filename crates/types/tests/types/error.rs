//! Errors name what is wrong.

use couplet_types::*;
use serde::de::DeserializeOwned;

#[track_caller]
fn check<T: DeserializeOwned + std::fmt::Debug>(text: &str, message: &str) {
    let error = from_json::<T>(text).unwrap_err().to_string();
    let (error, _) = error.rsplit_once(" at line ").expect("errors have a position");
    assert_eq!(error, message, "{text}");
}

#[test]
fn missing_members() {
    check::<CallToolParams>("{}", "missing field `name`");
    check::<Task>(r#"{"taskId":"t","status":"working","createdAt":"a","lastUpdatedAt":"b"}"#, "missing field `ttl`");
    check::<ListToolsResult>(r#"{"tools":[{"name":"a"}]}"#, "`tools[0]`: missing field `inputSchema`");
    check::<CallToolResult>(r#"{"content":[{"type":"text"}]}"#, "`content[0]`: `text` block: missing field `text`");
    check::<CallToolResult>(
        r#"{"content":[{"data":"aGk=","type":"image"}]}"#,
        "`content[0]`: `image` block: missing field `mimeType`",
    );
    check::<CallToolResult>(r#"{"content":[{"text":"t"}]}"#, "`content[0]`: `type` is missing in a block");
    check::<ReadResourceResult>(
        r#"{"contents":[{"uri":"a:b"}]}"#,
        "`contents[0]`: resource contents have neither `text` nor `blob`",
    );
    check::<ReadResourceResult>(
        r#"{"contents":[{"uri":"a:b","text":"","blob":""}]}"#,
        "`contents[0]`: resource contents have both `text` and `blob`",
    );
}

#[test]
fn unknown_kinds() {
    check::<CompleteParams>(
        r#"{"ref":{"type":"ref/x"},"argument":{"name":"a","value":"v"}}"#,
        "`ref`: `ref/x` reference: unknown variant `ref/x`, expected `ref/prompt` or `ref/resource`",
    );
    check::<SetLevelParams>(
        r#"{"level":"loud"}"#,
        "`level`: unknown variant `loud`, expected one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, \
         `alert`, `emergency`",
    );
    check::<PromptMessage>(
        r#"{"role":"system","content":{"type":"text","text":""}}"#,
        "`role`: unknown variant `system`, expected `user` or `assistant`",
    );
    check::<ElicitSchema>(
        r#"{"type":"object","properties":{"a":{"type":"object"}}}"#,
        "`properties.a`: a field of a form cannot have the type `object`",
    );
    check::<ElicitSchema>(
        r#"{"type":"object","properties":{"a":{"type":"array"}}}"#,
        "`properties.a`: `items` is missing in an `array` field",
    );
    check::<ElicitSchema>(
        r#"{"type":"object","properties":{"a":{"type":"array","items":{}}}}"#,
        "`properties.a`: a choice has neither `enum` nor titled values",
    );
}

#[test]
fn wrong_types() {
    check::<CallToolParams>(r#"{"name":5}"#, "`name`: invalid type: integer `5`, expected a string");
    check::<CallToolParams>(r#"{"name":{"a":1}}"#, "`name`: invalid type: map, expected a string");
    check::<CallToolResult>(
        r#"{"content":[{"type":"text","text":"t"}], "isError" : "yes"}"#,
        "`isError`: invalid type: string \"yes\", expected a boolean",
    );
    check::<CallToolResult>(
        r#"{"content":[{"type":"text","text":"t"},{"type":"text","text":[]}]}"#,
        "`content[1].text`: `text` block: invalid type: sequence, expected a string",
    );
    check::<CallToolResult>(
        r#"{"content":[{"text":5,"type":"text"}]}"#,
        "`content[0]`: `text` block: `text`: invalid type: integer `5`, expected a string",
    );
    check::<CallToolResult>(r#"{"content":"t"}"#, "`content`: invalid type: string \"t\", expected a sequence");
    check::<SamplingMessage>(
        r#"{"role":"user","content":"t"}"#,
        "`content`: invalid type: string \"t\", expected a content block or an array of them",
    );
    check::<CallToolParams>(r#"{"name":"a","_meta":[]}"#, "`_meta`: invalid type: sequence, expected an object");
    check::<ListResourcesResult>(
        "{\"resources\":\n [{\"uri\":\"a:b\",\"name\":\"n\"},\n  {\"uri\":\"a:b\",\n\"name\":\"n\",\"size\":-1}]}",
        "`resources[1].size`: invalid value: integer `-1`, expected u64",
    );
    check::<GetPromptParams>(
        r#"{"name":"p","arguments":{"a":1}}"#,
        "`arguments.a`: invalid type: integer `1`, expected a string",
    );
    check::<CancelledParams>(
        r#"{"requestId":1.5}"#,
        "`requestId`: invalid type: floating point `1.5`, expected a string or an integer",
    );
    check::<ElicitSchema>(
        r#"{"type":"object","properties":{"a":{"type":"boolean","default":"x"}}}"#,
        "`properties.a`: `default`: invalid type: string \"x\", expected a boolean",
    );
}

#[test]
fn a_raw_value_names_members_too() {
    let raw = RawJson::from_text(r#"{"name":5}"#).unwrap();
    assert!(raw.parse::<CallToolParams>().unwrap_err().to_string().starts_with("`name`: "));
}

#[test]
fn no_text_is_too_odd_for_an_error() {
    let text =
        r#"{"content":[{"type":"text","text":"\u00e9\"\\","_meta":{"é":[1,{"b":[]}]}},{"text":5,"type":"text"}]}"#;
    for (end, _) in text.char_indices() {
        from_json::<CallToolResult>(&text[..end]).unwrap_err();
        for odd in ["\"", "{", "[", "]", "}", ",", "\\", "5", "null", "é", "\n"] {
            let broken = format!("{}{odd}{}", &text[..end], &text[end..]);
            let _ = from_json::<CallToolResult>(&broken).map_err(|error| error.to_string());
        }
    }
}

#[test]
fn results_of_tools_do_not_nest() {
    let inner = r#"{"type":"tool_result","toolUseId":"1","content":[]}"#;
    check::<ContentBlock>(
        &format!(r#"{{"type":"tool_result","toolUseId":"1","content":[{inner}]}}"#),
        "`content[0].type`: `tool_result` block: `tool_result` block: it cannot be inside of a `tool_result` block",
    );
    // With the tag at the end, every level would be read from raw text, beyond the reach of the recursion limit.
    let depth = 100_000;
    let (open, close) = (r#"{"toolUseId":"1","content":["#, r#"],"type":"tool_result"}"#);
    let text = format!("{}{}", open.repeat(depth), close.repeat(depth));
    assert!(from_json::<ContentBlock>(&text).is_err());
}

#[test]
fn long_names_are_cut_in_errors() {
    let error = from_json::<Map<bool>>(&format!(r#"{{"{}":5}}"#, "é".repeat(5000))).unwrap_err();
    assert!(error.to_string().len() < 500);
}
