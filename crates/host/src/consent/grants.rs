//! Grants: answers for more than one call.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
};

use couplet_core::sync::lock;

use super::{Answer, Question};
use crate::{
    names::{Kind, ServerId},
    pins::Digest,
    policy::{Door, Flow},
};

/// A stored answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The id, for [`Grants::revoke`].
    pub id: u64,
    /// The principal that it is for.
    pub principal: Option<Arc<str>>,
    /// The session that it ends with; `None` if it outlives sessions.
    pub session: Option<Arc<str>>,
    /// The profile.
    pub profile: Arc<str>,
    /// The server.
    pub server: ServerId,
    /// The kind of the target.
    pub kind: Kind,
    /// The server's own name of the target.
    pub raw: Arc<str>,
    /// The way to the target.
    pub door: Door,
    /// The data flow that it allows.
    pub flow: Flow,
    /// The digest of the definition that it ends with.
    pub definition: Option<Digest>,
    /// The end in seconds since the Unix epoch.
    pub expires: Option<u64>,
    /// The last use in seconds since the Unix epoch.
    pub used: u64,
}

impl Grant {
    fn covers(&self, question: &Question, now: u64) -> bool {
        self.server == question.server
            && self.raw == question.raw
            && self.kind == question.kind
            && self.door == question.door
            && self.definition == question.definition
            && self.principal == question.principal
            && self.profile == question.profile
            && (self.session.is_none() || self.session == question.session)
            && (question.flow == Flow::Clear || self.flow == question.flow)
            && !self.has_expired(now)
    }

    fn has_expired(&self, now: u64) -> bool {
        let is_idle = self.session.is_some() && now.saturating_sub(self.used) >= Grants::SESSION_IDLE;
        is_idle || self.expires.is_some_and(|expires| expires <= now)
    }
}

/// The grants of a host: bounded, listed, revocable.
///
/// A grant covers one way to one target, for one principal in one profile. It ends with its session, its expiry, the
/// definition of its target, or the process. A transport does not report the end of a session, whose id does not return: its
/// grants are removed after [`SESSION_IDLE`](Self::SESSION_IDLE) seconds without a use.
#[derive(Debug)]
pub struct Grants {
    most: usize,
    state: Mutex<GrantTable>,
}

#[derive(Debug, Default)]
struct GrantTable {
    next: u64,
    /// By target, so that a lookup is cheap.
    grants: BTreeMap<(ServerId, Arc<str>), Vec<Grant>>,
    count: usize,
}

impl Default for Grants {
    fn default() -> Self {
        Self::new(10_000)
    }
}

impl Grants {
    /// The seconds without a use after which a grant of a session ends.
    pub const SESSION_IDLE: u64 = 24 * 60 * 60;

    /// Creates an empty set for at most this many grants.
    pub fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// Uses a grant that covers a question, at a time in seconds since the Unix epoch, and returns its id.
    pub fn covering(&self, question: &Question, now: u64) -> Option<u64> {
        let mut state = lock(&self.state);
        let grants = state.grants.get_mut(&(question.server.clone(), question.raw.clone()))?;
        let grant = grants.iter_mut().find(|grant| grant.covers(question, now))?;
        grant.used = now;
        Some(grant.id)
    }

    /// Stores an answer, and returns the id of its grant. [`Answer::Once`] and [`Answer::Deny`] have none.
    ///
    /// # Errors
    /// If the answer is none of [`Question::answers`], so that the grant could not take effect, or if there are too many
    /// grants. The call may pass all the same, once.
    pub fn add(
        &self,
        question: &Question,
        answer: Answer,
        expires: Option<u64>,
        now: u64,
    ) -> Result<Option<u64>, GrantError> {
        if !question.answers().contains(&answer) {
            return Err(GrantError(format!("the answer `{}` cannot take effect for this call", answer.as_str())));
        }
        let session = match answer {
            Answer::Once | Answer::Deny => return Ok(None),
            Answer::Session => question.session.clone(),
            Answer::Always => None,
        };
        let mut state = lock(&self.state);
        if state.count >= self.most {
            state.retain(|grant| !grant.has_expired(now));
        }
        if state.count >= self.most {
            return Err(GrantError(format!("there are {} grants already; revoke some", self.most)));
        }
        state.next += 1;
        state.count += 1;
        let grant = Grant {
            id: state.next,
            principal: question.principal.clone(),
            session,
            profile: question.profile.clone(),
            server: question.server.clone(),
            kind: question.kind,
            raw: question.raw.clone(),
            door: question.door,
            flow: question.flow,
            definition: question.definition,
            expires,
            used: now,
        };
        let id = grant.id;
        state.grants.entry((grant.server.clone(), grant.raw.clone())).or_default().push(grant);
        Ok(Some(id))
    }

    /// Returns the grants that have not expired, by server and target.
    pub fn list(&self, now: u64) -> Vec<Grant> {
        let state = lock(&self.state);
        state.grants.values().flatten().filter(|grant| !grant.has_expired(now)).cloned().collect()
    }

    /// Removes a grant, and returns whether it was there.
    pub fn revoke(&self, id: u64) -> bool {
        self.remove(|grant| grant.id == id)
    }

    /// Removes the grants of a session that has ended.
    pub fn end_session(&self, session: &str) {
        self.remove(|grant| grant.session.as_deref() == Some(session));
    }

    /// Removes the grants of a server.
    pub fn end_server(&self, server: &ServerId) {
        self.remove(|grant| grant.server == *server);
    }

    fn remove(&self, is_it: impl Fn(&Grant) -> bool) -> bool {
        let mut state = lock(&self.state);
        let before = state.count;
        state.retain(|grant| !is_it(grant));
        state.count < before
    }
}

impl GrantTable {
    fn retain(&mut self, stays: impl Fn(&Grant) -> bool) {
        self.grants.retain(|_, grants| {
            grants.retain(&stays);
            !grants.is_empty()
        });
        self.count = self.grants.values().map(Vec::len).sum();
    }
}

/// A grant that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantError(String);

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GrantError {}
