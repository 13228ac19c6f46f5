//! One connection to the server, and how another one is made.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Connect, Error};
use couplet_types::{LoggingLevel, ServerCapabilities};
use tokio::sync::{Mutex, Notify};

use crate::asking::Asking;

/// A connection to the server. It is closed when the last one who uses it is done.
pub(crate) struct Upstream {
    pub(crate) client: Client,
    pub(crate) asking: Arc<Asking>,
    /// Notified once the connection is not used for new calls any more.
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

/// Makes connections to the server.
pub(crate) struct Dialer {
    client: ClientBuilder,
    target: Mutex<Box<dyn Connect>>,
    asks: Arc<AtomicBool>,
    patience: Duration,
}

impl Dialer {
    pub(crate) fn new(
        client: ClientBuilder,
        target: Box<dyn Connect>,
        asks: Arc<AtomicBool>,
        patience: Duration,
    ) -> Self {
        Self { client, target: Mutex::new(target), asks, patience }
    }

    pub(crate) async fn dial(&self) -> Result<Arc<Upstream>, Error> {
        let asking = Arc::new(Asking::new(self.asks.clone(), self.patience));
        let (questions, lines) = (asking.clone(), asking.clone());
        let client = self
            .client
            .clone()
            .on_question(Asking::capabilities(), move |question| {
                let asking = questions.clone();
                async move { asking.pass_on(question).await }
            })
            .on_log(move |line| lines.log(line))
            // A caller that wants less is sent less.
            .log_level(LoggingLevel::Debug);
        let mut target = self.target.lock().await;
        let client = client.connect(&mut *target).await?;
        Ok(Arc::new(Upstream { client, asking, retired: Notify::new() }))
    }
}
