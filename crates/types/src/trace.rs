//! Trace context of requests.

use crate::{
    Meta,
    meta::{is_baggage, is_trace_parent, is_trace_state},
};

/// The trace context of a request, as it is in `_meta`: W3C trace context and baggage.
///
/// ```
/// use couplet_types::{Meta, TraceContext};
///
/// let trace = TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
/// let mut meta = Meta::new();
/// trace.add_to(&mut meta);
/// assert_eq!(TraceContext::from_meta(&meta), Some(trace));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// The trace id, the parent id and flags.
    pub traceparent: String,
    /// Vendor-specific trace data.
    pub tracestate: Option<String>,
    /// Baggage: data that propagates along the trace.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// Creates a trace context without state and baggage.
    pub fn new(traceparent: impl Into<String>) -> Self {
        Self { traceparent: traceparent.into(), tracestate: None, baggage: None }
    }

    /// Parses the trace context of a request; `None` if `traceparent` is invalid. Other invalid members are ignored.
    pub fn from_meta(meta: &Meta) -> Option<Self> {
        let read = |key: &str, is_valid: fn(&str) -> bool| {
            meta.get(key).and_then(|value| value.parse::<String>().ok()).filter(|text| is_valid(text))
        };
        Some(Self {
            traceparent: read("traceparent", is_trace_parent)?,
            tracestate: read("tracestate", is_trace_state),
            baggage: read("baggage", is_baggage),
        })
    }

    /// Adds the trace context to a map, unless it has one already.
    pub fn add_to(&self, meta: &mut Meta) {
        if meta.get("traceparent").is_some() {
            return;
        }
        let members = [
            ("traceparent", Some(&self.traceparent)),
            ("tracestate", self.tracestate.as_ref()),
            ("baggage", self.baggage.as_ref()),
        ];
        for (key, value) in members {
            if let Some(value) = value {
                meta.insert(key, serde_json::Value::from(value.as_str()).into());
            }
        }
    }
}
