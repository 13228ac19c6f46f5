//! Connections to the server.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Connect, Error, Peer, sync::lock};
use couplet_types::{ClientCapabilities, LoggingLevel, Map, RawJson, ServerCapabilities, TASKS_EXTENSION};
use tokio::sync::{Mutex, Notify};

use crate::{asking::Asking, extensions::common, tasks::Tasks};

/// A connection to the server. It is closed when its last handle is dropped.
pub(crate) struct Upstream {
    pub(crate) client: Client,
    pub(crate) asking: Arc<Asking>,
    /// The capabilities that were last declared for a caller: consecutive calls are often of the same.
    lent: std::sync::Mutex<Option<Lent>>,
    /// Notified once the connection is retired and gets no further calls.
    pub(crate) retired: Notify,
}

/// The extensions that are declared for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lends {
    /// None: the caller has a session, where extensions are declared once.
    Nothing,
    /// Those of the caller that the server has, too.
    Extensions,
    /// That for tasks: the caller has requested one.
    Tasks,
}

struct Lent {
    caller: Arc<Peer>,
    lends: Lends,
    capabilities: Arc<ClientCapabilities>,
}

impl Upstream {
    /// The capabilities to declare for a caller.
    pub(crate) fn lent(&self, caller: &Arc<Peer>, lends: Lends) -> Arc<ClientCapabilities> {
        let mut lent = lock(&self.lent);
        if let Some(known) = &*lent
            && Arc::ptr_eq(&known.caller, caller)
            && known.lends == lends
        {
            return known.capabilities.clone();
        }
        let mut capabilities = caller.capabilities.clone();
        // Task-augmented requests of the server cannot be forwarded.
        capabilities.tasks = None;
        // Only extensions that the server has, too, and only where both sides declare them with each request.
        let theirs = capabilities.extensions.take();
        capabilities.extensions = match lends {
            Lends::Nothing => None,
            Lends::Extensions => common(theirs.as_ref(), self.capabilities()),
            Lends::Tasks => Some(Map::from_iter([(TASKS_EXTENSION, RawJson::empty_object())])),
        };
        let capabilities = Arc::new(capabilities);
        *lent = Some(Lent { caller: caller.clone(), lends, capabilities: capabilities.clone() });
        capabilities
    }

    pub(crate) fn has_sessions(&self) -> bool {
        self.client.revision().has_sessions()
    }

    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        &self.client.server().capabilities
    }
}

/// Opens connections to the server.
pub(crate) struct Dialer {
    client: ClientBuilder,
    target: Mutex<Box<dyn Connect>>,
    asks: Arc<AtomicBool>,
    tasks: Arc<Tasks>,
    timeout: Duration,
}

impl Dialer {
    pub(crate) fn new(
        client: ClientBuilder,
        target: Box<dyn Connect>,
        asks: Arc<AtomicBool>,
        tasks: Arc<Tasks>,
        timeout: Duration,
    ) -> Self {
        Self { client, target: Mutex::new(target), asks, tasks, timeout }
    }

    pub(crate) async fn dial(&self) -> Result<Arc<Upstream>, Error> {
        let asking = Arc::new(Asking::new(self.asks.clone(), self.tasks.clone(), self.timeout));
        let (questions, lines) = (asking.clone(), asking.clone());
        let client = self
            .client
            .clone()
            .on_input_request(Asking::capabilities(), move |question| {
                let asking = questions.clone();
                async move { asking.pass_on(question).await }
            })
            .on_log(move |line| lines.log(line))
            // A caller that wants fewer messages is sent fewer.
            .log_level(LoggingLevel::Debug);
        let mut target = self.target.lock().await;
        let client = client.connect(&mut *target).await?;
        Ok(Arc::new(Upstream { client, asking, lent: std::sync::Mutex::default(), retired: Notify::new() }))
    }
}
