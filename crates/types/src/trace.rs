//! The trace that a request belongs to.

use crate::{
    Meta,
    meta::{is_baggage, is_trace_parent, is_trace_state},
};

/// The trace that a request is a part of, as `_meta` carries it: the trace context and the baggage of the W3C.
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
    /// The trace, the part of it that sends the request, and flags.
    pub traceparent: String,
    /// What the systems that trace tell each other.
    pub tracestate: Option<String>,
    /// What the program wants everybody on the way to know.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// A trace without anything else.
    pub fn new(traceparent: impl Into<String>) -> Self {
        Self { traceparent: traceparent.into(), tracestate: None, baggage: None }
    }

    /// The trace that a request names, if it has the form that it must have. Members that do not are left out.
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

    /// Adds it to a map. What is there already stays.
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
