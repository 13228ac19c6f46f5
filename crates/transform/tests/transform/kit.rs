//! A server, and the ways to reach it.

use std::{future::Future, sync::Arc};

use couplet_client::Client;
use couplet_core::{Call, Caller, IntoService, Service};
use couplet_proxy::Proxy;
use couplet_server::{
    Ctx, Next, Server,
    extract::{Args, Path},
    prompt, resource, tool,
};
use couplet_types::{ProtocolVersion, RpcError, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Runs a test in every revision.
pub(crate) fn in_each_revision<F: Future<Output = ()>>(test: impl Fn(ProtocolVersion) -> F) {
    for version in ProtocolVersion::ALL {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(test(*version));
    }
}

#[derive(Deserialize, JsonSchema, serde::Serialize)]
pub(crate) struct Query {
    /// The words.
    q: String,
    /// The number of results.
    #[serde(default)]
    n: Option<i64>,
    #[serde(default)]
    tenant: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// A server with something of each kind. `echo` returns its arguments.
pub(crate) fn server() -> Server {
    Server::new("s", "1")
        .page_size(2)
        .tool(tool("echo", |Args(query): Args<Query>| serde_json::to_string(&query).unwrap()).description("Echoes."))
        .tool(tool("change", |ctx: Ctx| async move {
            ctx.progress_with(1.0, Some(2.0), None).await;
            let sure = ctx.elicit::<Sure>("sure", "really?").await?;
            Ok::<_, RpcError>(format!("{:?}", sure.accepted().ok().map(|sure| sure.yes)))
        }))
        .tool(tool("secret", || "secret").scopes(["admin"]))
        .tool(tool("plain", || "plain"))
        .prompt(
            prompt("greet", |Args(City { city }): Args<City>| format!("hello {city}")).complete_from("city", ["Oslo"]),
        )
        .prompt(prompt("bye", || "bye"))
        .resource(resource("test://menu", || "soup").subscribable())
        .resource(resource("test://secret", || "hidden").scopes(["admin"]))
        .resource(resource("test://more", || "more"))
        .resource(resource("test://notes/{id}", |Path(id): Path<String>| id))
}

pub(crate) async fn connect(service: impl IntoService, version: ProtocolVersion) -> Client {
    let client = Client::new("test", "1.0.0").versions([version]);
    let client = client.on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) });
    client.connect(service.into_service()).await.unwrap()
}

/// The service behind a proxy whose connection has another revision.
pub(crate) async fn proxied(service: Arc<dyn Service>, version: ProtocolVersion) -> Arc<dyn Service> {
    Proxy::connect(Client::new("proxy", "1.0.0").versions([version]), service).await.unwrap().service()
}

/// The service as a mounted one; names have the prefix `m_`.
pub(crate) fn mounted(service: impl IntoService) -> Arc<dyn Service> {
    Server::<()>::new("outer", "1").mount("m", service.into_service()).into_service()
}

/// A server around a service that authenticates every caller, as a transport does.
pub(crate) fn authenticated(service: impl IntoService, caller: Caller) -> Arc<dyn Service> {
    let caller = Arc::new(caller);
    let middleware = move |mut call: Call, next: Next| {
        call.caller = Some(caller.clone());
        next.run(call)
    };
    Server::<()>::new("outer", "1").middleware(middleware).mount("m", service.into_service()).into_service()
}

pub(crate) async fn names(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

pub(crate) async fn find(client: &Client, name: &str) -> Tool {
    client.tools().await.unwrap().into_iter().find(|tool| tool.name == name).unwrap()
}

/// The text of a tool's result, or of its error.
pub(crate) async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    match client.call(tool, arguments).await {
        Ok(result) => result.text(),
        Err(error) => error.rpc().map(|error| error.message.clone()).unwrap_or_else(|| error.to_string()),
    }
}

/// Whether a call succeeds.
pub(crate) async fn works(client: &Client, tool: &str, arguments: Value) -> bool {
    client.call(tool, arguments).await.is_ok_and(|result| !result.is_error())
}
