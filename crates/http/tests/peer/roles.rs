//! What a child can be: a server, somebody in the middle of many calls, or a client on a visit.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::Client;
use couplet_core::{Limits, Transport};
use couplet_http::server::{Endpoint, HttpLimits, HttpTransport};
use couplet_server::{Ctx, Server, extract::State, tool};
use couplet_types::ProtocolVersion;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use super::{
    child::{say, set, set_time, setting},
    http::{Http, called},
    memory,
};

/// What the handlers have done, and what they wait for.
#[derive(Clone)]
struct Work {
    running: Arc<AtomicUsize>,
    finished: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    gate: watch::Sender<bool>,
    endpoint: Arc<OnceLock<Endpoint>>,
}

/// Counts a handler, and whether it came to its end.
struct Guard(Work, bool);

impl Guard {
    fn new(work: Work) -> Self {
        work.running.fetch_add(1, Ordering::SeqCst);
        Self(work, false)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let count = if self.1 { &self.0.finished } else { &self.0.dropped };
        count.fetch_add(1, Ordering::SeqCst);
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Says something, waits for `release`, says two things more, and is done.
async fn gated(State(work): State<Work>, ctx: Ctx) -> &'static str {
    let mut gate = work.gate.subscribe();
    let mut guard = Guard::new(work);
    ctx.progress(0.1, "begun").await;
    let _ = gate.wait_for(|open| *open).await;
    ctx.progress(0.5, "halfway").await;
    ctx.progress(0.9, "nearly").await;
    guard.1 = true;
    "done"
}

/// Says 20 MB, without a pause.
async fn flood(State(work): State<Work>, ctx: Ctx) -> &'static str {
    let mut guard = Guard::new(work);
    for part in 1..=5_000 {
        ctx.progress_with(f64::from(part), None, Some("x".repeat(4000))).await;
    }
    guard.1 = true;
    "done"
}

/// Never stops talking.
async fn chatter(State(work): State<Work>, ctx: Ctx) -> &'static str {
    let _guard = Guard::new(work);
    let mut said = 0.0;
    loop {
        said += 1.0;
        ctx.progress_with(said, None, Some("and another thing".to_owned())).await;
    }
}

fn release(State(work): State<Work>) -> &'static str {
    work.gate.send_replace(true);
    "released"
}

fn stats(State(work): State<Work>) -> String {
    let count = |count: &AtomicUsize| count.load(Ordering::SeqCst);
    let endpoint = work.endpoint.get();
    json!({
        "running": count(&work.running), "finished": count(&work.finished), "dropped": count(&work.dropped),
        "held": memory::held(), "sessions": endpoint.map(Endpoint::session_count), "streams": endpoint.map(Endpoint::stream_count),
    })
    .to_string()
}

pub(super) async fn server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    say("ready", listener.local_addr().unwrap());
    let mut limits = HttpLimits::default();
    set(&mut limits.sessions, "sessions");
    set(&mut limits.streams, "streams");
    set(&mut limits.connections, "connections");
    set_time(&mut limits.header_time, "header_time");
    set_time(&mut limits.body_time, "body_time");
    set_time(&mut limits.keep_alive, "keep_alive");
    set_time(&mut limits.stall, "stall");
    let work = Work {
        running: Arc::default(),
        finished: Arc::default(),
        dropped: Arc::default(),
        gate: watch::channel(false).0,
        endpoint: Arc::default(),
    };
    let server: Server<Work> = Server::new("peer", "1.0.0")
        .tool(tool("hello", || "Hello!"))
        .tool(tool("gated", gated))
        .tool(tool("flood", flood))
        .tool(tool("chatter", chatter))
        .tool(tool("release", release))
        .tool(tool("stats", stats));
    let seen = work.endpoint.clone();
    let transport = HttpTransport::from_listener(listener).limits(limits).endpoint(move |endpoint| {
        let _ = seen.set(endpoint.clone());
        endpoint
    });
    let service = Arc::new(server.with_state(work).build());
    transport.serve(service, Limits::default()).await.unwrap();
}

/// Has many calls open, and says what it heard last on each.
pub(super) async fn caller() {
    let address: String = setting("address").unwrap();
    let sessions: String = setting("sessions").unwrap_or_default();
    let sessions: Vec<_> = sessions.split_terminator(',').map(ToOwned::to_owned).collect();
    let calls: usize = setting("calls").unwrap();
    let mut opening = JoinSet::new();
    for number in 0..calls {
        let session = (!sessions.is_empty()).then(|| sessions[number % sessions.len()].clone());
        let (address, sessions) = (address.clone(), sessions.len());
        opening.spawn(async move {
            let mut http = Http::connect(&address).await;
            let mut stream = http.send(called("gated", number, session.as_deref())).await.events();
            loop {
                let event = stream.next().await.expect("the stream does not end");
                if event.is_message() {
                    let last = event.id.map(|id| format!("{}/{id}", number % sessions.max(1)));
                    break (last.unwrap_or_default(), http, stream);
                }
            }
        });
    }
    let mut open = Vec::new();
    while let Some(call) = opening.join_next().await {
        open.push(call.expect("the call is open"));
    }
    let last: Vec<_> = open.iter().map(|(last, ..)| last.as_str()).collect();
    say("open", last.join(","));
    std::future::pending::<()>().await;
}

/// Calls a tool of a server that may be hostile, and tells what came of it.
pub(super) async fn visitor() {
    let url: String = setting("url").unwrap();
    let version: ProtocolVersion = setting("version").unwrap();
    let (timeout, longest) = (setting("timeout").unwrap(), setting("max_timeout").unwrap());
    let client = Client::new("visitor", "1.0.0")
        .versions([version])
        .timeout(Duration::from_millis(timeout))
        .max_timeout(Duration::from_millis(longest))
        .connect(couplet_http::connect(url))
        .await;
    let outcome = match client {
        Ok(client) => client.call("x", ()).on_progress(|_| ()).await.map(|result| result.text()),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(text) => say("outcome", format!("ok: {text}")),
        Err(error) => say("outcome", format!("{:?}: {error}", error.kind())),
    }
    let peak = memory::of(std::process::id(), "VmHWM");
    say("peak", peak.unwrap_or_default());
}
