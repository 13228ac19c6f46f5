//! The prompts.

use couplet::{
    prelude::*,
    server::extract::Completing,
    types::{ContentBlock, PromptMessage, ResourceContents},
};

use crate::contents::PIXEL;

pub(crate) fn register(server: Server) -> Server {
    server
        .prompt(test_simple_prompt)
        .prompt(test_prompt_with_arguments)
        .prompt(test_prompt_with_embedded_resource)
        .prompt(test_prompt_with_image)
}

/// A prompt without arguments.
#[prompt]
fn test_simple_prompt() -> &'static str {
    "This is a simple prompt for testing."
}

/// A prompt with two arguments.
#[prompt(complete(arg1 = values))]
fn test_prompt_with_arguments(
    /// The first one.
    arg1: String,
    /// The second one.
    arg2: String,
) -> String {
    format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
}

fn values(typed: Completing) -> Vec<String> {
    ["test-one", "test-two", "other"].into_iter().filter(|v| v.starts_with(&typed.value)).map(String::from).collect()
}

/// A prompt with an embedded resource.
#[prompt]
#[allow(non_snake_case, reason = "the suite calls the argument so")]
fn test_prompt_with_embedded_resource(
    /// The URI of the resource.
    resourceUri: String,
) -> Vec<PromptMessage> {
    let contents = ResourceContents::text(resourceUri, "Embedded resource content for testing.");
    vec![
        PromptMessage::user(ContentBlock::resource(contents.mime_type("text/plain"))),
        PromptMessage::user("Please process the embedded resource above."),
    ]
}

/// A prompt with an image.
#[prompt]
fn test_prompt_with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(ContentBlock::image(PIXEL, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ]
}
