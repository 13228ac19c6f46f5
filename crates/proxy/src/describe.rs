//! The description of the server.

use std::sync::{Arc, PoisonError, RwLock};

use couplet_client::Client;
use couplet_core::Description;
use couplet_types::{Implementation, RawJson, ServerCapabilities};

use crate::{TaskForms, extensions::Extensions};

/// The connected server, or the last one.
pub(crate) struct About {
    now: RwLock<(Arc<Description>, Client)>,
    extensions: Extensions,
}

impl About {
    pub(crate) fn new(client: &Client, extensions: Extensions) -> Self {
        let now = RwLock::new((Arc::new(describe(client, &extensions)), client.clone()));
        Self { now, extensions }
    }

    pub(crate) fn description(&self) -> Arc<Description> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(crate) fn client(&self) -> Client {
        self.now.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    pub(crate) fn set(&self, client: &Client) {
        let new = (Arc::new(describe(client, &self.extensions)), client.clone());
        let old = std::mem::replace(&mut *self.now.write().unwrap_or_else(PoisonError::into_inner), new);
        // Dropping the last handle closes a connection, which must not happen under the lock.
        drop(old);
    }
}

/// The server's description, as far as a proxy can serve it. The proxy itself notifies that all lists changed when the
/// connection is lost or restored.
fn describe(client: &Client, extensions: &Extensions) -> Description {
    let server = client.server();
    let mut can = ServerCapabilities::default();
    can.tools = server.capabilities.tools.clone().map(|tools| tools.list_changed(true));
    can.prompts = server.capabilities.prompts.clone().map(|prompts| prompts.list_changed(true));
    can.resources = server.capabilities.resources.clone().map(|resources| resources.list_changed(true));
    can.logging.clone_from(&server.capabilities.logging);
    can.experimental.clone_from(&server.capabilities.experimental);
    can.extensions.clone_from(&server.capabilities.extensions);
    can.tasks.clone_from(&server.capabilities.tasks);
    TaskForms::declare(&mut can, client.revision());
    // In the oldest revision there is no such capability.
    can.completions = client.serves("completion/complete").then(RawJson::empty_object);
    let info = server.info.clone().unwrap_or_else(|| Implementation::new("proxy", env!("CARGO_PKG_VERSION")));
    let extensions = extensions.of(&can);
    let mut about = Description::new(info, can);
    about.instructions.clone_from(&server.instructions);
    about.extensions = extensions;
    about
}
