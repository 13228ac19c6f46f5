//! Connections to the server.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use couplet_client::{Client, ClientBuilder};
use couplet_core::{Connect, Error, Peer, sync::lock};
use couplet_types::{ClientCapabilities, LoggingLevel, Map, RawJson, ServerCapabilities, TASKS_EXTENSION};
use tokio::sync::{Mutex, Notify};

use crate::{abilities::Abilities, asking::Asking, extensions::common, tasks::Tasks};

/// A connection to the server. It is closed when its last handle is dropped.
pub(crate) struct Upstream {
    pub(crate) client: Client,
    pub(crate) asking: Arc<Asking>,
    /// The capabilities that were declared, if the server has sessions.
    pub(crate) abilities: Abilities,
    lent: Lent,
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

impl Upstream {
    /// The capabilities to declare for a caller.
    pub(crate) fn lent(&self, caller: &Peer, lends: Lends) -> Arc<ClientCapabilities> {
        self.lent.declared(&caller.capabilities, lends, self.capabilities())
    }

    pub(crate) fn has_sessions(&self) -> bool {
        self.client.revision().has_sessions()
    }

    pub(crate) fn capabilities(&self) -> &ServerCapabilities {
        &self.client.server().capabilities
    }
}

/// The capabilities that were last declared for a caller: consecutive calls are often of callers with the same, each in a
/// session of its own. What is the same is not written again, either.
#[derive(Default)]
struct Lent(std::sync::Mutex<Option<LastLent>>);

struct LastLent {
    caller: ClientCapabilities,
    lends: Lends,
    capabilities: Arc<ClientCapabilities>,
}

impl Lent {
    fn declared(
        &self,
        caller: &ClientCapabilities,
        lends: Lends,
        server: &ServerCapabilities,
    ) -> Arc<ClientCapabilities> {
        let mut last = lock(&self.0);
        if let Some(last) = &*last
            && last.lends == lends
            && last.caller == *caller
        {
            return last.capabilities.clone();
        }
        let mut capabilities = caller.clone();
        // Task-augmented requests of the server cannot be forwarded.
        capabilities.tasks = None;
        // Only extensions that the server has, too, and only where both sides declare them with each request.
        let theirs = capabilities.extensions.take();
        capabilities.extensions = match lends {
            Lends::Nothing => None,
            Lends::Extensions => common(theirs.as_ref(), server),
            Lends::Tasks => Some(Map::from_iter([(TASKS_EXTENSION, RawJson::empty_object())])),
        };
        let capabilities = Arc::new(capabilities);
        *last = Some(LastLent { caller: caller.clone(), lends, capabilities: capabilities.clone() });
        capabilities
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

    pub(crate) async fn dial(&self, abilities: Abilities) -> Result<Arc<Upstream>, Error> {
        let asking = Arc::new(Asking::new(self.asks.clone(), self.tasks.clone(), self.timeout));
        let (questions, lines) = (asking.clone(), asking.clone());
        let client = self
            .client
            .clone()
            .on_input_request(abilities.capabilities(), move |question| {
                let asking = questions.clone();
                async move { asking.pass_on(question).await }
            })
            .on_log(move |line| lines.log(line))
            // A caller that wants fewer messages is sent fewer.
            .log_level(LoggingLevel::Debug);
        let mut target = self.target.lock().await;
        let client = client.connect(&mut *target).await?;
        Ok(Arc::new(Upstream { client, asking, abilities, lent: Lent::default(), retired: Notify::new() }))
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::from_json;

    use super::*;

    #[test]
    fn callers_with_the_same_capabilities_share_what_is_declared() {
        let server: ServerCapabilities = from_json(r#"{"extensions":{"com.example/b":{}}}"#).unwrap();
        let text = r#"{"elicitation":{},"tasks":{},"extensions":{"com.example/a":{},"com.example/b":{}}}"#;
        let caller: ClientCapabilities = from_json(text).unwrap();
        let lent = Lent::default();
        let first = lent.declared(&caller, Lends::Extensions, &server);
        assert!(first.elicitation.is_some() && first.tasks.is_none());
        assert_eq!(first.extensions.iter().flat_map(Map::keys).collect::<Vec<_>>(), ["com.example/b"]);
        assert!(Arc::ptr_eq(&first, &lent.declared(&caller, Lends::Extensions, &server)), "of another session");
        let without = lent.declared(&caller, Lends::Nothing, &server);
        assert!(without.extensions.is_none() && without.elicitation.is_some());
        assert_eq!(lent.declared(&ClientCapabilities::new(), Lends::Extensions, &server).elicitation, None);
        assert_eq!(*lent.declared(&caller, Lends::Extensions, &server), *first);
        let tasks = lent.declared(&caller, Lends::Tasks, &server);
        assert_eq!(tasks.extensions.iter().flat_map(Map::keys).collect::<Vec<_>>(), [TASKS_EXTENSION]);
    }
}
