//! Handlers that run in rounds, in any revision.

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use couplet_core::{
    Backchannel, BoxFuture, Call, Caller, ClientNotification, Connect, Connected, Description, Error, Hub, Inbound,
    Inputs, JsonText, Limits, Method, Metric, Refusals, Reply, Revision, Service, http::headers::ParamHeader, memory,
    message::Params,
};
use couplet_types::{InputRequest, ProtocolVersion, RpcError};

use crate::replay::Script;

/// Wraps a server so that its handlers run in rounds in every revision, as they do in 2026-07-28: a handler is dropped
/// at each input request, and runs again from the top with the responses so far.
///
/// So a test in any revision finds input requests that change between rounds, and side effects that happen more than
/// once: a changed request fails the call, and the test's own counters show the rest. [`Replay`](crate::Replay)
/// compares with a run that is not interrupted.
///
/// If the client of a session responds to an input request with an error, the call fails with that error: it cannot be
/// replayed.
///
/// ```
/// use couplet_server::{Ctx, Server, ToolError, schemars::JsonSchema, tool};
/// use couplet_testing::{replayed, types::ProtocolVersion};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(serde::Deserialize, JsonSchema)]
/// struct Confirm {
///     yes: bool,
/// }
///
/// static NUMBER: AtomicU64 = AtomicU64::new(3);
///
/// async fn order(ctx: Ctx) -> Result<String, ToolError> {
///     let number = NUMBER.fetch_add(1, Ordering::Relaxed); // it should be in a step
///     ctx.elicit::<Confirm>("ok", format!("order {number}: ok?")).await?.accepted()?;
///     Ok(format!("order {number}"))
/// }
///
/// # couplet_testing::block_on(async {
/// let server = replayed(Server::new("shop", "1.0.0").tool(tool("order", order)).build());
/// let client = couplet_client::Client::new("test", "1.0.0")
///     .versions([ProtocolVersion::V2025_06_18])
///     .on_elicit(|ask| async move { ask.accept(serde_json::json!({ "yes": true })) })
///     .connect(server)
///     .await?;
/// let error = client.call("order", ()).await.unwrap_err();
/// assert!(error.to_string().contains("the question `ok` was `order 3: ok?` and is now `order 4: ok?`"));
/// # Ok::<(), couplet_core::Error>(())
/// # }).unwrap();
/// ```
pub fn replayed(server: impl Service) -> Replayed {
    Replayed { service: Arc::new(server), way: Way::Asking }
}

/// A server whose handlers run in rounds; made by [`replayed`].
#[derive(Clone)]
pub struct Replayed {
    service: Arc<dyn Service>,
    way: Way,
}

/// How a handler runs, and the source of the responses to its input requests.
#[derive(Clone)]
pub(crate) enum Way {
    /// In rounds, with responses of the client.
    Asking,
    /// In rounds, with responses from a script.
    Rounds(Script),
    /// In one run, with responses from a script.
    Straight(Script),
}

impl Replayed {
    pub(crate) fn new(service: Arc<dyn Service>, way: Way) -> Self {
        Self { service, way }
    }
}

impl Service for Replayed {
    fn describe(&self) -> Arc<Description> {
        self.service.describe()
    }

    fn call(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        let service = self.service.clone();
        match &self.way {
            _ if !may_ask(&call.method) => service.call(call),
            // It runs in rounds already.
            Way::Asking if !call.revision.has_sessions() => service.call(call),
            Way::Asking => {
                let client = Session(call.inputs.clone());
                Box::pin(in_rounds(service, call, client))
            }
            Way::Rounds(script) => Box::pin(in_rounds(service, call, script.clone())),
            Way::Straight(script) => {
                call.inputs = Inputs::live(script.clone());
                service.call(call)
            }
        }
    }

    fn hub(&self) -> &Hub {
        self.service.hub()
    }

    fn notified(&self, note: ClientNotification) {
        self.service.notified(note);
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.service.header_params(tool)
    }

    fn required_scopes(&self, method: &str, params: &Params) -> Option<Arc<[String]>> {
        self.service.required_scopes(method, params)
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.service.has_resource(uri)
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.service.may_subscribe(uri, caller)
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        self.service.subscribing(uris)
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        self.service.background()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.service.metrics()
    }

    fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        self.service.drain(grace)
    }
}

impl Connect for Replayed {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let connected = memory::connect(Arc::new(self.clone()), &Limits::default(), inbound, &limits);
        Box::pin(async { Ok(connected) })
    }
}

impl fmt::Debug for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replayed").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Returns whether the handlers of a method may request input in every revision.
fn may_ask(method: &str) -> bool {
    let in_every_revision = || ProtocolVersion::ALL.iter().all(|version| Revision::of(*version).has_method(method));
    Method::named(method).is_some_and(|method| method.may_ask) && in_every_revision()
}

/// The maximum number of rounds, so that a handler that always requests input ends.
const ROUNDS: usize = 100;

async fn in_rounds(service: Arc<dyn Service>, call: Call, client: impl Backchannel) -> Reply {
    let (mut answers, mut state) = (Vec::new(), None);
    for _ in 0..ROUNDS {
        let mut round = call.clone();
        round.inputs = Inputs::rounds(std::mem::take(&mut answers), state.take());
        let asks = match service.call(round).await {
            Reply::InputRequired { asks, state: next } => {
                state = next;
                asks
            }
            reply => return reply,
        };
        for (key, ask) in asks {
            match client.request(ask).await {
                Ok(answer) => answers.push((key, answer)),
                Err(error) => return Reply::Error(error),
            }
        }
    }
    Reply::Error(RpcError::internal(format!("after {ROUNDS} rounds the handler still asks")))
}

/// The client of a session.
struct Session(Inputs);

impl Backchannel for Session {
    fn request(&self, ask: InputRequest) -> BoxFuture<'static, Result<JsonText, RpcError>> {
        let inputs = self.0.clone();
        let gone = || Err(RpcError::internal("the client is gone and cannot answer"));
        Box::pin(async move { inputs.request(ask).await.unwrap_or_else(gone) })
    }
}
