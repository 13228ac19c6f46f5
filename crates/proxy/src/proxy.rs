//! The service.

use std::{collections::BTreeSet, fmt, sync::Arc};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{
    BoxFuture, Call, ClientNotification, Connect, Description, Error, ErrorKind, Hub, Inputs, Refusals, Reply,
    Revision, Sealer, Service, clock::unix_seconds,
};
use tokio::{sync::watch, task::JoinHandle};

use crate::{Hooks, builder::ProxyBuilder, call, describe::About, pool::Pool};

/// A remote server, served as a local [`Service`]. Clones refer to the same proxy.
///
/// # Connections
/// A stateless server gets one connection. At a server with sessions each downstream session gets a connection of its
/// own, up to [a limit](ProxyBuilder::connections), so that per-session state of the server is never shared. Stateless
/// callers share connections with callers of the same principal, over a network only with those of the same capabilities, which
/// are declared to the server; once the server has sent its first elicitation or
/// sampling request, each call that may receive one has a connection for itself while it runs. Until then, two calls of
/// tools that have not been called yet do not share one. Calls beyond the limit wait, up to
/// [a timeout](ProxyBuilder::wait_timeout). A target that can be connected to only once is shared by all callers, in turns. Resources are subscribed to on
/// the first connection; a caller's subscription is acknowledged once the server has acknowledged it.
///
/// A lost connection is re-established with exponential backoff; meanwhile calls fail at once with an error that says
/// so. Downstream clients are notified that all lists may have changed when the connection is lost and when it is
/// restored.
///
/// # Elicitation and sampling
/// A request of the server goes to the caller whose call it belongs to, never to another one. A stateless caller
/// answers by retrying its request; the call at a server with sessions stays open in between and does not run twice. It
/// does run again from the start if the call was evicted: after [a timeout](ProxyBuilder::answer_timeout), or because all
/// connections were in use and it had waited for half of the [wait timeout](ProxyBuilder::wait_timeout), or for any time
/// if its principal has more such calls than the caller that needs a connection. A retry that reaches another replica fails with an error that says so, because the call still
/// waits at the first one.
///
/// # Extensions and tasks
/// Extensions of the server are declared to clients, and their methods are forwarded as they are: those of skills, and of
/// [others](ProxyBuilder::extension) that are configured. Result types and notifications of an extension are forwarded
/// where both sides use the same revision.
///
/// Tasks are served in the form of the caller, whichever the server has: those of 2025-11-25, or the extension of
/// 2026-07-28. Where the two differ,
///
/// * a caller of 2025-11-25 may request a task of every tool. If the server responds with a result instead, the proxy
///   holds it as a task that has ended, for five minutes at most. The server alone sets the time to live of its tasks;
/// * for a caller with the extension, each call of a tool that can run as a task becomes one;
/// * input that a task requires reaches a caller of 2025-11-25 as a request while it waits in `tasks/result`, and a caller
///   with the extension in `tasks/get`. An error of a caller of 2025-11-25 in place of an answer ends its `tasks/result`,
///   because the extension cannot express it; the task goes on waiting;
/// * a tool result with `isError` fails a task of 2025-11-25, and completes one of the extension;
/// * progress after the first response reaches only the status message.
///
/// A task belongs to the principal that has begun it: to others it is unknown, as long as this proxy remembers it.
/// Subscriptions to tasks are forwarded; sessions are notified of the tasks that they have begun. `tasks/list` has the
/// tasks that its caller has begun through this proxy and that the proxy remembers, whether the server has lists or not;
/// without a principal, those of its session. Requests about a task can reach any replica of the
/// proxy, except for lists, results that are held, and answers to input requests of a server with sessions: a load balancer
/// that routes by `Mcp-Name` sends all of a task to one.
///
/// ```
/// # async fn example(remote: impl couplet_core::Connect + 'static) -> Result<(), couplet_core::Error> {
/// use std::sync::Arc;
/// use couplet_client::Client;
/// use couplet_core::Service;
/// use couplet_proxy::Proxy;
///
/// let proxy = Proxy::connect(Client::new("gateway", "1.0.0"), remote).await?;
/// let service: Arc<dyn Service> = proxy.service();
/// # drop(service);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Proxy(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) pool: Arc<Pool>,
    pub(crate) hub: Hub,
    pub(crate) about: Arc<About>,
    pub(crate) sealer: Sealer,
    pub(crate) supervisor: JoinHandle<()>,
    pub(crate) given_up: Arc<watch::Sender<Option<Error>>>,
}

impl Proxy {
    /// Connects to a server with default options; see [`ProxyBuilder::connect`].
    ///
    /// # Errors
    /// Fails if the server cannot be reached.
    pub async fn connect(client: ClientBuilder, server: impl Connect + 'static) -> Result<Self, Error> {
        Self::builder(client).connect(server).await
    }

    /// Creates a builder for a proxy with other options.
    pub fn builder(client: ClientBuilder) -> ProxyBuilder {
        ProxyBuilder::new(client)
    }

    /// Returns the client of the first connection to the server, or of the last one while disconnected.
    pub fn client(&self) -> Client {
        self.0.about.client()
    }

    /// Returns the error of the last attempt to connect; `None` while connected.
    pub fn failure(&self) -> Option<Error> {
        self.0.pool.failure()
    }

    /// Waits until the proxy is closed or has made its last [attempt to reconnect](ProxyBuilder::reconnect_attempts),
    /// and returns the reason.
    ///
    /// Cancel safe.
    pub async fn closed(&self) -> Error {
        let mut given_up = self.0.given_up.subscribe();
        let error = given_up.wait_for(Option::is_some).await.ok().and_then(|error| error.clone());
        error.unwrap_or_else(closed)
    }

    /// Closes all connections to the server, and waits for the shutdown of the first one. Later calls fail.
    ///
    /// # Errors
    /// Fails if that connection did not shut down cleanly.
    pub async fn close(&self) -> Result<(), Error> {
        self.0.supervisor.abort();
        self.0.pool.close();
        self.0.pool.set_failure(closed());
        self.0.given_up.send_if_modified(|error| error.is_none().then(|| *error = Some(closed())).is_some());
        self.0.about.client().close().await
    }

    /// Runs a call in a round that the caller of this function drives, with hooks: for a service on top of several
    /// proxies. A plain service uses [`Service::call`].
    ///
    /// Where [both sides are stateless](Proxy::passes_rounds_on), the input requests of the server are in the reply with
    /// its own request state, and a retry must carry that state again. Otherwise input requests are asked through
    /// [`Call::inputs`], so the call has to run inside [`Inputs::drive`].
    ///
    /// # Errors
    /// If the server cannot be reached, or is lost during the call: see [`Error::is_unsent`]. An error that the server
    /// responds with is a reply.
    pub async fn forward(&self, call: &Call, hooks: Option<&Arc<dyn Hooks>>) -> Result<Reply, Error> {
        let bound = call.with_bound_idempotency_key();
        call::run(&self.0.pool, bound.as_ref().unwrap_or(call), hooks).await
    }

    /// Returns whether the rounds of a caller with this revision are those of the server: both are stateless.
    pub fn passes_rounds_on(&self, caller: Revision) -> bool {
        !caller.has_sessions() && self.0.pool.lead().is_ok_and(|lead| !lead.has_sessions())
    }

    /// Returns the proxy as a service, to serve, to mount, or to connect a client to.
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::new(self.clone())
    }
}

impl Service for Proxy {
    fn describe(&self) -> Arc<Description> {
        self.0.about.description()
    }

    fn call(&self, mut call: Call) -> BoxFuture<'static, Reply> {
        call.bind_idempotency_key();
        let pool = self.0.pool.clone();
        match pool.lead() {
            Err(error) => {
                let error = call::reported(&error);
                Box::pin(async move { Reply::Error(error) })
            }
            Ok(lead) if call::is_passed_on(&lead.client, &call) => Box::pin(call::answer(pool, call)),
            Ok(_) => Box::pin(Inputs::drive(call, &self.0.sealer, unix_seconds, |call| call::answer(pool, call))),
        }
    }

    fn hub(&self) -> &Hub {
        &self.0.hub
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        let (pool, uris) = (self.0.pool.clone(), uris.clone());
        Some(Box::pin(async move { pool.subscribed.refused(&uris, pool.options.wait).await }))
    }

    fn notified(&self, note: ClientNotification) {
        for upstream in note.peer.iter().flat_map(|peer| self.0.pool.of_client(peer)) {
            upstream.client.forward_notification(&note.method, &note.params);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.supervisor.abort();
        self.pool.close();
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("client", &self.client()).finish_non_exhaustive()
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the proxy is closed")
}
