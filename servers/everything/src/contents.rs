//! Tools of the contract that return content: text, numbers, an image, structured content.

use couplet::{
    prelude::*,
    server::media::Image,
    types::{Annotations, ContentBlock, Role, TextContent},
};
use serde::{Deserialize, Serialize};

pub(crate) const LOGO: &[u8] = include_bytes!("../assets/logo.png");

/// Echoes back the input string
#[tool(title = "Echo Tool", read_only, destructive = false, idempotent, open_world = false)]
pub(crate) fn echo(
    /// Message to echo
    message: String,
) -> String {
    format!("Echo: {message}")
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MessageType {
    Error,
    Success,
    Debug,
}

/// Demonstrates how annotations can be used to provide metadata about content.
#[tool(
    name = "get-annotated-message",
    title = "Get Annotated Message Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) fn get_annotated_message(
    /// Type of message to demonstrate different annotation patterns
    #[serde(rename = "messageType")]
    message_type: MessageType,
    /// Whether to include an example image
    #[serde(rename = "includeImage")]
    #[default(false)]
    include_image: bool,
) -> Vec<ContentBlock> {
    let hints = |priority, audience: &[Role]| Annotations::new().priority(priority).audience(audience.to_vec());
    let (text, about) = match message_type {
        MessageType::Error => ("Error: Operation failed", hints(1.0, &[Role::User, Role::Assistant])),
        MessageType::Success => ("Operation completed successfully", hints(0.7, &[Role::User])),
        MessageType::Debug => ("Debug: Cache hit ratio 0.95, latency 150ms", hints(0.3, &[Role::Assistant])),
    };
    let mut content = vec![TextContent::new(text).annotations(about).into()];
    if include_image {
        content.push(Image::new(LOGO, "image/png").annotations(hints(0.5, &[Role::User])).into());
    }
    content
}

#[derive(Deserialize, JsonSchema)]
enum City {
    #[serde(rename = "New York")]
    NewYork,
    Chicago,
    #[serde(rename = "Los Angeles")]
    LosAngeles,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Weather {
    /// Temperature in celsius
    #[schemars(with = "f64")]
    temperature: i32,
    /// Weather conditions description
    conditions: &'static str,
    /// Humidity percentage
    #[schemars(with = "f64")]
    humidity: i32,
}

/// Returns structured content along with an output schema for client data validation
#[tool(
    name = "get-structured-content",
    title = "Get Structured Content Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) fn get_structured_content(
    /// Choose city
    location: City,
) -> Json<Weather> {
    let (temperature, conditions, humidity) = match location {
        City::NewYork => (33, "Cloudy", 82),
        City::Chicago => (36, "Light rain / drizzle", 82),
        City::LosAngeles => (73, "Sunny / Clear", 48),
    };
    Json(Weather { temperature, conditions, humidity })
}

/// Returns the sum of two numbers
#[tool(name = "get-sum", title = "Get Sum Tool", read_only, destructive = false, idempotent, open_world = false)]
pub(crate) fn get_sum(
    /// First number
    a: f64,
    /// Second number
    b: f64,
) -> String {
    format!("The sum of {a} and {b} is {}.", a + b)
}

/// Returns a tiny MCP logo image.
#[tool(
    name = "get-tiny-image",
    title = "Get Tiny Image Tool",
    read_only,
    destructive = false,
    idempotent,
    open_world = false
)]
pub(crate) fn get_tiny_image() -> Vec<ContentBlock> {
    let image = Image::new(LOGO, "image/png");
    vec!["Here's the image you requested:".into(), image.into(), "The image above is the MCP logo.".into()]
}
