//! Tools that return each kind of content.

use couplet::{
    prelude::*,
    types::{ContentBlock, ResourceContents},
};

/// A PNG of one red pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A silent WAV file.
const SILENCE: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

pub(crate) fn register(server: Server) -> Server {
    server
        .tool(test_simple_text)
        .tool(test_image_content)
        .tool(test_audio_content)
        .tool(test_embedded_resource)
        .tool(test_multiple_content_types)
        .tool(test_error_handling)
}

/// Returns text.
#[tool]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool]
fn test_image_content() -> ContentBlock {
    ContentBlock::image(PIXEL, "image/png")
}

/// Returns audio.
#[tool]
fn test_audio_content() -> ContentBlock {
    ContentBlock::audio(SILENCE, "audio/wav")
}

/// Returns an embedded resource.
#[tool]
fn test_embedded_resource() -> ContentBlock {
    let contents = ResourceContents::text("test://embedded-resource", "This is an embedded resource content.");
    ContentBlock::resource(contents.mime_type("text/plain"))
}

/// Returns text, an image and a resource.
#[tool]
fn test_multiple_content_types() -> Vec<ContentBlock> {
    let data = ResourceContents::text("test://mixed-content-resource", r#"{"test":"data","value":123}"#);
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(PIXEL, "image/png"),
        ContentBlock::resource(data.mime_type("application/json")),
    ]
}

/// Fails.
#[tool]
fn test_error_handling() -> Result<String, ToolError> {
    Err(ToolError::new("This tool intentionally returns an error for testing"))
}
