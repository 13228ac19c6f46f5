//! Long results arrive as they were made, whatever is in them and around them.

use couplet_server::{Server, tool};
use couplet_testing::{block_on, connect};
use couplet_types::{
    Annotations, AudioContent, CallToolResult, ContentBlock, ImageContent, Meta, RawJson, TextContent,
};
use serde_json::{Value, json};

use crate::rows::ROWS;

fn texts() -> Vec<String> {
    let lines = "a line, \"quoted\"\r\n\tand a back\\slash \u{1} é 世 🎼\n".repeat(5_000);
    vec!["x".repeat(1 << 20), lines, "\"".repeat(20_000), "\n".repeat(16 << 10), "short\n".into()]
}

fn meta(key: &str, value: Value) -> Meta {
    serde_json::from_value(json!({ key: value })).expect("it is an object")
}

/// The text first and last, with everything that a block and a result can have.
fn result(text: &str, data: &str) -> Vec<CallToolResult> {
    let mut annotated = TextContent::new(text);
    let mut annotations = Annotations::default();
    annotations.priority = Some(0.5);
    annotated.annotations = Some(annotations);
    annotated.meta = Some(meta("a.b/c", json!({ "x": [1, null] })));
    let mut full = CallToolResult::new(vec![ContentBlock::Text(annotated), ContentBlock::text(text)]);
    full.structured_content = Some(RawJson::new(&json!({ "n": 1 })).expect("it prints"));
    full.meta = Some(meta("d.e/f", json!("line\nbreak")));
    vec![
        CallToolResult::new(vec![ContentBlock::text(text)]),
        CallToolResult::error(text),
        full,
        CallToolResult::new(vec![ContentBlock::text("first"), ContentBlock::text(text)]),
        CallToolResult::new(vec![ContentBlock::Image(ImageContent::new(data, "image/png")), ContentBlock::text(text)]),
        CallToolResult::new(vec![ContentBlock::Audio(AudioContent::new(data, "audio/wav"))]),
    ]
}

/// What the blocks say.
fn words(result: &CallToolResult) -> Vec<&str> {
    fn word(block: &ContentBlock) -> Option<&str> {
        match block {
            ContentBlock::Text(text) => Some(&text.text),
            ContentBlock::Image(image) => Some(&image.data),
            ContentBlock::Audio(sound) => Some(&sound.data),
            _ => None,
        }
    }
    result.content.iter().filter_map(word).collect()
}

#[test]
fn a_long_text_is_the_same_on_the_other_side() {
    let data = "QUJD".repeat(10_000);
    for text in texts() {
        for (made, row) in
            result(&text, &data).into_iter().flat_map(|made| ROWS.iter().map(move |row| (made.clone(), row)))
        {
            let sent = made.clone();
            let server = Server::new("long", "1").tool(tool("long", move || sent.clone())).build();
            let got = block_on(async {
                let client = connect(server, row.version).await.unwrap();
                client.call("long", json!({})).await.unwrap().into_inner()
            });
            // Long texts would fill the screen.
            let is_sayable = row.audio || !matches!(made.content[0], ContentBlock::Audio(_));
            assert!(!is_sayable || words(&got) == words(&made), "{}", row.version);
            assert_eq!(got.failed(), made.failed());
            let said = |result: &CallToolResult| json!(result.meta)["d.e/f"].clone();
            assert_eq!(said(&got), said(&made), "{}", row.version);
            assert_eq!(got.structured_content.is_some(), made.structured_content.is_some() && row.structured);
        }
    }
}
