//! The methods of the protocol: one row each. A method that a revision lacks is absent there, and nobody tests for it.

use std::borrow::Cow;

use couplet_types::ServerCapabilities;

use super::revision::{Revision, Shape};
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
pub(crate) enum From {
    Client,
    Server,
    Either,
}

/// What a server must have advertised before a method exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
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
    pub(crate) from: From,
    pub(crate) gate: Gate,
}

const fn m(name: &'static str, revisions: Revisions, from: From, gate: Gate) -> Method {
    Method { name, revisions, from, gate }
}

pub(crate) static REQUESTS: &[Method] = &[
    m("tools/call", ALL, From::Client, Gate::Tools),
    m("tools/list", ALL, From::Client, Gate::Tools),
    m("resources/read", ALL, From::Client, Gate::Resources),
    m("resources/list", ALL, From::Client, Gate::Resources),
    m("resources/templates/list", ALL, From::Client, Gate::Resources),
    m("prompts/get", ALL, From::Client, Gate::Prompts),
    m("prompts/list", ALL, From::Client, Gate::Prompts),
    m("completion/complete", ALL, From::Client, Gate::Completions),
    m("initialize", HANDSHAKE, From::Client, Gate::Open),
    m("ping", HANDSHAKE, From::Either, Gate::Open),
    m("logging/setLevel", HANDSHAKE, From::Client, Gate::Logging),
    m("resources/subscribe", HANDSHAKE, From::Client, Gate::Subscribe),
    m("resources/unsubscribe", HANDSHAKE, From::Client, Gate::Subscribe),
    m("server/discover", STATELESS, From::Client, Gate::Open),
    m("subscriptions/listen", STATELESS, From::Client, Gate::Open),
    m("tasks/get", FOURTH, From::Either, Gate::Tasks),
    m("tasks/result", FOURTH, From::Either, Gate::Tasks),
    m("tasks/list", FOURTH, From::Either, Gate::Tasks),
    m("tasks/cancel", FOURTH, From::Either, Gate::Tasks),
    m("sampling/createMessage", ALL, From::Server, Gate::Open),
    m("roots/list", ALL, From::Server, Gate::Open),
    m("elicitation/create", FROM_THIRD, From::Server, Gate::Open),
];

pub(crate) static NOTIFICATIONS: &[Method] = &[
    m("notifications/cancelled", ALL, From::Either, Gate::Open),
    m("notifications/progress", ALL, From::Either, Gate::Open),
    m("notifications/message", ALL, From::Server, Gate::Logging),
    m("notifications/tools/list_changed", ALL, From::Server, Gate::Tools),
    m("notifications/prompts/list_changed", ALL, From::Server, Gate::Prompts),
    m("notifications/resources/list_changed", ALL, From::Server, Gate::Resources),
    m("notifications/resources/updated", ALL, From::Server, Gate::Subscribe),
    m("notifications/initialized", HANDSHAKE, From::Client, Gate::Open),
    m("notifications/roots/list_changed", HANDSHAKE, From::Client, Gate::Open),
    m("notifications/subscriptions/acknowledged", STATELESS, From::Server, Gate::Open),
    m("notifications/elicitation/complete", FOURTH, From::Server, Gate::Open),
    m("notifications/tasks/status", FOURTH, From::Either, Gate::Tasks),
];

/// The row of a request that a client may send in a revision.
pub(crate) fn client_request(name: &str, revision: &Revision) -> Option<&'static Method> {
    REQUESTS.iter().find(|m| m.name == name && m.from != From::Server && m.exists_in(revision))
}

/// Whether a server serves a request in a revision.
pub(crate) fn is_served(name: &str, revision: &Revision, about: &Description) -> bool {
    client_request(name, revision).is_some_and(|m| m.gate.is_open(&about.capabilities))
        || about.extra_methods.iter().any(|m| m == name)
        || about.extensions_in(Shape::of(revision.version)).any(|e| e.find(name).is_some())
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
    pub(crate) fn exists_in(&self, revision: &Revision) -> bool {
        self.revisions & revision.bit != 0
    }
}

impl Gate {
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
