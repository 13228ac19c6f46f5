//! The caller that a connection to the server belongs to.

use std::{sync::Arc, time::Duration};

use couplet_core::{Ask, Call, Inputs, JsonText, Outbox, Peer, Revision, message::Params};
use couplet_types::{
    Cancelled, InputRequest, LogMessage, Notification, Progress, ResourceUpdated, RootsListChanged, RpcError,
};
use tokio::time::timeout;

use crate::extensions::Raw;

/// How long the client of a session may take for a request that belongs to none of its calls.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose calls a connection serves. The server keeps a session per connection, and sessions are not mixed.
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    /// No calls yet.
    Free,
    /// The calls of one downstream session.
    Session(Session),
    /// Calls without a session, of one principal.
    Principal(Option<Arc<str>>),
}

impl Owner {
    pub(crate) fn of(call: &Call) -> Self {
        let principal = call.caller.as_ref().map(|caller| caller.principal().clone());
        // A transport may serve the revisions with sessions without any, a request at a time.
        let stands_alone = call.context.as_ref().is_some_and(|context| context.session_id().is_none());
        if !call.revision.has_sessions() || stands_alone {
            return Self::Principal(principal);
        }
        let (outbox, inputs) = (call.outbox.lasting(), call.inputs.lasting());
        Self::Session(Session { outbox, inputs, peer: call.peer.clone(), revision: call.revision, principal })
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(a), Self::Session(b)) => a.outbox.leads_to_same(&b.outbox) && a.principal == b.principal,
            (Self::Principal(a), Self::Principal(b)) => a == b,
            _ => false,
        }
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        match self {
            Self::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Whether no call of it will come any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.session().is_some_and(|session| session.outbox.is_closed())
    }
}

/// A downstream session: its client can be asked while it is there.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    outbox: Outbox,
    inputs: Inputs,
    peer: Arc<Peer>,
    revision: Revision,
    principal: Option<Arc<str>>,
}

impl Session {
    /// Asks the client outside of a call.
    pub(crate) async fn ask(&self, request: &InputRequest) -> Result<JsonText, RpcError> {
        let asked = self.inputs.ask(self.revision, &self.peer, "outside", Ask::of(request)?);
        timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(RpcError::internal("the client did not answer in time")))
    }

    /// Passes on what the server announces outside of calls, where both sides speak the same revision.
    pub(crate) async fn notify(&self, server: Revision, method: &str, params: &Params) {
        // What belongs to a request, and what is announced to every subscriber, is passed on elsewhere.
        let is_known = matches!(
            method,
            Cancelled::METHOD
                | LogMessage::METHOD
                | Progress::METHOD
                | ResourceUpdated::METHOD
                | RootsListChanged::METHOD
        );
        if !is_known && server.index() == self.revision.index() {
            let sent = self.outbox.notify(method, Raw(params.text().to_raw()));
            // A client that does not read must not hold up the connection.
            let _ = timeout(Duration::from_secs(1), sent).await;
        }
    }

    /// Whether it is the session of this client.
    pub(crate) fn is_of(&self, peer: &Arc<Peer>) -> bool {
        Arc::ptr_eq(&self.peer, peer)
    }

    pub(crate) fn has_roots(&self) -> bool {
        self.peer.capabilities.roots.is_some()
    }
}

/// Whether a caller can be asked anything.
pub(crate) fn can_be_asked(call: &Call) -> bool {
    let can = &call.peer.capabilities;
    can.elicitation.is_some() || can.sampling.is_some() || can.roots.is_some()
}
