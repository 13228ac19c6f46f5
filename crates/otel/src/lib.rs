//! OpenTelemetry for Couplet: trace context propagation across MCP, and metrics.
//!
//! Clients and servers create `tracing` spans by themselves. An [`Otel`] also propagates the trace context with each
//! request (`traceparent`, `tracestate` and `baggage` in `_meta`) and records the durations of requests and
//! connections, under the names of the semantic conventions: `mcp.client.operation.duration`,
//! `mcp.server.operation.duration` and `mcp.client.session.duration`.
//!
//! Exporting is up to the program: it sets up a `tracing-opentelemetry` layer, a propagator and a meter provider, and
//! passes an [`Otel`] to `ClientBuilder::watch` and `Server::watch`.
//!
//! This crate knows OpenTelemetry. It must not know clients, servers or transports.

#![cfg_attr(docsrs, feature(doc_cfg))]

use couplet_core::{Disconnected, Failure, Observer, Operation, Side};
use couplet_types::{ProtocolVersion, TraceContext};
use opentelemetry::{
    Context, KeyValue,
    global::get_text_map_propagator,
    metrics::{Histogram, Meter},
    propagation::{Extractor, Injector},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// An observer of requests that propagates trace context and records metrics.
///
/// The propagator is the global one of the `opentelemetry` crate. Cloning is cheap: clones share the instruments.
///
/// ```
/// use couplet_otel::Otel;
/// use opentelemetry::global;
///
/// let otel = Otel::new(&global::meter("my-program"));
/// // Client::new("my-program", "1.0.0").observer(otel.clone()), Server::new("my-program", "1.0.0").observer(otel)
/// # drop(otel);
/// ```
#[derive(Clone, Debug)]
pub struct Otel {
    client: Histogram<f64>,
    server: Histogram<f64>,
    connections: Histogram<f64>,
}

impl Otel {
    /// The bucket boundaries, in seconds, that the semantic conventions advise.
    const SECONDS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

    /// Creates the instruments with this meter.
    pub fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, what: &'static str| {
            let buckets = Self::SECONDS.to_vec();
            meter.f64_histogram(name).with_unit("s").with_description(what).with_boundaries(buckets).build()
        };
        Self {
            client: seconds("mcp.client.operation.duration", "Duration of a request, seen by its sender."),
            server: seconds("mcp.server.operation.duration", "Duration of a request, seen by its receiver."),
            connections: seconds("mcp.client.session.duration", "Duration of a connection."),
        }
    }
}

impl Observer for Otel {
    fn outgoing(&self) -> Option<TraceContext> {
        let mut carrier = Carrier::default();
        get_text_map_propagator(|p| p.inject_context(&Span::current().context(), &mut carrier));
        carrier.into_trace()
    }

    fn incoming(&self, trace: &TraceContext, begin: &mut dyn FnMut()) {
        let parent = get_text_map_propagator(|p| p.extract_with_context(&Context::current(), &Carrier::from(trace)));
        let _inside = parent.attach();
        begin();
    }

    fn done(&self, operation: &Operation<'_>) {
        let mut attributes = attributes(operation.version, operation.transport, operation.error);
        attributes.push(KeyValue::new("mcp.method.name", operation.method.to_owned()));
        match (Operation::target_attribute(operation.method), operation.target) {
            // Resource URIs are unbounded: as an attribute they would create too many time series.
            (Some(attribute), Some(target)) if attribute != "mcp.resource.uri" => {
                attributes.push(KeyValue::new(attribute, target.to_owned()));
            }
            _ => {}
        }
        let histogram = if operation.side == Side::Client { &self.client } else { &self.server };
        histogram.record(operation.duration.as_secs_f64(), &attributes);
    }

    fn disconnected(&self, connection: &Disconnected<'_>) {
        let attributes = attributes(connection.version, connection.transport, connection.error);
        self.connections.record(connection.duration.as_secs_f64(), &attributes);
    }
}

fn attributes(version: ProtocolVersion, transport: Option<&'static str>, error: Option<&Failure>) -> Vec<KeyValue> {
    let mut all = vec![KeyValue::new("mcp.protocol.version", version.as_str())];
    all.extend(transport.map(|transport| KeyValue::new("network.transport", transport)));
    if let Some(Failure { class, code, .. }) = error {
        all.push(KeyValue::new("error.type", class.to_string()));
        all.extend(code.map(|code| KeyValue::new("rpc.response.status_code", code.to_string())));
    }
    all
}

/// The carrier that a propagator injects into and extracts from.
#[derive(Debug, Default)]
struct Carrier {
    parent: Option<String>,
    state: Option<String>,
    baggage: Option<String>,
}

impl Carrier {
    fn into_trace(self) -> Option<TraceContext> {
        let mut trace = TraceContext::new(self.parent?);
        trace.tracestate = self.state.filter(|state| !state.is_empty());
        trace.baggage = self.baggage.filter(|baggage| !baggage.is_empty());
        Some(trace)
    }
}

impl From<&TraceContext> for Carrier {
    fn from(trace: &TraceContext) -> Self {
        let TraceContext { traceparent, tracestate, baggage, .. } = trace.clone();
        Self { parent: Some(traceparent), state: tracestate, baggage }
    }
}

impl Injector for Carrier {
    fn set(&mut self, key: &str, value: String) {
        match key {
            "traceparent" => self.parent = Some(value),
            "tracestate" => self.state = Some(value),
            "baggage" => self.baggage = Some(value),
            // Other propagation formats have no place in `_meta`.
            _ => {}
        }
    }
}

impl Extractor for Carrier {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.parent.as_deref(),
            "tracestate" => self.state.as_deref(),
            "baggage" => self.baggage.as_deref(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        ["traceparent", "tracestate", "baggage"].into_iter().filter(|key| self.get(key).is_some()).collect()
    }
}
