//! The definitions of a server, compared with the lock.

use std::{collections::HashSet, fmt, sync::Arc};

use couplet_core::JsonText;

use super::{Approval, Digest, Fingerprint, Launch, Lock, Pin, Select, Uncanonical, fingerprint};
use crate::names::{Kind, ServerId};

/// A definition that a server has now.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The kind.
    pub kind: Kind,
    /// The server's own name; empty for instructions.
    pub raw: Arc<str>,
    /// The fingerprint.
    pub fingerprint: Fingerprint,
    /// The definition as the server sent it; for instructions a JSON string.
    pub text: JsonText,
}

impl Seen {
    /// Creates the value for a definition.
    ///
    /// # Errors
    /// If the definition has no [`fingerprint`].
    pub fn new(kind: Kind, raw: impl Into<Arc<str>>, text: &JsonText) -> Result<Self, Uncanonical> {
        Ok(Self { kind, raw: raw.into(), fingerprint: fingerprint(text)?, text: text.clone() })
    }

    pub(super) fn is(&self, kind: Kind, raw: &str) -> bool {
        self.kind == kind && *self.raw == *raw
    }
}

/// The treatment of a server that is seen for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// Everything is approved: the user added the server and has seen its launch configuration.
    Approve(Approval),
    /// Everything waits for an approval: a model, a project or a registry added the server.
    Quarantine,
}

/// The name of a definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Item {
    /// The kind.
    pub kind: Kind,
    /// The server's own name.
    pub raw: Arc<str>,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Instructions => write!(f, "instructions"),
            kind => write!(f, "{kind} `{}`", couplet_core::visible(&self.raw)),
        }
    }
}

/// The result of a comparison with the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The state of the launch configuration.
    pub launch: Launch,
    /// Whether the server was seen for the first time and approved, so that the lock must be stored.
    pub approved: bool,
    /// The definitions that are new, or whose approval has expired.
    pub pending: Vec<Item>,
    /// The definitions that differ from the approved ones.
    pub changed: Vec<Item>,
    /// The approved definitions that the server does not have.
    pub gone: Vec<Item>,
}

impl Observed {
    /// Returns whether everything is approved and nothing is gone.
    pub fn is_clean(&self) -> bool {
        self.launch == Launch::Approved && [&self.pending, &self.changed, &self.gone].iter().all(|list| list.is_empty())
    }
}

impl Lock {
    /// Compares the definitions of a server with the lock at a time in seconds since the Unix epoch.
    ///
    /// A server that is not in the lock is treated as `baseline` says; so is one whose launch configuration alone was
    /// approved. Otherwise nothing is approved here.
    pub fn observe(
        &mut self,
        server: &ServerId,
        launch: &Digest,
        seen: &[Seen],
        baseline: Baseline,
        now: u64,
    ) -> Observed {
        let is_new = self.servers.get(server).is_none_or(|own| {
            let is_launch = own.launch.as_ref().is_none_or(|(approved, _)| approved == launch);
            !own.baseline && own.items.is_empty() && is_launch
        });
        let approved = match baseline {
            Baseline::Approve(approval) if is_new => {
                self.approve(server, launch, seen, Select::Server, &approval);
                true
            }
            _ => false,
        };
        Observed { approved, ..self.compare(server, launch, seen, now) }
    }

    /// Compares the definitions of a server with the lock at a time in seconds since the Unix epoch.
    pub fn compare(&self, server: &ServerId, launch: &Digest, seen: &[Seen], now: u64) -> Observed {
        let launch = self.launch(server, launch, now);
        let (mut pending, mut changed, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for seen in seen {
            let item = || Item { kind: seen.kind, raw: seen.raw.clone() };
            match self.state(server, seen.kind, &seen.raw, &seen.fingerprint, now) {
                Pin::Approved | Pin::Gone => {}
                Pin::Pending => pending.push(item()),
                Pin::Changed => changed.push(item()),
            }
        }
        let present = names(seen);
        for (kind, raw) in self.servers.get(server).iter().flat_map(|own| own.items.keys()) {
            if !present.contains(&(*kind, raw)) {
                gone.push(Item { kind: *kind, raw: raw.as_str().into() });
            }
        }
        Observed { launch, approved: false, pending, changed, gone }
    }
}

/// The names of all definitions.
pub(super) fn names(seen: &[Seen]) -> HashSet<(Kind, &str)> {
    seen.iter().map(|seen| (seen.kind, &*seen.raw)).collect()
}
