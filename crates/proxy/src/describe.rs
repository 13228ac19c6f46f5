//! What the proxy says about the server.

use std::sync::{Arc, PoisonError, RwLock};

use couplet_client::Client;
use couplet_core::Description;
use couplet_types::{Implementation, RawJson, ServerCapabilities};

/// The server that is connected, or was last.
pub(crate) struct About(RwLock<(Arc<Description>, Client)>);

impl About {
    pub(crate) fn new(client: &Client) -> Self {
        Self(RwLock::new((Arc::new(describe(client)), client.clone())))
    }

    pub(crate) fn description(&self) -> Arc<Description> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(crate) fn client(&self) -> Client {
        self.0.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    pub(crate) fn set(&self, client: &Client) {
        let new = (Arc::new(describe(client)), client.clone());
        let old = std::mem::replace(&mut *self.0.write().unwrap_or_else(PoisonError::into_inner), new);
        // The last one to use a connection closes it, which must not happen under the lock.
        drop(old);
    }
}

/// What the server says about itself, as far as a proxy can serve it. Lists change at least when the server goes or
/// comes, which the proxy announces itself.
fn describe(client: &Client) -> Description {
    let server = client.server();
    let mut can = ServerCapabilities::default();
    can.tools = server.capabilities.tools.clone().map(|tools| tools.list_changed(true));
    can.prompts = server.capabilities.prompts.clone().map(|prompts| prompts.list_changed(true));
    can.resources = server.capabilities.resources.clone().map(|resources| resources.list_changed(true));
    can.logging.clone_from(&server.capabilities.logging);
    // In the oldest revision there is no such capability.
    can.completions = client.serves("completion/complete").then(RawJson::empty_object);
    let info = server.info.clone().unwrap_or_else(|| Implementation::new("proxy", env!("CARGO_PKG_VERSION")));
    let mut about = Description::new(info, can);
    about.instructions.clone_from(&server.instructions);
    about
}
