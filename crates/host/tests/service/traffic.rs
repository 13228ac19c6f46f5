//! Requests, progress and log messages of many servers to many clients at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet_client::{Client, ClientBuilder};
use couplet_core::{
    BoxFuture, Channel, Connect, Connected, Dialect, Error, Exchange, Inbound, Limits, Outgoing, Service,
};
use couplet_host::Host;
use couplet_server::{Ctx, Server, ToolError, extract::Args, tool};
use couplet_types::{
    CreateMessageParams, CreateMessageResult, LoggingLevel, ProtocolVersion, RequestId, Root, SamplingMessage,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;

use crate::kit::{SESSIONS, STATELESS, able, connect, in_time, server, size, within};

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
    for level in [LoggingLevel::Info, LoggingLevel::Error] {
        ctx.log(level, &name).await;
    }
    for step in 1..=3 {
        ctx.progress_with(f64::from(step), None, Some(name.clone())).await;
    }
    if form == name && sampled == name && root == format!("file:///{name}") { Ok(name) } else { Ok("wrong".into()) }
}

/// The events that clients received, and those that were another client's or below its level.
#[derive(Default)]
struct Events {
    all: AtomicUsize,
    logs: AtomicUsize,
    wrong: AtomicUsize,
}

impl Events {
    fn note(&self, is_right: bool) {
        self.all.fetch_add(1, Ordering::Relaxed);
        self.wrong.fetch_add(usize::from(!is_right), Ordering::Relaxed);
    }
}

/// A client that answers with its name, and checks that what it receives is its own.
fn named(name: &Arc<str>, level: LoggingLevel, events: &Arc<Events>) -> ClientBuilder {
    let (form, sample, line) = (name.clone(), name.clone(), format!("\"{name}\""));
    let (asked, sampled, logged) = (events.clone(), events.clone(), events.clone());
    Client::new(&**name, "1")
        .roots([Root::new(format!("file:///{name}"))])
        .log_level(level)
        .on_log(move |log| {
            logged.logs.fetch_add(1, Ordering::Relaxed);
            logged.note(log.data.get() == line && log.level >= level);
        })
        .on_sample(move |_| {
            sampled.note(true);
            let name = sample.to_string();
            async move { Ok(CreateMessageResult::new("m", name.as_str())) }
        })
        .on_elicit(move |ask| {
            asked.note(true);
            let name = form.clone();
            async move { ask.accept(json!({ "name": name })) }
        })
}

/// The variable with the number of events.
const EVENTS: &str = "COUPLET_TRAFFIC_EVENTS";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_11_no_message_reaches_another_client() {
    const CLIENTS: usize = 50;
    const SERVERS: usize = 5;
    const PAIRS: [(ProtocolVersion, ProtocolVersion); 4] =
        [(SESSIONS, SESSIONS), (SESSIONS, STATELESS), (STATELESS, SESSIONS), (STATELESS, STATELESS)];
    let wanted = size(EVENTS, 10_000);
    let events = Arc::new(Events::default());
    for (at, (near, far)) in PAIRS.into_iter().enumerate() {
        let goal = wanted / PAIRS.len() * (at + 1);
        within(60 + wanted as u64 / 200, format_args!("{near} to {far}"), async {
            let server =
                |at: usize| Server::new(format!("s{at}"), "1").versions([far]).tool(tool("reverse", reverse)).build();
            let host =
                (0..SERVERS).fold(Host::builder(), |host, at| host.server(&format!("s{at}"), server(at))).build();
            let mut calls = JoinSet::new();
            for at in 0..CLIENTS {
                let name: Arc<str> = format!("client-{at}").into();
                let level = if at % 2 == 0 { LoggingLevel::Debug } else { LoggingLevel::Error };
                let client = connect(named(&name, level, &events).versions([near]), host.service()).await;
                client.tools().await.unwrap();
                let events = events.clone();
                calls.spawn(async move {
                    for call in at.. {
                        if call >= at + SERVERS && events.all.load(Ordering::Relaxed) >= goal {
                            return;
                        }
                        let tool = format!("s{}__reverse", call % SERVERS);
                        let (own, steps) = (name.clone(), events.clone());
                        let call = client.call(tool.as_str(), json!({ "name": &*name })).on_progress(move |step| {
                            steps.note(step.message.as_deref() == Some(&*own));
                        });
                        let done = call.await.unwrap();
                        assert_eq!(done.text(), &*name);
                        // The answers were compared by the server: three requests.
                        events.all.fetch_add(3, Ordering::Relaxed);
                    }
                });
            }
            while let Some(done) = calls.join_next().await {
                done.unwrap();
            }
        })
        .await;
    }
    let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    let (all, logs, wrong) = (count(&events.all), count(&events.logs), count(&events.wrong));
    println!(
        "acceptance 11: {CLIENTS} clients, {SERVERS} servers, 4 pairs of eras: {all} events, {logs} of them log \
         messages, {wrong} misdelivered"
    );
    assert_eq!(wrong, 0);
    assert!(all >= wanted && logs > 0, "{all} events, {logs} log messages");
}

/// A server in this process. The thread that sends it a call goes on only after a while.
struct Quick(Arc<dyn Service>);

struct QuickChannel(Arc<dyn Channel>);

impl Connect for Quick {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let Connected { channel, driver } = self.0.connect(inbound, limits).await?;
            Ok(Connected { channel: Arc::new(QuickChannel(channel)), driver })
        })
    }
}

impl Channel for QuickChannel {
    fn next_id(&self) -> RequestId {
        self.0.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        let is_call = request.method == "tools/call";
        let exchange = self.0.open(request);
        if is_call {
            // The server asks meanwhile, on the other thread.
            tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(50)));
        }
        exchange
    }

    fn notify(&self, text: Bytes) {
        self.0.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.0.agree(dialect);
    }

    fn close(&self) {
        self.0.close();
    }
}

/// A request that arrives before the call's own task goes on belongs to the call all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_ask_at_once() {
    for near in [SESSIONS, STATELESS] {
        in_time(near, async {
            let host = Host::builder().server("files", Quick(Arc::new(server("files", SESSIONS).build()))).build();
            let client = connect(able(near).0, host.service()).await;
            client.tools().await.unwrap();
            for _ in 0..3 {
                assert_eq!(client.call("files__sure", ()).await.unwrap().text(), "true false", "{near}");
                let thought = client.call("files__think", ()).await.unwrap();
                assert_eq!(thought.text(), "a sentence in file:///project", "{near}");
            }
        })
        .await;
    }
}
