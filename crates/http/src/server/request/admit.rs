//! Admission: the caller of a request, and the number of concurrent requests.

use std::sync::{Arc, atomic::Ordering};

use couplet_core::{Caller, RequestContext};
use http::{Method, StatusCode};

#[cfg(feature = "replicas")]
use crate::server::replica::accept::Forwarded;
use crate::server::{
    endpoint::{Endpoint, State},
    request::{context::HttpRequest, quota::Share},
    response::{self, Reply},
};

/// A request that was let in, and on whose behalf. It counts until this is dropped: when it is answered, and not when
/// its client hangs up.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) caller: Option<Arc<Caller>>,
    /// What handlers can know of it.
    pub(crate) context: Option<Arc<HttpRequest>>,
    /// Whether another replica has forwarded it.
    #[cfg(feature = "replicas")]
    pub(crate) forwarded: Option<Forwarded>,
    _share: Share,
    _slot: Slot,
}

impl Admitted {
    /// What handlers can know of it, to be given to a connection.
    pub(crate) fn take_context(&mut self) -> Option<Arc<dyn RequestContext>> {
        Some(self.context.take()?)
    }

    /// The principal of the caller.
    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        self.caller.as_ref().map(|caller| caller.principal())
    }
}

impl Endpoint {
    /// Admits a request of a caller.
    ///
    /// # Errors
    /// What to answer if it is one too many for them.
    pub(crate) fn admit(&self, slot: Slot, caller: Option<Arc<Caller>>) -> Result<Admitted, Box<Reply>> {
        let most = self.config.limits.requests_per_principal;
        let principal = caller.as_ref().map(|caller| caller.principal());
        match self.state.requests_of.take(principal, most) {
            Some(share) => Ok(Admitted {
                caller,
                context: None,
                #[cfg(feature = "replicas")]
                forwarded: None,
                _share: share,
                _slot: slot,
            }),
            None => Err(response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many requests under way").into()),
        }
    }

    /// Counts a request before it is authorized, which can take time.
    ///
    /// # Errors
    /// What to answer if it is one too many, or if the server shuts down.
    pub(crate) fn enter(&self, method: &Method) -> Result<Slot, Box<Reply>> {
        let before = self.state.requests.fetch_add(1, Ordering::AcqRel);
        let slot = Slot(self.state.clone());
        if self.state.closing.load(Ordering::Acquire) {
            return Err(response::busy(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down").into());
        }
        if before >= self.config.limits.requests {
            return Err(response::busy(StatusCode::SERVICE_UNAVAILABLE, "the server cannot take more requests").into());
        }
        // The end of a session frees memory.
        if self.config.in_flight.bytes() >= self.config.limits.answers && *method != Method::DELETE {
            let what = "the server waits for clients to read their answers";
            return Err(response::busy(StatusCode::SERVICE_UNAVAILABLE, what).into());
        }
        Ok(slot)
    }
}

/// One of all the requests under way.
#[derive(Debug)]
pub(crate) struct Slot(Arc<State>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}
