//! Spans for calls, with the names and attributes of OpenTelemetry's semantic conventions for MCP.
//!
//! Without a collector of spans and without an observer, a call pays for two comparisons.

use std::{borrow::Cow, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Failure, Observer, Operation, Reply, Side};
use couplet_types::{CallTool, ProtocolVersion, Request, TraceContext};
use tokio::time::Instant;
use tracing::{Instrument, Span, field::Empty, info_span};

/// A call that is observed.
pub(crate) struct Watched {
    span: Span,
    observer: Option<Arc<dyn Observer>>,
    method: Cow<'static, str>,
    target: Option<String>,
    version: ProtocolVersion,
    began: Instant,
    over: bool,
}

impl Watched {
    /// Starts to observe a call, if there is an observer or a collector of spans.
    pub(crate) fn begin(observer: Option<&Arc<dyn Observer>>, call: &Call) -> Option<Self> {
        let span = match observer {
            Some(observer) => span_in_trace(&**observer, call),
            None => span_of(call),
        };
        if span.is_disabled() && observer.is_none() {
            return None;
        }
        let key = Operation::target_parameter(&call.method);
        let target: Option<String> = key.and_then(|key| call.params.read_opt(key).ok().flatten());
        if let (Some(target), Some(attribute)) = (&target, Operation::target_attribute(&call.method)) {
            span.record(attribute, target);
        }
        span.record("otel.name", Operation::span_name(&call.method, target.as_deref()));
        let (observer, method, version) = (observer.cloned(), call.method.clone(), call.peer.version);
        Some(Self { span, observer, method, target, version, began: Instant::now(), over: false })
    }

    /// Runs the call inside of its span.
    pub(crate) fn run(self, work: impl FnOnce() -> BoxFuture<'static, Reply>) -> BoxFuture<'static, Reply> {
        let running = self.span.in_scope(work);
        let span = self.span.clone();
        Box::pin(async move {
            let reply = running.instrument(span).await;
            self.done(&reply);
            reply
        })
    }

    fn done(mut self, reply: &Reply) {
        let failure = match reply {
            Reply::Error(error) => Some(Failure::answered(error.code)),
            Reply::Complete(done) if self.method == CallTool::METHOD && done.is_failed_tool() => Some(Failure::TOOL),
            _ => None,
        };
        self.end(failure.as_ref());
    }

    fn end(&mut self, failure: Option<&Failure>) {
        self.over = true;
        if let Some(failure) = failure {
            self.span.record("error.type", &*failure.class);
            self.span.record("otel.status_code", "ERROR");
            if let Some(code) = failure.code {
                self.span.record("rpc.response.status_code", code);
            }
        }
        if let Some(observer) = &self.observer {
            let duration: Duration = self.began.elapsed();
            let mut operation = Operation::new(Side::Server, &self.method, self.version, duration);
            operation.target = self.target.as_deref();
            operation.error = failure;
            observer.done(&operation);
        }
    }
}

/// Dropping a call cancels it.
impl Drop for Watched {
    fn drop(&mut self) {
        if !self.over {
            self.end(Some(&Failure::CANCELLED));
        }
    }
}

fn span_of(call: &Call) -> Span {
    info_span!(
        "mcp.server",
        "otel.name" = Empty,
        "otel.kind" = "server",
        "otel.status_code" = Empty,
        "mcp.method.name" = &*call.method,
        "mcp.protocol.version" = call.peer.version.as_str(),
        "mcp.resource.uri" = Empty,
        "jsonrpc.request.id" = %call.outbox.request(),
        "gen_ai.operation.name" = (call.method == CallTool::METHOD).then_some("execute_tool"),
        "gen_ai.tool.name" = Empty,
        "gen_ai.prompt.name" = Empty,
        "rpc.response.status_code" = Empty,
        "error.type" = Empty,
    )
}

/// The span of a call, as a part of the trace that the call names.
fn span_in_trace(observer: &dyn Observer, call: &Call) -> Span {
    let Some(trace) = call.meta().ok().and_then(|meta| TraceContext::from_meta(&meta)) else { return span_of(call) };
    let mut span = None;
    observer.incoming(&trace, &mut || span = Some(span_of(call)));
    span.unwrap_or_else(|| span_of(call))
}
