//! Connections to the server.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Connect, Error, Peer, sync::lock};
use couplet_types::{ClientCapabilities, LoggingLevel, ServerCapabilities};
use tokio::sync::{Mutex, Notify};

use crate::{asking::Asking, extensions::common};

/// A connection to the server. It is closed when its last handle is dropped.
pub(crate) struct Upstream {
    pub(crate) client: Client,
    pub(crate) asking: Arc<Asking>,
    /// The capabilities that were last declared for a caller: consecutive calls are often of the same.
    lent: std::sync::Mutex<Option<Lent>>,
    /// Notified once the connection is retired and gets no further calls.
    pub(crate) retired: Notify,
}

struct Lent {
    caller: Arc<Peer>,
    with_extensions: bool,
    capabilities: Arc<ClientCapabilities>,
}

impl Upstream {
    /// The capabilities to declare for a caller.
    pub(crate) fn lent(&self, caller: &Arc<Peer>, with_extensions: bool) -> Arc<ClientCapabilities> {
        let mut lent = lock(&self.lent);
        if let Some(known) = &*lent
            && Arc::ptr_eq(&known.caller, caller)
            && known.with_extensions == with_extensions
        {
            return known.capabilities.clone();
        }
        let mut capabilities = caller.capabilities.clone();
        // Task-augmented requests of the server cannot be forwarded.
        capabilities.tasks = None;
        // Only extensions that the server has, too, and only where both sides declare them with each request.
        let theirs = capabilities.extensions.take().filter(|_| with_extensions);
        capabilities.extensions = common(theirs.as_ref(), self.capabilities());
        let capabilities = Arc::new(capabilities);
        *lent = Some(Lent { caller: caller.clone(), with_extensions, capabilities: capabilities.clone() });
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
    timeout: Duration,
}

impl Dialer {
    pub(crate) fn new(
        client: ClientBuilder,
        target: Box<dyn Connect>,
        asks: Arc<AtomicBool>,
        timeout: Duration,
    ) -> Self {
        Self { client, target: Mutex::new(target), asks, timeout }
    }

    pub(crate) async fn dial(&self) -> Result<Arc<Upstream>, Error> {
        let asking = Arc::new(Asking::new(self.asks.clone(), self.timeout));
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
