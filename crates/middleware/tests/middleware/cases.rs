//! A server for each middleware, with and without it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use couplet_core::{Caller, IntoService, Service};
use couplet_middleware::{
    Audit, AuditRecord, CircuitBreaker, Coercion, ConcurrencyLimit, ErrorPolicy, Item, RateLimit, ResponseCache,
    ResponseLimit, Retry, Spill, Tags, Timing, Visibility,
};
use couplet_server::{Server, extract::Args, resource, tool};
use couplet_types::RpcError;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::watch;

/// A middleware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Audit,
    CircuitBreaker,
    Coercion,
    ConcurrencyLimit,
    ErrorPolicy,
    RateLimit,
    ResponseCache,
    ResponseLimit,
    Retry,
    Spill,
    Tags,
    Timing,
    Visibility,
    ClientLog,
    ClientRetry,
    ClientTiming,
}

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Deserialize, JsonSchema)]
struct Number {
    n: u32,
}

impl Case {
    pub(crate) const ALL: [Self; 16] = [
        Self::Audit,
        Self::CircuitBreaker,
        Self::Coercion,
        Self::ConcurrencyLimit,
        Self::ErrorPolicy,
        Self::RateLimit,
        Self::ResponseCache,
        Self::ResponseLimit,
        Self::Retry,
        Self::Spill,
        Self::Tags,
        Self::Timing,
        Self::Visibility,
        Self::ClientLog,
        Self::ClientRetry,
        Self::ClientTiming,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// Returns the server with the middleware, or without it.
    pub(crate) fn service(self, is_on: bool) -> Arc<dyn Service> {
        let server = match self {
            Self::Audit | Self::Timing => return self.observed(is_on).into_service(),
            Self::Spill => {
                let spill = Spill::new();
                let server = server().resource(spill.resource());
                let limit = ResponseLimit::new(5_000);
                server.middleware(if is_on { limit.spill(&spill) } else { limit })
            }
            _ => server(),
        };
        let delete = |_: Option<&Caller>, item: Item<'_>| item != Item::Tool("delete");
        match self {
            _ if !is_on => server.into_service(),
            Self::CircuitBreaker => server.middleware(CircuitBreaker::new(2, HOUR)).into_service(),
            Self::Coercion => server.middleware(Coercion::new()).into_service(),
            Self::ConcurrencyLimit => server.middleware(ConcurrencyLimit::new(1).queue(0)).into_service(),
            Self::ErrorPolicy => server.middleware(ErrorPolicy::new().hide_internal()).into_service(),
            Self::RateLimit => server.middleware(RateLimit::in_memory(1, HOUR).tools_only()).into_service(),
            Self::ResponseCache => server.middleware(ResponseCache::new(HOUR)).into_service(),
            Self::ResponseLimit => server.middleware(ResponseLimit::new(5_000)).into_service(),
            Self::Retry => server
                .middleware(Retry::new(2).backoff(Duration::from_millis(1), Duration::from_millis(1)))
                .into_service(),
            Self::Tags => {
                Visibility::by_tags(server, Tags::new().tools("admin", ["delete"]).disabled("admin")).into_service()
            }
            Self::Visibility => Visibility::new(server, delete).into_service(),
            _ => server.into_service(),
        }
    }

    /// A server that shows what its middleware observed, as a resource.
    fn observed(self, is_on: bool) -> Server {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let timing = Timing::new();
        let (all, times) = (lines.clone(), timing.clone());
        let show = move || match self {
            Self::Timing => times.times().iter().map(|times| format!("{} {}", times.name, times.count)).collect(),
            _ => all.lock().unwrap().join("\n"),
        };
        let server = server().resource(resource("test://observed", show));
        match self {
            _ if !is_on => server,
            Self::Timing => server.middleware(timing),
            _ => server.middleware(Audit::new(move |record: &AuditRecord| {
                let line = format!("{:?} {} {:?}", record.target, record.arguments, record.outcome);
                lines.lock().unwrap().push(line);
            })),
        }
    }
}

/// Counts calls.
fn counter() -> impl Fn() -> u32 + Clone + Send + Sync + 'static {
    let count = Arc::new(AtomicU32::new(0));
    move || count.fetch_add(1, Ordering::SeqCst) + 1
}

fn server() -> Server {
    let (calls, failures) = (counter(), counter());
    // How many calls of `hold` run, and whether they may end.
    let (held, released) = (watch::Sender::new(0), watch::Sender::new(false));
    let (wait, release) = (held.clone(), released.clone());
    let hold = tool("hold", move || {
        held.send_modify(|held| *held += 1);
        let mut released = released.subscribe();
        async move {
            let _ = released.wait_for(|released| *released).await;
            "released"
        }
    });
    let is_held = resource("test://held", move || {
        let mut held = wait.subscribe();
        async move {
            let _ = held.wait_for(|held| *held > 0).await;
            "held"
        }
    });
    let release = resource("test://release", move || {
        release.send_replace(true);
        "released"
    });
    Server::new("cases", "1")
        .tool(tool("count", move || calls().to_string()).read_only())
        .tool(tool("show", |Args(input): Args<Number>| input.n.to_string()))
        .tool(tool("long", || "0123456789".repeat(2_000)))
        .tool(tool("broken", || Err::<String, _>(RpcError::internal("the password is 1234"))))
        .tool(tool("delete", || "deleted"))
        // Each second call succeeds.
        .tool(
            tool("flaky", move || match failures() % 2 {
                1 => Err(RpcError::internal("not yet")),
                _ => Ok("fine"),
            })
            .read_only(),
        )
        .tool(hold)
        .resource(is_held)
        .resource(release)
}
