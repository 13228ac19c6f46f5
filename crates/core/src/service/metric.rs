//! Numbers for operators.

/// A number that a [`Service`](crate::Service) reports to operators, such as the running tasks of a server.
///
/// Names and labels are fixed strings, so that no string of a client can become one. The name has lower-case letters,
/// digits and underscores; that of a counter ends with `_total`.
///
/// ```
/// use couplet_core::Metric;
///
/// let running = Metric::gauge("shop_orders", "orders in progress", 3).label("status", "paid");
/// # let _ = running;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// The meaning, in one line. Metrics of one name have the same.
    pub help: &'static str,
    /// Whether it only grows.
    pub kind: MetricKind,
    /// The name and value of a label, if it has one.
    pub label: Option<(&'static str, &'static str)>,
    /// The value.
    pub value: u64,
}

/// The kind of a [`Metric`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricKind {
    /// A count since the start of the process.
    Counter,
    /// A number as it is now.
    Gauge,
}

impl Metric {
    /// Creates a count since the start of the process.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: MetricKind::Counter, label: None, value }
    }

    /// Creates a number as it is now.
    pub fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, help, kind: MetricKind::Gauge, label: None, value }
    }

    /// Sets the label.
    #[must_use]
    pub fn label(mut self, name: &'static str, value: &'static str) -> Self {
        self.label = Some((name, value));
        self
    }
}
