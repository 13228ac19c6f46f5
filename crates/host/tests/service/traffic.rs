//! Requests of many servers to many clients at once.

use std::sync::Arc;

use couplet_client::Client;
use couplet_host::Host;
use couplet_server::{Ctx, Server, ToolError, extract::Args, tool};
use couplet_types::{CreateMessageParams, CreateMessageResult, Root, SamplingMessage};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::kit::{SESSIONS, STATELESS, connect, in_time};

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

/// Asks in every way, and compares with the caller that the arguments name.
async fn reverse(ctx: Ctx, Args(Name { name }): Args<Name>) -> Result<String, ToolError> {
    let form = ctx.elicit::<Name>("name", "who are you?").await?.accepted()?.name;
    let question = CreateMessageParams::new(vec![SamplingMessage::user("who?")], 5);
    let sampled = ctx.sample("sample", question).await.map_err(ToolError::from)?.content.all_text();
    let root = ctx.roots().await.map_err(ToolError::from)?[0].uri.clone();
    ctx.progress_with(1.0, None, None).await;
    if form == name && sampled == name && root == format!("file:///{name}") { Ok(name) } else { Ok("wrong".into()) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_reaches_another_client() {
    const CLIENTS: usize = 12;
    const SERVERS: usize = 3;
    const CALLS: usize = 3;
    for (near, far) in [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)] {
        in_time(format_args!("{near} to {far}"), async {
            let server =
                |at: usize| Server::new(format!("s{at}"), "1").versions([far]).tool(tool("reverse", reverse)).build();
            let host =
                (0..SERVERS).fold(Host::builder(), |host, at| host.server(&format!("s{at}"), server(at))).build();
            let mut calls = JoinSet::new();
            for at in 0..CLIENTS {
                let name: Arc<str> = format!("client-{at}").into();
                let (form, sample) = (name.clone(), name.clone());
                let client = Client::new(&*name, "1")
                    .versions([near])
                    .roots([Root::new(format!("file:///{name}"))])
                    .on_sample(move |_| {
                        let name = sample.to_string();
                        async move { Ok(CreateMessageResult::new("m", name.as_str())) }
                    })
                    .on_elicit(move |ask| {
                        let name = form.clone();
                        async move { ask.accept(json!({ "name": name })) }
                    });
                let client = connect(client, host.service()).await;
                client.tools().await.unwrap();
                calls.spawn(async move {
                    for call in 0..CALLS * SERVERS {
                        let tool = format!("s{}__reverse", (at + call) % SERVERS);
                        let done = loop {
                            match client.call(tool.as_str(), json!({ "name": name })).await {
                                // The first requests of a server with sessions may meet several stateless calls on one
                                // connection: they are refused rather than guessed.
                                Err(error) if error.to_string().contains("cannot be assigned") => {}
                                done => break done.unwrap(),
                            }
                        };
                        assert_eq!(done.text(), &*name);
                    }
                });
            }
            while let Some(done) = calls.join_next().await {
                done.unwrap();
            }
        })
        .await;
    }
}
