//! Connections to the server.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Connect, Error};
use couplet_types::{LoggingLevel, ServerCapabilities};
use tokio::sync::{Mutex, Notify};

use crate::asking::Asking;

/// A connection to the server. It is closed when its last handle is dropped.
pub(crate) struct Upstream {
    pub(crate) client: Client,
    pub(crate) asking: Arc<Asking>,
    /// Notified once the connection is retired and gets no further calls.
    pub(crate) retired: Notify,
}

impl Upstream {
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
        Ok(Arc::new(Upstream { client, asking, retired: Notify::new() }))
    }
}
