//! Who is let in, and how many at a time.

use std::sync::{Arc, atomic::Ordering};

use http::{StatusCode, request::Parts};

use super::{
    endpoint::{Endpoint, State},
    reply::{self, Reply},
    shares::Share,
};

/// A request that was let in, and on whose behalf. It counts until this is dropped: when it is answered, and not when
/// its client hangs up.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) principal: Option<Arc<str>>,
    _share: Share,
    _slot: Slot,
}

impl Endpoint {
    /// Lets a request in.
    ///
    /// # Errors
    /// What to answer if it is one too many, or if the server shuts down.
    pub(crate) fn admit(&self, parts: &Parts) -> Result<Admitted, Box<Reply>> {
        let before = self.state.requests.fetch_add(1, Ordering::AcqRel);
        let slot = Slot(self.state.clone());
        if self.state.closing.load(Ordering::Acquire) {
            return Err(reply::busy(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down").into());
        }
        if before >= self.config.limits.requests {
            return Err(reply::busy(StatusCode::SERVICE_UNAVAILABLE, "the server cannot take more requests").into());
        }
        let principal: Option<Arc<str>> = self.config.identify.as_ref().and_then(|who| who(parts)).map(Arc::from);
        let most = self.config.limits.requests_per_principal;
        match self.state.requests_of.take(principal.as_ref(), most) {
            Some(share) => Ok(Admitted { principal, _share: share, _slot: slot }),
            None => Err(reply::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many requests under way").into()),
        }
    }
}

/// One of all the requests under way.
#[derive(Debug)]
struct Slot(Arc<State>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}
