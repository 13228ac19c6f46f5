//! Sampling requests, answered by the user in place of a model.

use couplet::types::{ContentBlock, CreateMessageParams, CreateMessageResult, StopReason};

use super::prompt::{self, Line};
use crate::output::{Output, text};

/// Shows the conversation and prompts for the answer. `None` means declined.
pub(crate) fn ask(output: &Output, server: &str, request: &CreateMessageParams) -> Option<CreateMessageResult> {
    let heading = format!("{server} asks the model, for at most {} tokens:", request.max_tokens);
    output.complain(&format!("\n{}", output.err.strong(heading)));
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
    output.complain("  Type the answer, then an empty line. An empty answer or Ctrl-C declines.");
    let mut lines = Vec::new();
    loop {
        match prompt::line("  > ") {
            Line::Left => return None,
            Line::Text(line) if line.is_empty() => break,
            Line::Text(line) => lines.push(line),
        }
    }
    (!lines.is_empty()).then(|| answer(&lines.join("\n")))
}

/// Creates the result of a sampling request. The model is `a person`.
pub(crate) fn answer(words: &str) -> CreateMessageResult {
    CreateMessageResult::new("a person", ContentBlock::text(words)).stop_reason(StopReason::EndTurn)
}

fn words(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(block) => block.text.clone(),
        ContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        ContentBlock::ToolUse(tool) => format!("[tool call {} {}]", tool.name, tool.input),
        ContentBlock::ToolResult(result) => {
            format!("[tool result {}]", result.content.iter().filter_map(ContentBlock::as_text).collect::<String>())
        }
        _ => "[unsupported content]".to_owned(),
    }
}

fn indented(words: &str) -> String {
    text::visible(words).replace('\n', "\n    ")
}
