//! The service itself.

use std::{fmt, sync::Arc, time::SystemTime};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{BoxFuture, Call, Connect, Description, Error, Hub, Inputs, Note, Reply, Sealer, Service};
use couplet_types::{Implementation, LoggingLevel, RawJson, ServerCapabilities};
use tokio::task::JoinHandle;

use crate::{asking::Asking, call, changes};

/// A server that is somewhere else, served as if it were here. Clones are the same proxy.
///
/// A server with a session asks without saying for which call, so of the calls that can lead to a question one runs at a
/// time there; give every user a connection of their own. A call by a client without sessions begins anew with each
/// answer, so the server sees it again, and what it did before the question is done again.
///
/// ```
/// # async fn example(remote: impl couplet_core::Connect) -> Result<(), couplet_core::Error> {
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
pub struct Proxy(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) asking: Arc<Asking>,
    hub: Hub,
    about: Arc<Description>,
    sealer: Sealer,
    changes: JoinHandle<()>,
}

impl Proxy {
    /// Connects to the server. The callbacks of the client are not used: whoever calls answers.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub async fn connect(client: ClientBuilder, server: impl Connect) -> Result<Self, Error> {
        let asking = Arc::new(Asking::default());
        let (questions, lines) = (asking.clone(), asking.clone());
        let client = client
            .on_question(Asking::capabilities(), move |question| {
                let asking = questions.clone();
                async move { asking.pass_on(question).await }
            })
            .on_log(move |line| lines.tell(line))
            // Who wants less is told less.
            .log_level(LoggingLevel::Debug)
            .connect(server)
            .await?;
        let hub = Hub::new();
        let lists = client.listen(changes::lists()).await?;
        let changes = tokio::spawn(changes::pass_on(client.clone(), hub.clone(), lists));
        let about = Arc::new(describe(&client));
        Ok(Self(Arc::new(Shared { client, asking, hub, about, sealer: Sealer::random(), changes })))
    }

    /// The connection to the server.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// The proxy as what is served, connected to or mounted.
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::new(self.clone())
    }
}

impl Service for Proxy {
    fn describe(&self) -> Arc<Description> {
        self.0.about.clone()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let shared = self.0.clone();
        if call::is_passed_on(&shared.client, &call) {
            return Box::pin(call::run(shared, call));
        }
        let sealer = shared.sealer.clone();
        Box::pin(Inputs::drive(call, &sealer, now, |call| call::run(shared, call)))
    }

    fn hub(&self) -> &Hub {
        &self.0.hub
    }

    fn notified(&self, note: Note) {
        self.0.client.forward_notification(&note.method, &note.params);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.changes.abort();
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("client", &self.0.client).finish_non_exhaustive()
    }
}

/// What the server says about itself, as far as a proxy can keep it.
fn describe(client: &Client) -> Description {
    let server = client.server();
    let mut can = ServerCapabilities::default();
    can.tools.clone_from(&server.capabilities.tools);
    can.prompts.clone_from(&server.capabilities.prompts);
    can.resources.clone_from(&server.capabilities.resources);
    can.logging.clone_from(&server.capabilities.logging);
    // In the oldest revision nobody says so.
    can.completions = client.serves("completion/complete").then(RawJson::empty_object);
    let info = server.info.clone().unwrap_or_else(|| Implementation::new("proxy", env!("CARGO_PKG_VERSION")));
    let mut about = Description::new(info, can);
    about.instructions.clone_from(&server.instructions);
    about
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs())
}
