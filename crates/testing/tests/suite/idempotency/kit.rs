//! A server that counts what it does, and a store that can be cut off.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use couplet::{
    core::{BoxFuture, Caller, Error, ErrorKind},
    server::{
        Ctx, Server, ServerHandle, ToolError,
        extract::Args,
        outcomes::{Begun, MemoryOutcomes, OutcomeKey, OutcomeStore},
        tool,
    },
    types::{ProtocolVersion, RpcError},
};
use couplet_testing::Wire;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// What the tools have done.
#[derive(Clone)]
pub(super) struct Seen {
    started: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
    /// Lets calls of `gate` go on, one for each permit.
    pub(super) gate: Arc<Semaphore>,
}

impl Seen {
    pub(super) fn new() -> Self {
        Self { started: Arc::default(), dropped: Arc::default(), gate: Arc::new(Semaphore::new(0)) }
    }

    pub(super) fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    pub(super) fn dropped(&self) -> usize {
        self.dropped.load(Ordering::SeqCst)
    }

    fn start(&self) -> usize {
        self.started.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Amount {
    #[serde(default)]
    amount: u32,
}

/// Counts a handler that is dropped before its end.
struct Guard(Seen, bool);

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Tools whose results say how often they have run.
pub(super) fn tools(seen: &Seen) -> Server {
    let each = || seen.clone();
    let (pay, gate, fail, broken, large) = (each(), each(), each(), each(), each());
    Server::new("shop", "1")
        .tool(tool("pay", move |Args(Amount { amount }): Args<Amount>| format!("{amount}: run {}", pay.start())))
        .tool(tool("gate", move || {
            let seen = gate.clone();
            async move {
                let mut guard = Guard(seen.clone(), false);
                let run = seen.start();
                seen.gate.acquire().await.expect("it is open").forget();
                guard.1 = true;
                format!("run {run}")
            }
        }))
        .tool(tool("fail", move || Err::<(), _>(ToolError::new(format!("failed in run {}", fail.start())))))
        .tool(tool("broken", move || Err::<(), _>(RpcError::new(-5, format!("broken in run {}", broken.start())))))
        .tool(tool("large", move || "x".repeat(large.start() << 20)))
        .tool(tool("key", |ctx: Ctx| ctx.idempotency_key().map(|key| key.into_owned()).unwrap_or_default()))
}

/// A connection to a server.
pub(super) async fn open(server: &ServerHandle, version: ProtocolVersion) -> Wire {
    let mut wire = Wire::new(server.clone(), version);
    wire.open().await;
    wire
}

/// A connection of an authenticated caller.
pub(super) async fn open_as(server: &ServerHandle, version: ProtocolVersion, principal: &str) -> Wire {
    let mut wire = Wire::new(server.clone(), version);
    wire.connection().set_caller(Some(Arc::new(Caller::new(principal))));
    wire.open().await;
    wire
}

/// The parameters of a call with a key.
pub(super) fn keyed(name: &str, key: &str) -> Value {
    json!({ "name": name, "arguments": {}, "_meta": { "io.couplet/idempotencyKey": key } })
}

/// Calls a tool with a key; returns the text of its result, or the error.
pub(super) async fn call(wire: &mut Wire, name: &str, key: &str) -> String {
    answer(&wire.request("tools/call", keyed(name, key)).await)
}

pub(super) fn answer(response: &Value) -> String {
    match response["result"]["content"][0]["text"].as_str() {
        Some(text) => text.to_owned(),
        None => response["error"]["message"].as_str().unwrap_or_else(|| panic!("no answer: {response}")).to_owned(),
    }
}

/// Waits until something is so.
pub(super) async fn eventually(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A replica's way to a store that others use, too.
#[derive(Clone, Default)]
pub(super) struct Link {
    pub(super) store: MemoryOutcomes,
    pub(super) is_cut: Arc<AtomicBool>,
    pub(super) begun: Arc<AtomicUsize>,
}

impl Link {
    pub(super) fn to(store: &MemoryOutcomes) -> Self {
        Self { store: store.clone(), ..Self::default() }
    }

    pub(super) fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), Error> {
        match self.is_cut.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Transport, "the store cannot be reached")),
            false => Ok(()),
        }
    }
}

impl OutcomeStore for Link {
    fn begin<'a>(
        &'a self,
        key: &'a OutcomeKey,
        digest: [u8; 32],
        lease: Duration,
        keep: Duration,
    ) -> BoxFuture<'a, Result<Begun, Error>> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            self.check()?;
            self.store.begin(key, digest, lease, keep).await
        })
    }

    fn renew<'a>(&'a self, key: &'a OutcomeKey, token: u64, lease: Duration) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            self.check()?;
            self.store.renew(key, token, lease).await
        })
    }

    fn finish<'a>(
        &'a self,
        key: &'a OutcomeKey,
        token: u64,
        outcome: Bytes,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            self.check()?;
            self.store.finish(key, token, outcome, keep).await
        })
    }

    fn abandon<'a>(&'a self, key: &'a OutcomeKey, token: u64) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            self.check()?;
            self.store.abandon(key, token).await
        })
    }
}
