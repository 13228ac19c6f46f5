//! Counts and durations for operators, with the feature `metrics`. Without it the functions are the same and do nothing.
//!
//! This module knows what an endpoint counts and the text format of Prometheus. It must not know requests.

#[cfg(feature = "metrics")]
mod histogram;
#[cfg(not(feature = "metrics"))]
mod off;
#[cfg(feature = "metrics")]
mod on;
#[cfg(feature = "metrics")]
pub(crate) mod text;

/// The counts of an endpoint and its listener. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics(#[cfg(feature = "metrics")] std::sync::Arc<on::Counts>);

/// An open connection, until it is dropped.
#[cfg(feature = "listen")]
#[derive(Debug)]
pub(crate) struct OpenConnection(#[cfg(feature = "metrics")] Metrics);

/// Something that is measured. Without an end it was cancelled.
#[derive(Debug)]
pub(crate) struct Timer(#[cfg(feature = "metrics")] on::Running);

/// The stores that are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Store {
    Sessions,
    Events,
}
