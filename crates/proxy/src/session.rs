//! The owner of a connection to the server.

use std::{sync::Arc, time::Duration};

use couplet_core::{Ask, Call, Inputs, JsonText, Method, Outbox, Peer, Revision, message::Params};
use couplet_types::{
    Cancelled, InputRequest, LogMessage, Notification, Progress, ResourceUpdated, RootsListChanged, RpcError,
};
use tokio::time::timeout;

use crate::{
    Hooks,
    abilities::{Abilities, AbilitySets},
    extensions::Raw,
    quiet,
};

/// The timeout of a request to the client of a session outside of its calls.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The owner of a connection. The server has a session per connection, and sessions are not mixed.
#[derive(Clone)]
pub(crate) enum Owner {
    /// No owner yet.
    Free,
    /// One downstream session.
    Session(Session),
    /// Stateless calls of one principal, with capabilities that a session declares for them.
    Principal(Option<Arc<str>>, Abilities),
}

/// The callers that share a connection to a server with sessions. A stateless server cannot tell callers apart by their
/// connection.
///
/// However it is set, a request of the server reaches only the caller whose call it belongs to. On a shared connection it
/// waits until its call runs alone. A tool that has not been called yet may be the first to send one, so calls of two such
/// tools do not share a connection. From the first request on, each call that may receive one has a connection for itself
/// while it runs. A request is refused only if other calls do not end within a minute, or within two seconds if each of
/// several calls may be the first to receive one and all may wait for an answer, or after a call on the same connection was
/// cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Each downstream session has a connection of its own; stateless callers share one with those of their principal that
    /// have the same capabilities, or with all of them if each connection is a process. The state that a server has per
    /// session is never shared.
    #[default]
    Session,
    /// All sessions of a principal share a connection.
    Principal,
    /// All callers share a connection: for a server without state, or one that is expensive to start.
    Shared,
}

impl Owner {
    pub(crate) fn of(call: &Call, hooks: Option<&Arc<dyn Hooks>>, isolation: Isolation, sets: &AbilitySets) -> Self {
        let principal = call.caller.as_ref().map(|caller| caller.principal().clone());
        match isolation {
            Isolation::Session => {}
            Isolation::Principal => return Self::Principal(principal, Abilities::ALL),
            Isolation::Shared => return Self::Principal(None, Abilities::ALL),
        }
        // A transport may serve session-based revisions without sessions.
        let is_stateless = call.context.as_ref().is_some_and(|context| context.session_id().is_none());
        if !call.revision.has_sessions() || is_stateless {
            return Self::Principal(principal, sets.of(&call.peer.capabilities));
        }
        let (outbox, inputs) = (call.outbox.lasting(), call.inputs.lasting());
        let (peer, hooks) = (call.peer.clone(), hooks.cloned());
        Self::Session(Session { outbox, inputs, peer, revision: call.revision, principal, hooks })
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Session(a), Self::Session(b)) => a.outbox.leads_to_same(&b.outbox) && a.principal == b.principal,
            (Self::Principal(a, can), Self::Principal(b, other)) => a == b && can == other,
            _ => false,
        }
    }

    /// Whether it is the same, but for its capabilities.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Principal(a, _), Self::Principal(b, _)) => a == b,
            _ => self.is(other),
        }
    }

    /// The capabilities that its connection declares. A session may have taken over a connection, so it declares all.
    pub(crate) fn abilities(&self) -> Abilities {
        match self {
            Self::Principal(_, abilities) => *abilities,
            Self::Free | Self::Session(_) => Abilities::ALL,
        }
    }

    pub(crate) fn session(&self) -> Option<&Session> {
        match self {
            Self::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Whether no further call will come.
    pub(crate) fn is_gone(&self) -> bool {
        self.session().is_some_and(|session| session.outbox.is_closed())
    }
}

/// A downstream session, whose client can be sent requests.
#[derive(Clone)]
pub(crate) struct Session {
    outbox: Outbox,
    inputs: Inputs,
    peer: Arc<Peer>,
    revision: Revision,
    principal: Option<Arc<str>>,
    hooks: Option<Arc<dyn Hooks>>,
}

impl Session {
    /// Sends a request to the client outside of a call.
    ///
    /// With hooks it is refused: only a call that is in flight says which server the client deals with.
    pub(crate) async fn ask(&self, request: &InputRequest) -> Result<JsonText, RpcError> {
        if self.hooks.is_some() {
            return Err(RpcError::internal("no call is in flight, so there is no client to answer this request"));
        }
        let asked = self.inputs.ask(self.revision, &self.peer, "outside", Ask::of(request)?);
        timeout(TIMEOUT, asked).await.unwrap_or_else(|_| Err(RpcError::internal("the client did not answer in time")))
    }

    /// Forwards a notification outside of calls, where both sides use the same revision.
    pub(crate) async fn notify(&self, server: Revision, method: &str, params: &Params) {
        // Notifications of requests and subscriptions are forwarded elsewhere.
        let is_known = matches!(
            method,
            Cancelled::METHOD
                | LogMessage::METHOD
                | Progress::METHOD
                | ResourceUpdated::METHOD
                | RootsListChanged::METHOD
        );
        if !is_known && server.index() == self.revision.index() {
            let Some(params) = self.translated(method, params.text()) else { return };
            let sent = self.outbox.notify(method, Raw(params.to_raw()));
            // A client that does not read must not block the connection.
            let _ = timeout(Duration::from_secs(1), sent).await;
        }
    }

    fn translated(&self, method: &str, params: &JsonText) -> Option<JsonText> {
        match &self.hooks {
            Some(hooks) => hooks.notification(self.principal.as_deref(), method, params.clone()),
            None => Some(params.clone()),
        }
    }

    /// Whether this is the session of a client.
    pub(crate) fn is_of(&self, peer: &Arc<Peer>) -> bool {
        Arc::ptr_eq(&self.peer, peer)
    }

    pub(crate) fn has_roots(&self) -> bool {
        self.peer.capabilities.roots.is_some()
    }
}

/// A call, and its demands on a connection.
#[derive(Clone)]
pub(crate) struct Needs {
    pub(crate) owner: Owner,
    pub(crate) principal: Option<Arc<str>>,
    pub(crate) expects: Expects,
}

/// The requests of the server that a call may receive.
#[derive(Clone)]
pub(crate) enum Expects {
    /// None that its caller can answer.
    Nothing,
    /// Any. Calls with the same [name](quiet::name) are alike.
    Requests(Arc<str>),
}

impl Expects {
    pub(crate) fn of(call: &Call) -> Self {
        let can = &call.peer.capabilities;
        let can_answer = can.elicitation.is_some() || can.sampling.is_some() || can.roots.is_some();
        let may_be_asked = Method::named(&call.method).is_some_and(|method| method.may_ask);
        if may_be_asked && can_answer { Self::Requests(quiet::name(call)) } else { Self::Nothing }
    }
}
