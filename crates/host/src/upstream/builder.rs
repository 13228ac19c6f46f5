//! The configuration of an upstream.

use std::{fmt, sync::Arc};

use couplet_client::ClientBuilder;
use couplet_core::{Connect, Limits};

use super::{
    StartLimit, Upstream, UpstreamOptions,
    phase::Halt,
    shared::{StderrTail, UpstreamShared},
    target::SharedTarget,
};
use crate::names::ServerId;

/// A builder of an [`Upstream`], made by [`Upstream::builder`].
#[must_use = "an upstream is made by `build`"]
pub struct UpstreamBuilder {
    id: ServerId,
    client: ClientBuilder,
    target: Box<dyn Connect>,
    options: UpstreamOptions,
    starts: StartLimit,
    stderr: Option<StderrTail>,
    quarantined: Option<Arc<str>>,
}

impl UpstreamBuilder {
    pub(super) fn new(id: ServerId, client: ClientBuilder, target: Box<dyn Connect>) -> Self {
        let (options, starts) = (UpstreamOptions::default(), StartLimit::default());
        Self { id, client, target, options, starts, stderr: None, quarantined: None }
    }

    /// Sets the options.
    pub fn options(mut self, options: UpstreamOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the limit on upstreams that start at the same time, which all upstreams of a host should share.
    pub fn start_limit(mut self, starts: &StartLimit) -> Self {
        self.starts = starts.clone();
        self
    }

    /// Sets the function that returns the end of the server's standard error. The last lines are quoted in errors.
    pub fn stderr(mut self, tail: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.stderr = Some(Arc::new(tail));
        self
    }

    /// Quarantines the upstream from the beginning: it is not started until it is [released](Upstream::release).
    pub fn quarantined(mut self, reason: impl Into<Arc<str>>) -> Self {
        self.quarantined = Some(reason.into());
        self
    }

    /// Creates the upstream, and spawns its supervisor.
    ///
    /// # Panics
    /// If it is called outside of a tokio runtime.
    pub fn build(self) -> Upstream {
        let Self { id, client, target, options, starts, stderr, quarantined } = self;
        let client = match options.max_message {
            Some(size) => client.limits(Limits::default().max_message(size)),
            None => client,
        };
        let client = match options.revision {
            Some(revision) => client.versions([revision]),
            None => client,
        };
        let shared = Arc::new(UpstreamShared::new(id, options, client, SharedTarget::new(target), starts, stderr));
        if let Some(reason) = quarantined {
            shared.wanted.send_modify(|wanted| wanted.blocked = Some(Halt::Quarantined(reason)));
        }
        Upstream::supervised(shared)
    }
}

impl fmt::Debug for UpstreamBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamBuilder").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}
