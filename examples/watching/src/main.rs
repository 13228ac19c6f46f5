//! An observer of requests on both sides: their durations, outcomes and traces. With OpenTelemetry, `couplet-otel` does
//! this; `tracing` spans exist without either.

use std::sync::{Arc, Mutex};

use couplet::{
    core::{Observer, Operation},
    prelude::*,
    types::TraceContext,
};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Observer for Log {
    /// Returns the trace of an outgoing request, which is sent in `_meta`.
    fn outgoing(&self) -> Option<TraceContext> {
        Some(TraceContext::new("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"))
    }

    /// Receives the trace of an incoming request, in which its span is created.
    fn incoming(&self, trace: &TraceContext, begin: &mut dyn FnMut()) {
        self.0.lock().expect("the lock is not poisoned").push(format!("a part of {}", &trace.traceparent[3..11]));
        begin();
    }

    fn done(&self, operation: &Operation<'_>) {
        let name = Operation::span_name(operation.method, operation.target);
        let how = operation.error.map_or("ok", |error| &error.class);
        println!("{:?}: {name} took {:?}: {how}", operation.side, operation.duration);
        self.0.lock().expect("the lock is not poisoned").push(format!("{:?} {name}: {how}", operation.side));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let log = Log::default();
    let server = Server::new("greeter", "1.0.0").tool(tool("hello", || "Hello!")).observer(log.clone()).build();
    let client = Client::new("demo", "1.0.0").observer(log.clone()).connect(server).await?;
    client.call("hello", ()).await?.into_result()?;
    client.call("goodbye", ()).await.unwrap_err();
    assert_eq!(
        *log.0.lock().expect("the lock is not poisoned"),
        [
            "a part of 0af76519",
            "Server tools/call hello: ok",
            "Client tools/call hello: ok",
            "a part of 0af76519",
            "Server tools/call goodbye: -32602",
            "Client tools/call goodbye: -32602",
        ]
    );
    client.close().await
}
