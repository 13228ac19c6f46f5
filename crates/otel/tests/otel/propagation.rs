//! One trace on both sides, and what is measured.

use couplet_otel::Otel;
use couplet_types::ProtocolVersion;
use opentelemetry::{global, metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_sdk::{
    metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider},
    propagation::TraceContextPropagator,
    trace::{InMemorySpanExporter, SdkTracerProvider},
};
use tracing_subscriber::layer::SubscriberExt;

use crate::{client, server, settle, talk};

#[tokio::test]
async fn a_call_and_its_answer_are_one_trace() {
    global::set_text_map_propagator(TraceContextPropagator::new());
    for &version in ProtocolVersion::ALL {
        let spans = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
        let figures = InMemoryMetricExporter::default();
        let meters = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(figures.clone()).build()).build();
        let otel = Otel::new(&meters.meter("test"));

        let client = client(version).observer(otel.clone()).connect(server().observer(otel).build()).await.unwrap();
        talk(&client).await;
        client.close().await.unwrap();
        settle().await;

        let spans = spans.get_finished_spans().unwrap();
        let named = |kind: &str, name: &str| {
            let is_it =
                |s: &&opentelemetry_sdk::trace::SpanData| format!("{:?}", s.span_kind) == kind && s.name == name;
            spans.iter().find(is_it).unwrap_or_else(|| panic!("{version}: no {kind} {name} in {spans:#?}"))
        };
        for name in ["tools/call echo", "tools/call fail", "prompts/get plan", "resources/read", "tools/list"] {
            let (asked, answered) = (named("Client", name), named("Server", name));
            assert_eq!(asked.span_context.trace_id(), answered.span_context.trace_id(), "{version} {name}");
            assert_eq!(asked.span_context.span_id(), answered.parent_span_id, "{version} {name}");
        }
        assert!(format!("{:?}", named("Server", "tools/call fail").status).contains("Error"));

        meters.force_flush().unwrap();
        let figures = format!("{:?}", figures.get_finished_metrics().unwrap());
        for name in ["mcp.client.operation.duration", "mcp.server.operation.duration", "mcp.client.session.duration"] {
            assert!(figures.contains(name), "{version}: no {name} in {figures}");
        }
        assert!(figures.contains("tool_error") && figures.contains("-32602"), "{figures}");
    }
}
