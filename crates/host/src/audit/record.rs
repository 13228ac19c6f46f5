//! A record of the audit log.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use couplet_core::JsonText;

use crate::{
    names::{Kind, ServerId},
    pins::Digest,
    policy::{Decision, Door},
};

/// The outcome of a call, at the level at which it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The call was not sent: the record is about the decision.
    #[default]
    NotSent,
    /// A result.
    Ok,
    /// A tool result with `isError`.
    ToolError,
    /// A JSON-RPC error with this code.
    RpcError(i64),
    /// The server was not reached, or its connection failed; `sent` is whether it may have received the call.
    Unavailable {
        /// Whether the server may have received the call.
        sent: bool,
    },
    /// A timeout.
    Timeout,
    /// The caller cancelled the call, or is gone.
    Cancelled,
    /// The call needs input of its caller, which sends it again.
    InputRequired,
}

/// A record of one decision or one call. The caller only fills it in; the sink formats it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// The time of the decision.
    pub time: SystemTime,
    /// The id of the request at this host.
    pub request: Option<Arc<str>>,
    /// The id of the request that this one is a part of: of the call during which a server has sent a request to its caller.
    pub parent: Option<Arc<str>>,
    /// The principal of the authenticated caller.
    pub principal: Option<Arc<str>>,
    /// The name that the client reports.
    pub client: Option<Arc<str>>,
    /// The profile.
    pub profile: Option<Arc<str>>,
    /// The server.
    pub server: ServerId,
    /// The kind of the target.
    pub kind: Kind,
    /// The server's own name of the target.
    pub raw: Arc<str>,
    /// The name that the caller used.
    pub exposed: Option<Arc<str>>,
    /// The way to the target.
    pub door: Door,
    /// The digest of the target's definition.
    pub pin: Option<Digest>,
    /// The decision of the policy.
    pub decision: Decision,
    /// The id of the rule.
    pub rule: Option<Arc<str>>,
    /// The answer of a person, such as `once`, or the id of the grant.
    pub consent: Option<Arc<str>>,
    /// The arguments. Their values are written only if [`Arguments`](super::Arguments) says so.
    pub arguments: Option<JsonText>,
    /// The outcome.
    pub outcome: Outcome,
    /// The time in the queue of the server, or until it has started.
    pub queued: Option<Duration>,
    /// The time that the server took.
    pub upstream: Option<Duration>,
    /// The time from the request to the response.
    pub total: Option<Duration>,
    /// The size of the request in bytes.
    pub bytes_in: Option<u64>,
    /// The size of the response in bytes.
    pub bytes_out: Option<u64>,
}

impl Record {
    /// Creates a record of a decision now.
    pub fn new(server: ServerId, kind: Kind, raw: impl Into<Arc<str>>, door: Door, decision: Decision) -> Self {
        Self {
            time: SystemTime::now(),
            request: None,
            parent: None,
            principal: None,
            client: None,
            profile: None,
            server,
            kind,
            raw: raw.into(),
            exposed: None,
            door,
            pin: None,
            decision,
            rule: None,
            consent: None,
            arguments: None,
            outcome: Outcome::NotSent,
            queued: None,
            upstream: None,
            total: None,
            bytes_in: None,
            bytes_out: None,
        }
    }

    /// A record of the same target and decision.
    pub(super) fn target(&self) -> Self {
        let mut target = Self::new(self.server.clone(), self.kind, self.raw.clone(), self.door, self.decision);
        target.exposed.clone_from(&self.exposed);
        target.rule.clone_from(&self.rule);
        target.profile.clone_from(&self.profile);
        target.pin = self.pin;
        target
    }

    pub(super) fn millis(&self) -> u64 {
        let since = self.time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}
