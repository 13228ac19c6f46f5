//! One replica: the server, and the settings of its transport.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet::{
    http::server::{HttpLimits, HttpTransport, Shutdown},
    prelude::*,
    signal,
};
use serde::Deserialize;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};

/// 32 random bytes, the same for all replicas. In production they come from a file of secrets: `openssl rand -hex 32`.
const STATE_KEY: [u8; 32] = [7; 32];

/// What the handlers share.
#[derive(Clone, Default)]
pub struct App {
    /// A call of `work` has begun.
    pub started: Arc<Notify>,
    /// It may end.
    pub finish: Arc<Notify>,
    checked: Arc<AtomicBool>,
}

impl App {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the store can be reached: a query with a timeout, in a program that has one.
    async fn check(self) -> bool {
        self.checked.store(true, Ordering::Relaxed);
        true
    }

    pub fn is_checked(&self) -> bool {
        self.checked.load(Ordering::Relaxed)
    }
}

#[derive(Deserialize, JsonSchema)]
struct Consent {
    /// Release it?
    yes: bool,
}

/// Releases the next version, if the user agrees.
#[tool]
async fn release(ctx: Ctx) -> Result<&'static str, ToolError> {
    let consent = ctx.elicit::<Consent>("consent", "Release it?").await?.accepted()?;
    Ok(if consent.yes { "released" } else { "left alone" })
}

/// Takes a while.
#[tool]
async fn work(State(app): State<App>) -> &'static str {
    app.started.notify_one();
    app.finish.notified().await;
    "done"
}

/// A running server.
pub struct Replica {
    pub address: String,
    pub metrics: String,
    pub shutdown: Shutdown,
    pub serving: JoinHandle<couplet::Result<()>>,
}

impl Replica {
    /// Starts a server at free ports. In production: `listen("0.0.0.0:8080")` and `allow_host` with its public name.
    pub async fn start(app: App) -> couplet::Result<Self> {
        let (listener, metrics) = (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
        let (address, metrics_address) = (listener.local_addr()?.to_string(), metrics.local_addr()?.to_string());
        let store = app.clone();
        let transport = HttpTransport::from_listener(listener)
            .metrics_listener(metrics)
            .limits(HttpLimits::default().sessions(50_000))
            .endpoint(move |endpoint| {
                endpoint.allow_host("mcp.example.com").ready_when(move || Box::pin(store.clone().check()))
            })
            .grace(Duration::from_secs(30))
            .with_graceful_shutdown(signal::shutdown());
        let shutdown = transport.shutdown();
        let server =
            Server::new("deployed", "1.0.0").request_state_key(STATE_KEY).tool(release).tool(work).with_state(app);
        Ok(Self { address, metrics: metrics_address, shutdown, serving: tokio::spawn(server.serve(transport)) })
    }
}
