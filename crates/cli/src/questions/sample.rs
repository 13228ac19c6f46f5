//! A server that asks a model, answered by a person.

use couplet::types::{ContentBlock, CreateMessageParams, CreateMessageResult, StopReason};

use super::prompt::{self, Line};
use crate::output::{Output, text};

/// Shows the conversation and takes the answer of whoever plays the model. `None` is a refusal.
pub(crate) fn ask(output: &Output, heading: &str, request: &CreateMessageParams) -> Option<CreateMessageResult> {
    let tokens = request.max_tokens;
    output.complain(&format!("\n{heading} what would your model say, in at most {tokens} tokens?"));
    let faint = |label: &str| output.err.faint(format!("  {label}:"));
    if let Some(system) = &request.system_prompt {
        output.complain(&format!("{} {}", faint("system"), indented(system)));
    }
    for message in &request.messages {
        let role = message.role.as_str();
        for block in message.content.blocks() {
            output.complain(&format!("{} {}", faint(role), indented(&words(block))));
        }
    }
    output.complain("  Type the answer. An empty line ends it; at once, it refuses. So does Ctrl-C.");
    let mut answer = Vec::new();
    loop {
        match prompt::line("  > ") {
            Line::Left => return None,
            Line::Text(line) if line.is_empty() => break,
            Line::Text(line) => answer.push(line),
        }
    }
    (!answer.is_empty()).then(|| said(&answer.join("\n")))
}

/// Words of somebody who plays the model.
pub(crate) fn said(words: &str) -> CreateMessageResult {
    CreateMessageResult::new("a person", ContentBlock::text(words)).stop_reason(StopReason::EndTurn)
}

fn words(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(block) => block.text.clone(),
        ContentBlock::Image(image) => format!("[a picture, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound, {}]", audio.mime_type),
        ContentBlock::ToolUse(tool) => format!("[uses the tool {} with {}]", tool.name, tool.input),
        ContentBlock::ToolResult(result) => {
            format!("[the tool said {}]", result.content.iter().filter_map(ContentBlock::as_text).collect::<String>())
        }
        _ => "[something else]".to_owned(),
    }
}

fn indented(words: &str) -> String {
    text::visible(words).replace('\n', "\n    ")
}
