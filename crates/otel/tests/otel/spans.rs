//! The spans of `tracing`, and the calls of an observer.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{Arc, Mutex},
};

use couplet_core::{Disconnected, Observer, Operation, Side};
use couplet_types::{Meta, ProtocolVersion, TraceContext};
use serde_json::json;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt, registry::LookupSpan};

use crate::{client, server, settle, talk};

type Fields = BTreeMap<&'static str, String>;

/// A span's id, its name and what it says.
type Span = (Id, &'static str, Fields);

/// Collects spans.
#[derive(Clone, Default)]
struct Collect(Arc<Mutex<Vec<Span>>>);

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collect {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut fields = Fields::new();
        attributes.record(&mut Reader(&mut fields));
        self.0.lock().unwrap().push((id.clone(), attributes.metadata().name(), fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.0.lock().unwrap();
        let span = spans.iter_mut().rev().find(|(other, ..)| other == id).unwrap();
        values.record(&mut Reader(&mut span.2));
    }
}

impl Collect {
    /// The spans of one side, by their names, without what every one of them has.
    fn of(&self, side: &str, version: ProtocolVersion) -> Vec<(String, String)> {
        let spans = self.0.lock().unwrap();
        let ours = spans.iter().filter(|(_, name, _)| *name == format!("mcp.{side}"));
        ours.map(|(_, _, fields)| {
            let mut fields = fields.clone();
            assert_eq!(fields.remove("otel.kind").unwrap(), side);
            assert_eq!(fields.remove("mcp.protocol.version").unwrap(), version.as_str());
            assert!(fields.remove("jsonrpc.request.id").is_some(), "{fields:?}");
            let (name, method) = (fields.remove("otel.name").unwrap(), fields.remove("mcp.method.name").unwrap());
            assert!(name.starts_with(&method));
            let rest: Vec<_> = fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
            (name, rest.join(" "))
        })
        .collect()
    }
}

fn tool(name: &str, more: &str) -> (String, String) {
    let (before, after) =
        if more.is_empty() { (String::new(), "") } else { (format!("{more} "), " otel.status_code=ERROR") };
    let code = more.strip_prefix("error.type=").filter(|class| class.starts_with('-'));
    let code = code.map(|code| format!(" rpc.response.status_code={code}")).unwrap_or_default();
    let fields = format!("{before}gen_ai.operation.name=execute_tool gen_ai.tool.name={name}{after}{code}");
    (format!("tools/call {name}"), fields)
}

#[tokio::test]
async fn both_sides_make_spans_in_every_revision() {
    let expected = [
        tool("echo", ""),
        tool("fail", "error.type=tool_error"),
        tool("missing", "error.type=-32602"),
        ("prompts/get plan".into(), "gen_ai.prompt.name=plan".into()),
        ("resources/read".into(), "mcp.resource.uri=a://b".into()),
        ("tools/list".into(), String::new()),
        tool("stuck", "error.type=cancelled"),
    ];
    for &version in ProtocolVersion::ALL {
        let collect = Collect::default();
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(collect.clone()));
        let client = client(version).connect(server().build()).await.unwrap();
        talk(&client).await;
        assert_eq!(collect.of("client", version), expected, "{version}");
        assert_eq!(collect.of("server", version), expected, "{version}");
    }
}

/// An observer that propagates a trace context.
#[derive(Clone, Default)]
struct Watcher(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    done: Vec<(Side, String, Option<String>)>,
    traces: Vec<TraceContext>,
    connections: usize,
}

fn trace() -> TraceContext {
    let mut trace = TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
    (trace.tracestate, trace.baggage) = (Some("a=b".into()), Some("user=ann".into()));
    trace
}

impl Observer for Watcher {
    fn outgoing(&self) -> Option<TraceContext> {
        Some(trace())
    }

    fn incoming(&self, trace: &TraceContext, begin: &mut dyn FnMut()) {
        self.0.lock().unwrap().traces.push(trace.clone());
        begin();
    }

    fn done(&self, operation: &Operation<'_>) {
        let name = Operation::span_name(operation.method, operation.target);
        let error = operation.error.map(|e| e.class.to_string());
        self.0.lock().unwrap().done.push((operation.side, name, error));
    }

    fn disconnected(&self, connection: &Disconnected<'_>) {
        assert!(connection.error.is_none());
        self.0.lock().unwrap().connections += 1;
    }
}

#[tokio::test]
async fn an_observer_is_called_without_spans() {
    for &version in ProtocolVersion::ALL {
        let (near, far) = (Watcher::default(), Watcher::default());
        let client =
            client(version).observer(near.clone()).connect(server().observer(far.clone()).build()).await.unwrap();
        talk(&client).await;
        let own = TraceContext::new("00-1af7651916cd43dd8448eb211c80319c-10f067aa0ba902b7-00");
        let mut meta = Meta::new().with("mine", json!(1));
        own.add_to(&mut meta);
        client.call("echo", ()).meta(meta).await.unwrap();
        client.close().await.unwrap();
        settle().await;
        let (near, far) = (near.0.lock().unwrap(), far.0.lock().unwrap());
        let told = |side| {
            [
                ("tools/call echo", None),
                ("tools/call fail", Some("tool_error")),
                ("tools/call missing", Some("-32602")),
                ("prompts/get plan", None),
                ("resources/read", None),
                ("tools/list", None),
                ("tools/call stuck", Some("cancelled")),
                ("tools/call echo", None),
            ]
            .map(|(name, error)| (side, name.to_owned(), error.map(str::to_owned)))
        };
        assert_eq!(near.done, told(Side::Client), "{version}");
        assert_eq!(far.done, told(Side::Server), "{version}");
        assert_eq!(near.connections, 1);
        assert_eq!(far.traces.len(), far.done.len());
        assert!(far.traces[..7].iter().all(|seen| *seen == trace()), "{version}: {:?}", far.traces);
        assert_eq!(far.traces[7], own, "what the program says itself stays");
    }
}
