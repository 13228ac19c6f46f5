//! Without the feature `metrics` nothing is counted, and nothing is left of it.

#[cfg(feature = "listen")]
use crate::server::metrics::OpenConnection;
use crate::server::metrics::{Metrics, Store, Timer};

#[expect(clippy::unused_self, reason = "the same functions as with the feature")]
impl Metrics {
    pub(crate) fn received(&self, _: &couplet_core::message::Frame) {}

    pub(crate) fn responded(&self, _: http::StatusCode) {}

    pub(crate) fn call(&self, _: &str) -> Timer {
        Timer()
    }

    pub(crate) fn store(&self, _: Store) -> Timer {
        Timer()
    }

    #[cfg(feature = "listen")]
    pub(crate) fn connected(&self) -> OpenConnection {
        OpenConnection()
    }

    #[cfg(feature = "listen")]
    pub(crate) fn accept_failed(&self) {}
}

#[expect(clippy::unused_self, reason = "the same functions as with the feature")]
impl Timer {
    pub(crate) fn replied(self, _: &couplet_core::Reply) {}

    pub(crate) fn timed_out(self) {}

    pub(crate) fn stored(self, _: bool) {}
}
