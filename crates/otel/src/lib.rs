//! OpenTelemetry for Couplet: traces that go on across the Model Context Protocol, and measurements.
//!
//! Clients and servers make spans of `tracing` by themselves. With an [`Otel`] they also tell each other which trace a
//! request belongs to (`traceparent`, `tracestate` and `baggage` in `_meta`), and measure how long requests and
//! connections take, with the names of the semantic conventions: `mcp.client.operation.duration`,
//! `mcp.server.operation.duration` and `mcp.client.session.duration`.
//!
//! How spans become OpenTelemetry's is up to the program: it sets up a layer of `tracing-opentelemetry`, a propagator
//! and a meter provider, and hands an [`Otel`] to `ClientBuilder::watch` and `Server::watch`.
//!
//! This crate knows OpenTelemetry. It must not know clients, servers or transports.

#![cfg_attr(docsrs, feature(doc_cfg))]

use couplet_core::{Disconnected, Failure, Operation, Side, Watch};
use couplet_types::{ProtocolVersion, TraceContext};
use opentelemetry::{
    Context, KeyValue,
    global::get_text_map_propagator,
    metrics::{Histogram, Meter},
    propagation::{Extractor, Injector},
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Watches requests for OpenTelemetry.
///
/// ```
/// use couplet_otel::Otel;
/// use opentelemetry::global;
///
/// let otel = Otel::new(&global::meter("my-program"));
/// // Client::new("my-program", "1.0.0").watch(otel.clone()), Server::new("my-program", "1.0.0").watch(otel)
/// # drop(otel);
/// ```
#[derive(Clone, Debug)]
pub struct Otel {
    client: Histogram<f64>,
    server: Histogram<f64>,
    connections: Histogram<f64>,
}

impl Otel {
    /// The limits of the buckets, in seconds, that the conventions advise.
    const SECONDS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

    /// Measures with this meter.
    pub fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, what: &'static str| {
            let buckets = Self::SECONDS.to_vec();
            meter.f64_histogram(name).with_unit("s").with_description(what).with_boundaries(buckets).build()
        };
        Self {
            client: seconds("mcp.client.operation.duration", "How long a request took, for whoever sent it."),
            server: seconds("mcp.server.operation.duration", "How long a request took, for whoever answered it."),
            connections: seconds("mcp.client.session.duration", "How long a connection lasted."),
        }
    }
}

impl Watch for Otel {
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
            // A URI would make for too many series.
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

/// What a propagator writes to and reads from.
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
            // Other formats have no place in `_meta`.
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
