//! Servers, hosts and callers in this process.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{BoxFuture, Call, Caller, Description, Hub, Reply, Service};
use couplet_host::{Host, Server as Entry, names::ServerId};
use couplet_server::{
    Ctx, Json, Server, ToolError,
    extract::{Args, Path},
    prompt, resource, tool,
};
use couplet_types::{CreateMessageParams, CreateMessageResult, LoggingLevel, ProtocolVersion, Root, SamplingMessage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

pub(crate) const SESSIONS: ProtocolVersion = ProtocolVersion::V2025_11_25;
pub(crate) const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// Every revision downstream with both eras upstream.
pub(crate) fn pairs() -> impl Iterator<Item = (ProtocolVersion, ProtocolVersion)> {
    ProtocolVersion::ALL.iter().flat_map(|near| [SESSIONS, STATELESS].map(|far| (*near, far)))
}

/// Runs a check, and fails when it hangs.
pub(crate) async fn in_time<T>(what: impl std::fmt::Display, check: impl Future<Output = T>) -> T {
    within(60, what, check).await
}

/// Runs a check that may take so many seconds.
pub(crate) async fn within<T>(seconds: u64, what: impl std::fmt::Display, check: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), check).await.unwrap_or_else(|e| panic!("{what}: {e}"))
}

/// The size of a test: that of the variable, which `cargo xtask full gateway` sets, or one that takes seconds.
pub(crate) fn size(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |size| size.parse().unwrap())
}

pub(crate) async fn in_all_pairs<F: Future<Output = ()>>(check: impl Fn(ProtocolVersion, ProtocolVersion) -> F) {
    for (near, far) in pairs() {
        in_time(format_args!("{near} to {far}"), check(near, far)).await;
    }
}

pub(crate) fn id(server: &str) -> ServerId {
    ServerId::parse(server).unwrap()
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct Word {
    pub(crate) word: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Sure {
    pub(crate) yes: bool,
}

/// A server whose name is in all that it says.
pub(crate) fn server(name: &'static str, version: ProtocolVersion) -> Server {
    Server::new(name, "1.0.0")
        .versions([version])
        .instructions(format!("Instructions of {name}."))
        .tool(tool("echo", |Args(word): Args<Word>| Json(word)).title("Echo"))
        .tool(tool("who", move || name))
        .tool(tool("fail", || Err::<(), _>(ToolError::new("no luck"))))
        .tool(tool("work", work))
        .tool(tool("sure", sure))
        .tool(tool("think", think))
        .resource(resource(format!("{name}://one"), move || format!("{name} one")).subscribable())
        .resource(
            resource(format!("{name}://{{n}}/page"), move |Path(n): Path<u8>| format!("{name} page {n}"))
                .complete_from("n", ["7"]),
        )
        .prompt(
            prompt("ask", move |Args(Word { word }): Args<Word>| format!("{name}: what is {word}?"))
                .complete_from("word", [name]),
        )
}

async fn work(ctx: Ctx) -> &'static str {
    ctx.progress_with(1.0, Some(2.0), None).await;
    ctx.log(LoggingLevel::Warning, "careful").await;
    ctx.progress_with(2.0, Some(2.0), None).await;
    "worked"
}

/// Asks twice, so that there is a second round.
async fn sure(ctx: Ctx) -> Result<String, ToolError> {
    let first = ctx.elicit::<Sure>("first", "are you sure?").await?.accepted()?.yes;
    let second = ctx.elicit::<Sure>("second", "positively?").await?.accepted()?.yes;
    Ok(format!("{first} {second}"))
}

async fn think(ctx: Ctx) -> Result<String, couplet_types::RpcError> {
    let question = SamplingMessage::user("one sentence, please");
    let thought = ctx.sample("thought", CreateMessageParams::new(vec![question], 50)).await?;
    let roots = ctx.roots().await?;
    Ok(format!("{} in {}", thought.content.all_text(), roots[0].uri))
}

pub(crate) fn entry(key: &'static str, server: Server) -> Entry {
    Entry::new(id(key), Arc::new(server.build()) as Arc<dyn Service>)
}

/// A host of two servers that have the same tools.
pub(crate) fn host(far: ProtocolVersion) -> Host {
    Host::builder().add(entry("files", server("files", far))).add(entry("mail", server("mail", far))).build()
}

/// What a client was asked.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// A client that answers everything, and notes the messages of elicitations.
pub(crate) fn able(near: ProtocolVersion) -> (ClientBuilder, Asked) {
    let asked = Asked::default();
    let seen = asked.clone();
    let client = Client::new("near", "1.0.0")
        .versions([near])
        .roots([Root::new("file:///project")])
        .on_sample(|_| async { Ok(CreateMessageResult::new("a-model", "a sentence")) })
        .on_elicit(move |ask| {
            let mut seen = seen.lock().unwrap();
            seen.push(ask.message().to_owned());
            let yes = seen.len() % 2 == 1;
            async move { ask.accept(json!({ "yes": yes })) }
        });
    (client, asked)
}

pub(crate) async fn connect(client: ClientBuilder, service: Arc<dyn Service>) -> Client {
    client.connect(service).await.unwrap()
}

/// A service whose calls are changed on their way.
pub(crate) struct Changed(pub(crate) Arc<dyn Service>, pub(crate) Box<dyn Fn(&mut Call) + Send + Sync>);

impl Service for Changed {
    fn describe(&self) -> Arc<Description> {
        self.0.describe()
    }

    fn call(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        (self.1)(&mut call);
        self.0.call(call)
    }

    fn hub(&self) -> &Hub {
        self.0.hub()
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.0.has_resource(uri)
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.0.may_subscribe(uri, caller)
    }
}

/// The service with callers that were all authenticated as one principal.
pub(crate) fn authenticated(name: &'static str, service: Arc<dyn Service>) -> Arc<dyn Service> {
    let caller = Arc::new(Caller::new(name));
    Arc::new(Changed(service, Box::new(move |call| call.caller = Some(caller.clone()))))
}
