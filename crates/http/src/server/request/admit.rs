//! Admission: the caller of a request, and the number of concurrent requests.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
};

use couplet_core::{Caller, RequestContext};
use http::{Method, StatusCode};

#[cfg(feature = "replicas")]
use crate::server::replica::accept::Forwarded;
use crate::server::{
    endpoint::{Endpoint, State},
    request::{client::network_of, context::HttpRequest, quota::Share},
    response::{self, Reply},
};

/// A request that was let in, and on whose behalf. It counts until this is dropped: when it is answered, and not when
/// its client hangs up.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) caller: Option<Arc<Caller>>,
    /// What handlers can know of it.
    pub(crate) context: Option<Arc<HttpRequest>>,
    /// The network that is counted, if the caller is anonymous.
    pub(crate) network: Option<IpAddr>,
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
    /// Admits a request of a caller at an address.
    ///
    /// # Errors
    /// What to answer if it is one too many for them.
    pub(crate) fn admit(
        &self,
        slot: Slot,
        caller: Option<Arc<Caller>>,
        address: Option<IpAddr>,
    ) -> Result<Admitted, Box<Reply>> {
        let (limits, requests_of) = (&self.config.limits, &self.state.requests_of);
        let network = if caller.is_none() { address.and_then(network_of) } else { None };
        let share = match &caller {
            Some(caller) => requests_of.take(Some(caller.principal()), limits.requests_per_principal),
            None => requests_of.take_of_network(network, limits.requests_per_address),
        };
        match share {
            Some(share) => Ok(Admitted {
                caller,
                context: None,
                network,
                #[cfg(feature = "replicas")]
                forwarded: None,
                _share: share,
                _slot: slot,
            }),
            None => Err(response::busy(StatusCode::TOO_MANY_REQUESTS, "you have too many requests under way").into()),
        }
    }

    /// Counts a subscription: of a principal, or of the network of an anonymous caller. `None` if it is one too many.
    pub(crate) fn share_of_listens(&self, admitted: &Admitted) -> Option<Share> {
        let Some(principal) = admitted.principal() else { return self.share_of_streams(admitted.network) };
        self.state.listens_of.take(Some(principal), self.config.limits.listens_per_principal)
    }

    /// Counts a stream that an anonymous caller listens on; `None` if it is one too many for its network.
    pub(crate) fn share_of_streams(&self, network: Option<IpAddr>) -> Option<Share> {
        self.state.listens_of.take_of_network(network, self.config.limits.streams_per_address)
    }

    /// Counts a session of an anonymous caller; `None` if it is one too many for its network.
    pub(crate) fn share_of_sessions(&self, network: Option<IpAddr>) -> Option<Share> {
        self.state.sessions_of.take_of_network(network, self.config.limits.sessions_per_address)
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
