//! One server that has everything, and a second one whose lists have many pages.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use couplet_core::{Reply, ResultBody};
use couplet_server::{
    Ctx, Json, NotFound, Server, ServerHandle, ToolError,
    extract::{Args, Completing, Path, RawArgs, State},
    prompt,
    reply::Blob,
    resource, tool,
};
use couplet_types::{
    Annotations, AudioContent, BooleanSchema, CallToolResult, ContentBlock, CreateMessageParams, ElicitParams,
    ElicitSchema, EmbeddedResource, EnumSchema, Icon, ImageContent, Implementation, LoggingLevel, Meta,
    MultiEnumSchema, NumberSchema, PromptMessage, Resource, ResourceContents, Role, RpcError, SamplingMessage,
    StringSchema, TaskSupport, TextContent, Tool, ToolAnnotations, ToolChoice, ToolChoiceMode, ToolExecution,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The server that has everything.
pub(crate) fn server() -> ServerHandle {
    let seen = Seen::default();
    let notes = seen.notes.clone();
    let info = Implementation::new("fixture", "1.2.3")
        .title("The fixture")
        .description("Has everything.")
        .website_url("https://example.com/fixture")
        .icons(icons());
    let server = Server::new("fixture", "1.2.3")
        .info(info)
        .instructions("Call everything.")
        .on_notification(move |note| lock(&notes).push(note.method.to_string()))
        .method("fixture/echo", |call| async move { Reply::Complete(ResultBody::json(call.params.text())) });
    with_prompts(with_resources(with_questions(with_tools(server)))).with_state(seen).build()
}

/// A server whose lists come in pages of two.
pub(crate) fn paged() -> ServerHandle {
    let mut server = Server::new("paged", "1.0.0").page_size(2);
    for n in 0..5 {
        server = server
            .tool(tool(format!("tool-{n}"), || "done"))
            .prompt(prompt(format!("prompt-{n}"), || "do it"))
            .resource(resource(format!("paged://fixed/{n}"), || "text"))
            .resource(resource(format!("paged://many/{n}/{{id}}"), |Path(id): Path<String>| id));
    }
    server.build()
}

/// What happened in the server, for tests to ask about.
#[derive(Clone, Default)]
struct Seen {
    started: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    steps: Arc<AtomicUsize>,
    notes: Arc<Mutex<Vec<String>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    /// The first one.
    a: f64,
    /// The second one.
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    total: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    n: i64,
}

#[derive(Serialize, JsonSchema)]
struct Counters {
    started: usize,
    dropped: usize,
    steps: usize,
    notes: Vec<String>,
}

fn icons() -> Vec<Icon> {
    vec![Icon::new("https://example.com/icon.png").mime_type("image/png").sizes(vec!["48x48".to_owned()])]
}

fn mark() -> Meta {
    Meta::new().with("example.com/mark", json!({ "n": 1 }))
}

fn hints() -> Annotations {
    Annotations::new().audience(vec![Role::User]).priority(0.5).last_modified("2026-01-02T03:04:05Z")
}

fn blocks() -> Vec<ContentBlock> {
    let text = ResourceContents::text("fix://text", "inside").mime_type("text/plain").meta(mark());
    let blob = ResourceContents::blob("fix://blob", "AAEC").mime_type("application/octet-stream");
    let link = Resource::new("fix://text", "text")
        .title("The text")
        .description("A text.")
        .mime_type("text/plain")
        .size(4)
        .annotations(hints())
        .icons(icons())
        .meta(mark());
    vec![
        TextContent::new("words").annotations(hints()).meta(mark()).into(),
        ImageContent::new("AAEC", "image/png").annotations(hints()).meta(mark()).into(),
        AudioContent::new("AAEC", "audio/wav").annotations(hints()).meta(mark()).into(),
        EmbeddedResource::new(text).annotations(hints()).meta(mark()).into(),
        ContentBlock::resource(blob),
        ContentBlock::link(link),
    ]
}

fn with_tools(server: Server<Seen>) -> Server<Seen> {
    let annotations = ToolAnnotations::new().title("Adder").read_only_hint(true).idempotent_hint(true);
    server
        .tool(
            tool("add", |Args(n): Args<Numbers>| n.a + n.b)
                .title("Add")
                .description("Adds two numbers.")
                .icons(icons())
                .meta(mark())
                .annotations(annotations),
        )
        .tool(tool("sum", |Args(n): Args<Numbers>| Json(Sum { total: n.a + n.b })))
        .tool(tool("range", |Args(Count { n }): Args<Count>| Json((0..n).collect::<Vec<i64>>())))
        .tool(tool("blocks", || CallToolResult::new(blocks()).meta(mark())))
        .tool(tool("fail", || Err::<String, _>(ToolError::new("it did not work"))))
        .tool(tool("refuse", || Err::<String, _>(RpcError::new(1234, "not today").with_data(json!({ "why": "rain" })))))
        .tool(tool("boom", || -> String { panic!("a secret") }))
        .tool(tool("work", work))
        .tool(tool("chatter", chatter))
        .tool(tool("slow", slow).timeout(None))
        .tool(tool("grow", grow))
        .tool(tool("shrink", shrink))
        .tool(tool("touch", |ctx: Ctx, Args(Named { name }): Args<Named>| ctx.server().updated(name)))
        .tool(tool("counters", counters))
        .tool(tool("meta", |meta: Meta| json!(meta).to_string()))
        .tool(
            tool("echo", |RawArgs(arguments): RawArgs| arguments.as_str().to_owned())
                .input_schema(json!({ "type": "object" })),
        )
}

async fn work(ctx: Ctx) -> &'static str {
    for done in 1..=3 {
        ctx.progress_with(f64::from(done), Some(3.0), Some(format!("part {done}"))).await;
    }
    "worked"
}

async fn chatter(ctx: Ctx) -> &'static str {
    ctx.debug("details").await;
    ctx.log(LoggingLevel::Warning, &json!({ "disk": "full" })).await;
    ctx.error("broken").await;
    "said"
}

/// Waits for ever, and counts how often it was given up.
async fn slow(ctx: Ctx, State(seen): State<Seen>) -> &'static str {
    struct Count(Arc<AtomicUsize>);
    impl Drop for Count {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let _count = Count(seen.dropped.clone());
    seen.started.fetch_add(1, Ordering::SeqCst);
    ctx.progress(0.1, "started").await;
    pending().await
}

/// Adds one of each kind.
async fn grow(ctx: Ctx, Args(Named { name }): Args<Named>) -> Result<&'static str, ToolError> {
    ctx.server().add_tool(tool(name.clone(), || "grown"))?;
    ctx.server().add_prompt(prompt(name.clone(), || "grown"))?;
    ctx.server().add_resource(resource(format!("grown://{name}"), || "grown"))?;
    Ok("grown")
}

async fn shrink(ctx: Ctx, Args(Named { name }): Args<Named>) -> bool {
    let server = ctx.server();
    server.remove_tool(&name) & server.remove_prompt(&name) & server.remove_resource(&format!("grown://{name}"))
}

async fn counters(State(seen): State<Seen>) -> Json<Counters> {
    let read = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    Json(Counters {
        started: read(&seen.started),
        dropped: read(&seen.dropped),
        steps: read(&seen.steps),
        notes: lock(&seen.notes).clone(),
    })
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    /// Fits a pocket
    Small,
    /// Needs a truck
    Large,
}

/// Every kind of field that all revisions with forms have.
#[derive(Deserialize, JsonSchema, Serialize)]
struct Form {
    /// Who you are
    #[schemars(length(min = 1, max = 40))]
    name: String,
    #[schemars(email)]
    mail: String,
    #[schemars(range(min = 1, max = 9))]
    count: i64,
    ratio: f64,
    #[serde(default)]
    ready: bool,
    color: Color,
    size: Size,
}

#[derive(Deserialize, JsonSchema)]
struct Yes {
    yes: bool,
}

fn with_questions(server: Server<Seen>) -> Server<Seen> {
    server
        .tool(tool("form", form))
        .tool(tool("choose", choose))
        .tool(tool("visit", visit))
        .tool(tool("visit-known", visit_known))
        .tool(tool("both", both))
        .tool(tool("wizard", wizard))
        .tool(tool("sample", sample))
        .tool(tool("sample-tools", sample_tools))
        .tool(tool("roots", |ctx: Ctx| async move {
            let roots = ctx.roots().await?;
            Ok::<_, RpcError>(roots.into_iter().map(|r| r.uri).collect::<Vec<_>>().join(" "))
        }))
}

async fn form(ctx: Ctx) -> Result<String, ToolError> {
    let filled = ctx.elicit::<Form>("form", "Fill it in").await?.accepted()?;
    Ok(serde_json::to_string(&filled)?)
}

/// Every kind of choice, and every default.
async fn choose(ctx: Ctx) -> Result<String, ToolError> {
    let titled = [("s", "Small"), ("l", "Large")];
    let schema = ElicitSchema::new()
        .required("one", EnumSchema::new(["a", "b"]).default_value("a"))
        .required("titled", EnumSchema::titled(titled))
        .optional("some", MultiEnumSchema::new(["a", "b"]).min_items(1))
        .optional("some_titled", MultiEnumSchema::titled(titled).default_value(vec!["s".to_owned()]))
        .optional("text", StringSchema::new().default_value("x"))
        .optional("number", NumberSchema::integer().default_value(3.0))
        .optional("flag", BooleanSchema::new().default_value(true));
    let answer = ctx.elicit_with("choose", ElicitParams::form("Choose", &schema)).await?;
    Ok(answer.parse::<serde_json::Value>()?.to_string())
}

async fn visit(ctx: Ctx) -> Result<&'static str, ToolError> {
    ctx.elicit_url("visit", "Sign in there", "https://example.com/login").await?.accepted()?;
    Ok("visited")
}

/// A visit under an id that the server chose, and the word that it is over.
async fn visit_known(ctx: Ctx) -> Result<&'static str, ToolError> {
    let visit = ElicitParams::visit("Sign in there", "https://example.com/login").elicitation_id("visit-1");
    ctx.elicit_with("visit", visit).await?;
    ctx.elicitation_complete("visit-1").await;
    Ok("visited")
}

async fn both(ctx: Ctx) -> Result<String, ToolError> {
    let (first, second) =
        tokio::join!(ctx.elicit::<Yes>("first", "The first?"), ctx.elicit::<Yes>("second", "The second?"));
    Ok(format!("{} {}", first?.accepted()?.yes, second?.accepted()?.yes))
}

/// Two questions one after the other, with work before each that is to be done once.
async fn wizard(ctx: Ctx, State(seen): State<Seen>) -> Result<String, ToolError> {
    let count = || async { seen.steps.fetch_add(1, Ordering::SeqCst) };
    ctx.step("before", count).await?;
    let first = ctx.elicit::<Yes>("first", "Begin?").await?.accepted()?;
    ctx.step("between", count).await?;
    let second = ctx.elicit::<Yes>("second", "Go on?").await?.accepted()?;
    Ok(format!("{} {}", first.yes, second.yes))
}

async fn sample(ctx: Ctx) -> Result<String, RpcError> {
    let ask = CreateMessageParams::new(vec![SamplingMessage::user("What is it?").meta(mark())], 100)
        .system_prompt("Be short.")
        .temperature(0.5);
    let answer = ctx.sample("sample", ask).await?;
    Ok(format!("{}: {}", answer.model, answer.content.all_text()))
}

async fn sample_tools(ctx: Ctx) -> Result<String, RpcError> {
    let execution = ToolExecution::new().task_support(TaskSupport::Optional);
    let look = Tool::new("look", json!({ "type": "object" })).execution(execution);
    let ask = CreateMessageParams::new(vec![SamplingMessage::user("Look it up.")], 100)
        .tools(vec![look])
        .tool_choice(ToolChoice::new(ToolChoiceMode::Auto));
    ctx.sample("sample", ask).await.map(|answer| answer.model)
}

#[derive(Deserialize)]
struct Item {
    kind: String,
    id: u32,
}

fn with_resources(server: Server<Seen>) -> Server<Seen> {
    server
        .resource(
            resource("fix://text", || "some text")
                .name("text")
                .title("The text")
                .description("A text.")
                .mime_type("text/plain")
                .size(9)
                .annotations(hints())
                .icons(icons())
                .meta(mark()),
        )
        .resource(resource("fix://blob", || Blob(vec![0, 1, 2])).mime_type("application/octet-stream"))
        .resource(resource("fix://json", || Json(json!({ "a": [1, 2] }))))
        .resource(resource("fix://live", || "alive").subscribable())
        .resource(resource("fix://asked", |ctx: Ctx| async move {
            let yes = ctx.elicit::<Yes>("read", "Really read it?").await?.accepted()?.yes;
            Ok::<_, ToolError>(yes)
        }))
        .resource(
            resource("fix://item/{kind}/{id}", |Path(Item { kind, id }): Path<Item>| format!("{kind} {}", id + 1))
                .name("item")
                .title("An item")
                .description("Items by kind and number.")
                .mime_type("text/plain")
                .annotations(hints())
                .icons(icons())
                .meta(mark())
                .complete_from("kind", ["apple", "apricot", "pear"]),
        )
        .resource(resource("fix://gone/{id}", |Path(_): Path<String>| Err::<String, _>(NotFound)))
}

#[derive(Deserialize, JsonSchema)]
struct Plan {
    /// Where to go
    #[schemars(title = "Country")]
    country: String,
    city: Option<String>,
    days: Option<u8>,
}

fn with_prompts(server: Server<Seen>) -> Server<Seen> {
    server
        .prompt(
            prompt("plan", |Args(plan): Args<Plan>| {
                let Plan { country, city, days } = plan;
                format!("{} days in {}, {country}.", days.unwrap_or(1), city.as_deref().unwrap_or("anywhere"))
            })
            .title("Plan a trip")
            .description("Plans a trip.")
            .icons(icons())
            .meta(mark())
            .complete_from("country", ["Norway", "Nepal", "Chile"])
            .complete("city", cities),
        )
        .prompt(prompt("gallery", || blocks().into_iter().map(PromptMessage::assistant).collect::<Vec<_>>()))
        .prompt(prompt("asked", |ctx: Ctx| async move {
            let yes = ctx.elicit::<Yes>("get", "Really?").await?.accepted()?.yes;
            Ok::<_, ToolError>(format!("yes is {yes}"))
        }))
}

/// Cities of the country, where that is known.
fn cities(typed: Completing) -> Vec<String> {
    let all: &[&str] = match typed.arguments.get("country").map(String::as_str) {
        Some("Norway") => &["Oslo", "Bergen"],
        Some(_) => &[],
        None => &["Oslo", "Bergen", "Santiago"],
    };
    all.iter().filter(|c| c.starts_with(&typed.value)).map(|c| (*c).to_owned()).collect()
}
