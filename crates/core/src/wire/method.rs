//! The methods of the protocol: one row each. A method that a revision lacks is absent there, and nobody tests for it.

use std::borrow::Cow;

use couplet_types::ServerCapabilities;

use super::revision::{Revision, RevisionRow};
use crate::service::Description;

/// In which revisions a method exists: one bit per row of the revision table.
type Revisions = u8;

const ALL: Revisions = 0b1_1111;
const HANDSHAKE: Revisions = 0b0_1111;
const STATELESS: Revisions = 0b1_0000;
const FOURTH: Revisions = 0b0_1000;
const FROM_THIRD: Revisions = 0b1_1100;

/// Who sends a request or a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    Client,
    Server,
    Either,
}

/// What a server must have advertised before a method exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capability {
    Open,
    Tools,
    Resources,
    Subscribe,
    Prompts,
    Completions,
    Logging,
    Tasks,
}

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) revisions: Revisions,
    pub(crate) from: Sender,
    pub(crate) gate: Capability,
}

const fn m(name: &'static str, revisions: Revisions, from: Sender, gate: Capability) -> Method {
    Method { name, revisions, from, gate }
}

pub(crate) static REQUESTS: &[Method] = &[
    m("tools/call", ALL, Sender::Client, Capability::Tools),
    m("tools/list", ALL, Sender::Client, Capability::Tools),
    m("resources/read", ALL, Sender::Client, Capability::Resources),
    m("resources/list", ALL, Sender::Client, Capability::Resources),
    m("resources/templates/list", ALL, Sender::Client, Capability::Resources),
    m("prompts/get", ALL, Sender::Client, Capability::Prompts),
    m("prompts/list", ALL, Sender::Client, Capability::Prompts),
    m("completion/complete", ALL, Sender::Client, Capability::Completions),
    m("initialize", HANDSHAKE, Sender::Client, Capability::Open),
    m("ping", HANDSHAKE, Sender::Either, Capability::Open),
    m("logging/setLevel", HANDSHAKE, Sender::Client, Capability::Logging),
    m("resources/subscribe", HANDSHAKE, Sender::Client, Capability::Subscribe),
    m("resources/unsubscribe", HANDSHAKE, Sender::Client, Capability::Subscribe),
    m("server/discover", STATELESS, Sender::Client, Capability::Open),
    m("subscriptions/listen", STATELESS, Sender::Client, Capability::Open),
    m("tasks/get", FOURTH, Sender::Either, Capability::Tasks),
    m("tasks/result", FOURTH, Sender::Either, Capability::Tasks),
    m("tasks/list", FOURTH, Sender::Either, Capability::Tasks),
    m("tasks/cancel", FOURTH, Sender::Either, Capability::Tasks),
    m("sampling/createMessage", ALL, Sender::Server, Capability::Open),
    m("roots/list", ALL, Sender::Server, Capability::Open),
    m("elicitation/create", FROM_THIRD, Sender::Server, Capability::Open),
];

pub(crate) static NOTIFICATIONS: &[Method] = &[
    m("notifications/cancelled", ALL, Sender::Either, Capability::Open),
    m("notifications/progress", ALL, Sender::Either, Capability::Open),
    m("notifications/message", ALL, Sender::Server, Capability::Logging),
    m("notifications/tools/list_changed", ALL, Sender::Server, Capability::Tools),
    m("notifications/prompts/list_changed", ALL, Sender::Server, Capability::Prompts),
    m("notifications/resources/list_changed", ALL, Sender::Server, Capability::Resources),
    m("notifications/resources/updated", ALL, Sender::Server, Capability::Subscribe),
    m("notifications/initialized", HANDSHAKE, Sender::Client, Capability::Open),
    m("notifications/roots/list_changed", HANDSHAKE, Sender::Client, Capability::Open),
    m("notifications/subscriptions/acknowledged", STATELESS, Sender::Server, Capability::Open),
    m("notifications/elicitation/complete", FOURTH, Sender::Server, Capability::Open),
    m("notifications/tasks/status", FOURTH, Sender::Either, Capability::Tasks),
];

/// The row of a request that a client may send in a revision.
pub(crate) fn client_request(name: &str, revision: &RevisionRow) -> Option<&'static Method> {
    REQUESTS.iter().find(|m| m.name == name && m.from != Sender::Server && m.exists_in(revision))
}

/// Whether a server serves a request in a revision.
pub(crate) fn is_served(name: &str, revision: &RevisionRow, about: &Description) -> bool {
    client_request(name, revision).is_some_and(|m| m.gate.is_open(&about.capabilities))
        || about.extra_methods.iter().any(|m| m == name)
        || about.extensions_in(Revision::of(revision.version)).any(|e| e.find(name).is_some())
}

/// Whether results of a method may say for how long they can be kept.
pub(crate) const fn is_cacheable(name: &str) -> bool {
    matches!(
        name.as_bytes(),
        b"server/discover"
            | b"tools/list"
            | b"prompts/list"
            | b"resources/list"
            | b"resources/templates/list"
            | b"resources/read"
    )
}

/// A method's name without an allocation, if it is one of ours.
pub(crate) fn canonical(name: &str) -> Cow<'static, str> {
    let known = REQUESTS.iter().chain(NOTIFICATIONS).find(|m| m.name == name);
    known.map_or_else(|| Cow::Owned(name.to_owned()), |m| Cow::Borrowed(m.name))
}

impl Method {
    pub(crate) fn exists_in(&self, revision: &RevisionRow) -> bool {
        self.revisions & revision.bit != 0
    }
}

impl Capability {
    /// Whether a server that advertises these capabilities serves what is behind the gate.
    pub(crate) fn is_open(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Open => true,
            Self::Tools => capabilities.tools.is_some(),
            Self::Resources => capabilities.resources.is_some(),
            Self::Subscribe => capabilities.resources.as_ref().is_some_and(|r| r.subscribe == Some(true)),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Completions => capabilities.completions.is_some(),
            Self::Logging => capabilities.logging.is_some(),
            Self::Tasks => capabilities.tasks.is_some(),
        }
    }
}
