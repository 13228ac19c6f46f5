//! One server in a view.

use std::sync::Arc;

use couplet_core::Sealer;
use couplet_proxy::Hooks;

use crate::{catalog::Catalog, names::ServerId, upstream::Upstream};

/// A server of a view, with the catalog that the view was built from.
pub(crate) struct Member {
    pub(crate) upstream: Upstream,
    pub(crate) catalog: Arc<Catalog>,
    /// The sealer for the rounds of its calls.
    pub(crate) rounds: Sealer,
    /// The hooks for its messages to callers of the view.
    pub(crate) link: Arc<dyn Hooks>,
    /// Those for calls whose rounds are the server's: the view decides about its requests at the end of a round.
    pub(crate) link_of_rounds: Arc<dyn Hooks>,
}

impl Member {
    pub(crate) fn id(&self) -> &ServerId {
        self.upstream.id()
    }
}
