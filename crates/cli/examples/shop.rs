//! A server for the tests of `couplet`: every kind of thing that a server can do, and several ways to fail.
//!
//! `shop` serves on stdio; `shop dies`, `shop silent`, `shop noisy` and `shop garbage` do not do it well. `shop quiet`
//! notifies of no changes, and does not know `subscriptions/listen`.

use std::{
    io::{self, BufRead, Write},
    path::Path,
    time::Duration,
};

use couplet::{
    ProtocolVersion,
    prelude::*,
    server::{
        extract::Completing,
        media::{Image, MediaError},
    },
    tasks::Tasks,
    types::{
        ContentBlock, CreateMessageParams, ElicitAction, LoggingLevel, Resource, ResourceContents, SamplingMessage,
    },
};
use serde::{Deserialize, Serialize};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some("dies") => {
            writeln!(io::stderr(), "shop: cannot open the till\nshop: giving up")?;
            std::process::exit(3);
        }
        Some("silent") => {
            io::stdin().lock().lines().for_each(drop);
            return Ok(());
        }
        Some("garbage") => {
            for (at, _) in io::stdin().lock().lines().enumerate() {
                writeln!(io::stdout(), "{{\"jsonrpc\": \"2.0\", \"id\": {}, \"result\": oops \u{1b}[31m", at + 1)?;
            }
            return Ok(());
        }
        Some("quiet") => {
            for line in io::stdin().lock().lines() {
                if let Some(answer) = quiet(&serde_json::from_str(&line?)?) {
                    writeln!(io::stdout(), "{answer}")?;
                }
            }
            return Ok(());
        }
        Some("noisy") => writeln!(io::stdout(), "Shop is open, come in! \u{1b}[2J")?,
        _ => {}
    }
    let versions = words.iter().filter_map(|word| word.parse::<ProtocolVersion>().ok()).collect::<Vec<_>>();
    let server = if versions.is_empty() { server() } else { server().versions(versions) };
    Ok(server.serve(stdio()).await?)
}

/// The answer of a server that knows little.
fn quiet(request: &serde_json::Value) -> Option<serde_json::Value> {
    let id = request.get("id")?;
    let result = match request["method"].as_str()? {
        "server/discover" => serde_json::json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": { "tools": { "listChanged": false } },
        }),
        "tools/list" => serde_json::json!({
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "tools": [{ "name": "tea", "inputSchema": { "type": "object" } }],
        }),
        "tools/call" => serde_json::json!({
            "resultType": "complete", "content": [{ "type": "text", "text": "tea is ready" }],
        }),
        _ => {
            let error = serde_json::json!({ "code": -32601, "message": "Method not found" });
            return Some(serde_json::json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(serde_json::json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn server() -> Server {
    Server::new("shop", "1.2.3")
        .instructions("Look at the menu first.\nThen order.")
        .tool(add)
        .tool(forecast)
        .tool(search)
        .tool(picture)
        .tool(links)
        .tool(fail)
        .tool(order)
        .tool(pay)
        .tool(poem)
        .tool(slow)
        .tool(chatter)
        .tool(trick)
        .tool(hire)
        .tool(restock)
        .tool(bake)
        .resource(menu)
        .resource(logo)
        .resource(item)
        .prompt(greet)
        .prompt(wait)
        .extension(Tasks::in_memory())
}

/// Adds two numbers.
#[tool(read_only, idempotent)]
fn add(
    /// The first number.
    a: f64,
    /// The second number.
    b: f64,
) -> f64 {
    a + b
}

#[derive(Deserialize, JsonSchema)]
enum Unit {
    C,
    F,
}

#[derive(Serialize, JsonSchema)]
struct Forecast {
    city: String,
    /// What the sky looks like.
    sky: &'static str,
    high: f64,
}

/// The weather of the coming days.
///
/// It is always the same, so that it can be tested.
#[tool]
fn forecast(
    /// Where.
    city: String,
    #[default(3)] days: u32,
    unit: Option<Unit>,
) -> Json<Forecast> {
    let high = if matches!(unit, Some(Unit::F)) { 50.0 } else { 10.0 };
    Json(Forecast { city, sky: "grey", high: high + f64::from(days) })
}

#[derive(Deserialize, JsonSchema)]
struct Range {
    from: Option<f64>,
    to: f64,
}

/// Searches for goods.
#[tool]
fn search(tags: Vec<String>, price: Option<Range>, exact: Option<bool>) -> String {
    let price = price.map(|p| format!(" from {} to {}", p.from.unwrap_or(0.0), p.to)).unwrap_or_default();
    format!("{} {}{price}", tags.join("+"), if exact == Some(true) { "exactly" } else { "roughly" })
}

/// The smallest picture there is.
const PIXEL: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\x9cc\xf8\
    \xcf\xc0\xf0\x1f\0\x05\0\x01\xff\x89\x99=\x1d\0\0\0\0IEND\xaeB`\x82";

/// Draws a pixel.
#[tool]
fn picture() -> Result<Image, MediaError> {
    Image::from_bytes(PIXEL)
}

/// Points at things.
#[tool]
fn links() -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("Look here:"),
        ContentBlock::link(Resource::new("shop://menu", "menu").title("The menu")),
        ContentBlock::resource(ResourceContents::text("shop://item/1", "an apple")),
    ]
}

/// Always fails.
#[tool]
fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("the till is \u{1b}[31mempty"))
}

#[derive(Deserialize, JsonSchema)]
enum Size {
    Small,
    Large,
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// What would you like?
    what: String,
    size: Size,
    /// How many?
    #[schemars(range(min = 1, max = 9))]
    count: u32,
    /// Is it a present?
    present: Option<bool>,
}

/// Takes an order.
#[tool]
async fn order(ctx: Ctx) -> Result<String, ToolError> {
    let Order { what, size, count, present } = ctx.elicit::<Order>("order", "Your order, please.").await?.accepted()?;
    let size = if matches!(size, Size::Small) { "small" } else { "large" };
    Ok(format!("{count} {size} {what}{}", if present == Some(true) { ", wrapped" } else { "" }))
}

/// Takes a payment.
#[tool]
async fn pay(ctx: Ctx) -> Result<&'static str, ToolError> {
    let visit = couplet::types::ElicitParams::visit("Please pay.", "https://pay.example.com/order/7");
    let answer = ctx.elicit_with("pay", visit).await?;
    Ok(if answer.action == ElicitAction::Accept { "paid" } else { "not paid" })
}

/// Asks a model for a poem.
#[tool]
async fn poem(about: String, ctx: Ctx) -> Result<String, ToolError> {
    let ask = CreateMessageParams::new(vec![SamplingMessage::user(format!("A poem about {about}."))], 100)
        .system_prompt("You are a poet.");
    let said = ctx.sample("poem", ask).await?;
    Ok(format!("“{}” ({})", said.content.all_text(), said.model))
}

/// Reports half of the work, and does the rest when a file appears.
#[tool]
async fn slow(until: String, ctx: Ctx) -> &'static str {
    ctx.progress(0.5, "waiting for \u{7}a file").await;
    while !Path::new(&until).exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    "done"
}

/// Logs a lot.
#[tool]
async fn chatter(ctx: Ctx) -> &'static str {
    ctx.log(LoggingLevel::Debug, "too much detail").await;
    ctx.log(LoggingLevel::Info, "the door \u{1b}[31mopens").await;
    ctx.log(LoggingLevel::Warning, &serde_json::json!({ "stock": 2 })).await;
    "logged"
}

/// Says what a terminal should not do.
#[tool]
fn trick() -> &'static str {
    "\u{1b}]0;gotcha\u{7}\u{1b}[2Jnot\u{202e} red\r\nend"
}

/// Hires a person: a new tool.
#[tool]
async fn hire(name: String, ctx: Ctx) -> Result<String, ToolError> {
    ctx.server().add_tool(tool(name.clone(), || "at your service").description("A person who was hired."))?;
    Ok(format!("{name} works here now"))
}

/// Restocks the shop after a moment.
#[tool]
async fn restock(ctx: Ctx) -> &'static str {
    ctx.server().updated("shop://menu");
    "restocked"
}

/// Bakes bread, which takes a while.
#[tool(task)]
async fn bake() -> &'static str {
    "bread"
}

/// What there is to eat.
#[resource("shop://menu", mime_type = "text/plain", subscribable)]
fn menu() -> &'static str {
    "soup\nbread\n"
}

/// The logo.
#[resource("shop://logo", mime_type = "image/png")]
fn logo() -> Vec<u8> {
    PIXEL.to_vec()
}

/// One thing of the shop.
#[resource("shop://item/{id}", complete(id = ids))]
fn item(id: u32) -> String {
    format!("item {id}")
}

fn ids(typed: Completing) -> Vec<String> {
    (1..=12).map(|id| id.to_string()).filter(|id| id.starts_with(&typed.value)).collect()
}

/// Greets a customer.
#[prompt(complete(name = names))]
fn greet(
    /// Whom to greet.
    name: String,
    tone: Option<String>,
) -> String {
    format!("Greet {name}, {}.", tone.unwrap_or_else(|| "politely".to_owned()))
}

/// Makes people wait.
#[prompt]
fn wait() -> &'static str {
    "Say that it takes a moment."
}

fn names(typed: Completing) -> Vec<String> {
    ["Ada", "Alan", "Grace"].iter().filter(|name| name.starts_with(&typed.value)).map(ToString::to_string).collect()
}
