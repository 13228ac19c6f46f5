//! OpenTelemetry: the trace of a client goes on in the server, and durations are metrics. The exporters are in memory here; a
//! program of yours uses those of `opentelemetry-otlp`.

use couplet::{otel::Otel, prelude::*};
use opentelemetry::{global, metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_sdk::{
    metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider},
    propagation::TraceContextPropagator,
    trace::{InMemorySpanExporter, SdkTracerProvider},
};
use tracing_subscriber::layer::SubscriberExt;

/// Greets.
#[tool]
fn hello() -> &'static str {
    "Hello!"
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    global::set_text_map_propagator(TraceContextPropagator::new());
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(tracers.tracer("demo"));
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let metrics = InMemoryMetricExporter::default();
    let meters = SdkMeterProvider::builder().with_reader(PeriodicReader::builder(metrics.clone()).build()).build();

    let otel = Otel::new(&meters.meter("demo"));
    let server = Server::new("greeter", "1.0.0").tool(hello).observer(otel.clone()).build();
    let client = Client::new("demo", "1.0.0").observer(otel).connect(server).await?;
    client.call("hello", ()).await?.into_result()?;
    client.close().await?;
    for _ in 0..50 {
        tokio::task::yield_now().await; // both sides end their spans
    }

    let spans = spans.get_finished_spans()?;
    let calls: Vec<_> = spans.iter().filter(|span| span.name == "tools/call hello").collect();
    let [server, client] = &calls[..] else { panic!("one span on each side: {calls:?}") };
    assert_eq!(server.span_context.trace_id(), client.span_context.trace_id());
    println!("one trace: {}", server.span_context.trace_id());

    meters.force_flush()?;
    let metrics = format!("{:?}", metrics.get_finished_metrics()?);
    assert!(metrics.contains("mcp.server.operation.duration"));
    Ok(())
}
