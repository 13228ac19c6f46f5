//! A graceful shutdown: work without a request.

use std::time::Duration;

use couplet_core::BoxFuture;

use crate::{inner::Inner, together::together};

/// The work of a shutdown: calls with an idempotency key end, and extensions do what they have to, also those of mounted
/// servers.
pub(crate) fn drain(inner: &Inner, grace: Duration) -> Option<BoxFuture<'static, ()>> {
    let outcomes = inner.config.outcomes.clone();
    let calls = outcomes.map(|outcomes| -> BoxFuture<'static, ()> { Box::pin(outcomes.drain(grace)) });
    let extensions = inner.extensions().iter().filter_map(|extension| extension.drain(grace));
    let mounted = inner.mounts.iter().filter_map(|mount| mount.service.drain(grace));
    together(calls.into_iter().chain(extensions).chain(mounted).collect())
}
