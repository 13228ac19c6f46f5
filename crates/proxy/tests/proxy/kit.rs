//! Targets that break, and callers.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bytes::Bytes;
use couplet_client::{Client, ClientBuilder};
use couplet_core::{
    BoxFuture, Call, Caller, Channel, Connect, Connected, Description, Dialect, Error, ErrorKind, Exchange, Hub,
    Inbound, Limits, Outgoing, Reply, RequestContext, Service,
};
use couplet_proxy::Proxy;
use couplet_server::ServerHandle;
use couplet_types::{ProtocolVersion, RequestId, RpcError};
use serde_json::json;
use tokio::sync::Notify;

pub(crate) const SESSIONS: ProtocolVersion = ProtocolVersion::V2025_11_25;
pub(crate) const STATELESS: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// A server in this process that can be cut off, and counts who connects.
#[derive(Clone, Default)]
pub(crate) struct Cable(Arc<State>);

#[derive(Default)]
struct State {
    connected: AtomicUsize,
    cut: Notify,
    /// Whether nothing can connect.
    out_of_order: AtomicBool,
    /// Whether `subscriptions/listen` is not known.
    deaf: AtomicBool,
    /// How many connections there can be.
    most: AtomicUsize,
    /// The transport that connections say they have.
    transport: Mutex<Option<&'static str>>,
}

impl Cable {
    pub(crate) fn new() -> Self {
        let cable = Self::default();
        cable.0.most.store(usize::MAX, Ordering::SeqCst);
        cable
    }

    pub(crate) fn most(self, most: usize) -> Self {
        self.0.most.store(most, Ordering::SeqCst);
        self
    }

    pub(crate) fn transport(self, transport: &'static str) -> Self {
        *self.0.transport.lock().unwrap() = Some(transport);
        self
    }

    pub(crate) fn deaf(self) -> Self {
        self.0.deaf.store(true, Ordering::SeqCst);
        self
    }

    pub(crate) fn to(&self, server: ServerHandle) -> impl Connect + use<> {
        Plugged { cable: self.clone(), server }
    }

    pub(crate) fn connected(&self) -> usize {
        self.0.connected.load(Ordering::SeqCst)
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.0.cut.notify_waiters();
    }

    pub(crate) fn set_out_of_order(&self, out_of_order: bool) {
        self.0.out_of_order.store(out_of_order, Ordering::SeqCst);
    }
}

struct Plugged {
    cable: Cable,
    server: ServerHandle,
}

impl Connect for Plugged {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        Box::pin(async move {
            let state = self.cable.0.clone();
            let full = state.connected.load(Ordering::SeqCst) >= state.most.load(Ordering::SeqCst);
            if full || state.out_of_order.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Transport, "the cable is cut"));
            }
            state.connected.fetch_add(1, Ordering::SeqCst);
            let mut service: Arc<dyn Service> = Arc::new(self.server.clone());
            let Connected { channel, driver } = service.connect(inbound, limits).await?;
            let (deaf, transport) = (state.deaf.load(Ordering::SeqCst), *state.transport.lock().unwrap());
            let driver = Box::pin(async move {
                tokio::select! {
                    ended = driver => ended,
                    () = state.cut.notified() => Err(Error::new(ErrorKind::Transport, "the cable was pulled")),
                }
            });
            Ok(Connected { channel: Arc::new(Ear { channel, deaf, transport }), driver })
        })
    }
}

struct Ear {
    channel: Arc<dyn Channel>,
    deaf: bool,
    transport: Option<&'static str>,
}

impl Channel for Ear {
    fn next_id(&self) -> RequestId {
        self.channel.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        if self.deaf && request.method == "subscriptions/listen" {
            return Exchange::failed(RpcError::method_not_found(request.method).into());
        }
        self.channel.open(request)
    }

    fn notify(&self, text: Bytes) {
        self.channel.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.channel.agree(dialect);
    }

    fn close(&self) {
        self.channel.close();
    }

    fn transport(&self) -> Option<&'static str> {
        self.transport
    }
}

/// A client that answers `name` when it is asked who it is.
pub(crate) fn caller(name: &'static str, version: ProtocolVersion) -> ClientBuilder {
    Client::new(name, "1").versions([version]).on_elicit(move |ask| async move { ask.accept(json!({ "name": name })) })
}

/// A client that never answers.
pub(crate) fn silent(version: ProtocolVersion) -> ClientBuilder {
    Client::new("silent", "1").versions([version]).on_elicit(|_| std::future::pending())
}

/// A service whose calls are changed on their way.
pub(crate) struct Changed(Arc<dyn Service>, Box<dyn Fn(&mut Call) + Send + Sync>);

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
}

/// The proxy with callers that were all authenticated as one principal.
pub(crate) fn authenticated(name: &'static str, proxy: &Proxy) -> Arc<dyn Service> {
    let caller = Arc::new(Caller::new(name));
    Arc::new(Changed(proxy.service(), Box::new(move |call| call.caller = Some(caller.clone()))))
}

/// The proxy behind a transport that takes each request for itself.
pub(crate) fn one_by_one(proxy: &Proxy) -> Arc<dyn Service> {
    #[derive(Debug)]
    struct Alone;
    impl RequestContext for Alone {}
    Arc::new(Changed(proxy.service(), Box::new(|call| call.context = Some(Arc::new(Alone)))))
}
