//! The question that a policy decides, and its answer.

use std::{fmt, sync::Arc};

use couplet_core::JsonText;
use serde::{Deserialize, Serialize};

use super::{Effects, Flow, Trust};
use crate::names::{Kind, ServerId};

/// A decision of a policy. A later variant is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The request passes.
    Allow,
    /// A person decides. In a list the target is visible.
    Ask,
    /// The target does not exist for this caller.
    Deny,
}

impl Decision {
    /// Returns the word for this decision.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A decision and the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// The id of the rule, such as `policy[2]`; `None` if no rule matched.
    pub rule: Option<Arc<str>>,
}

/// The way on which a request reaches its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// A list or a search.
    List,
    /// A tool call.
    Call,
    /// A resource read.
    Read,
    /// A read of a resource that another server has linked to.
    Link,
    /// A prompt request.
    Get,
    /// A completion of an argument.
    Complete,
    /// A subscription to a resource.
    Subscribe,
    /// A request about a task of the target.
    Task,
    /// A sampling request of the server during a call of the target.
    Sampling,
    /// An elicitation request of the server during a call of the target.
    Elicitation,
    /// A roots request of the server during a call of the target.
    Roots,
}

impl Door {
    /// Every way to a target.
    pub const ALL: [Self; 11] = [
        Self::List,
        Self::Call,
        Self::Read,
        Self::Link,
        Self::Get,
        Self::Complete,
        Self::Subscribe,
        Self::Task,
        Self::Sampling,
        Self::Elicitation,
        Self::Roots,
    ];

    /// Returns whether [`Decision::Ask`] means a question on this way.
    ///
    /// On the others such a request passes: a list shows the target, a task was asked about when it was created, an
    /// elicitation is a question already, and the client itself limits its roots.
    pub fn asks(self) -> bool {
        match self {
            Self::Call | Self::Read | Self::Link | Self::Get | Self::Sampling => true,
            Self::List | Self::Complete | Self::Subscribe | Self::Task | Self::Elicitation | Self::Roots => false,
        }
    }

    /// Returns the word for this way.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Call => "call",
            Self::Read => "read",
            Self::Link => "link",
            Self::Get => "get",
            Self::Complete => "complete",
            Self::Subscribe => "subscribe",
            Self::Task => "task",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Roots => "roots",
        }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The request that a policy decides.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The principal of the authenticated caller.
    pub principal: Option<&'a str>,
    /// The name of the profile.
    pub profile: &'a str,
    /// The server of the target.
    pub server: &'a ServerId,
    /// The kind of the target.
    pub kind: Kind,
    /// The server's own name of the target.
    pub raw: &'a str,
    /// The way on which the request reaches the target.
    pub door: Door,
    /// The arguments of the call, if it has any.
    pub arguments: Option<&'a JsonText>,
    /// The effect class of the target.
    pub effects: Effects,
    /// The trust in the server.
    pub trust: Trust,
    /// The data flow in the caller's session; see [`FlowTracker::would_complete`](super::FlowTracker::would_complete).
    pub flow: Flow,
}

impl<'a> Subject<'a> {
    /// Creates a subject of which nothing else is known: no principal, the strictest class, an unknown server.
    pub fn new(profile: &'a str, server: &'a ServerId, kind: Kind, raw: &'a str, door: Door) -> Self {
        let (effects, trust, flow) = (Effects::STRICTEST, Trust::Unknown, Flow::Clear);
        Self { principal: None, profile, server, kind, raw, door, arguments: None, effects, trust, flow }
    }
}
