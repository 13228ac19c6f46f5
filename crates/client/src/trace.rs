//! Spans and observer events of requests and connections, with the names and attributes that OpenTelemetry defines for
//! MCP.
//!
//! Without a collector and an observer, a request pays for two comparisons.

use std::{sync::Arc, time::Duration};

use couplet_core::{Dialect, Error, Failure, Observer, Operation, Outcome, Side};
use couplet_types::{CallTool, ProtocolVersion, Request, RequestId, TraceContext, from_json};
use serde::Serialize;
use tokio::time::Instant;
use tracing::{Span, field::Empty, info_span};

use crate::client::Client;

/// The span of a request, and its observer.
pub(crate) struct RequestTrace {
    pub(crate) span: Span,
    observer: Option<Arc<dyn Observer>>,
    method: &'static str,
    target: Option<String>,
    version: ProtocolVersion,
    transport: Option<&'static str>,
    began: Instant,
    over: bool,
}

impl RequestTrace {
    /// Starts a span; `None` if neither a collector nor an observer needs one.
    pub(crate) fn begin(client: &Client, dialect: &Dialect, method: &'static str) -> Option<Box<Self>> {
        let span = info_span!(
            "mcp.client",
            "otel.name" = method,
            "otel.kind" = "client",
            "otel.status_code" = Empty,
            "mcp.method.name" = method,
            "mcp.protocol.version" = dialect.revision().version().as_str(),
            "mcp.resource.uri" = Empty,
            "jsonrpc.request.id" = Empty,
            "gen_ai.operation.name" = (method == CallTool::METHOD).then_some("execute_tool"),
            "gen_ai.tool.name" = Empty,
            "gen_ai.prompt.name" = Empty,
            "network.transport" = client.channel().transport(),
            "rpc.response.status_code" = Empty,
            "error.type" = Empty,
        );
        let observer = client.observer().cloned();
        if span.is_disabled() && observer.is_none() {
            return None;
        }
        let (version, transport) = (dialect.revision().version(), client.channel().transport());
        let began = Instant::now();
        Some(Box::new(Self { span, observer, method, target: None, version, transport, began, over: false }))
    }

    /// Returns the trace context to send with the request.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        let observer = self.observer.as_ref()?;
        self.span.in_scope(|| observer.outgoing())
    }

    /// Records the target of the request, such as the name of the tool. It has to precede [`RequestTrace::trace`],
    /// after which the name of a span is final.
    pub(crate) fn record_target(&mut self, params: &impl Serialize) {
        let (Some(key), Some(attribute)) =
            (Operation::target_parameter(self.method), Operation::target_attribute(self.method))
        else {
            return;
        };
        let params = serde_json::to_value(params).unwrap_or_default();
        if let Some(target) = params.get(key).and_then(|value| value.as_str()) {
            self.span.record(attribute, target);
            self.span.record("otel.name", Operation::span_name(self.method, Some(target)));
            self.target = Some(target.to_owned());
        }
    }

    /// Records the id that the request is sent with.
    pub(crate) fn record_id(&self, id: &RequestId) {
        self.span.record("jsonrpc.request.id", id.to_string());
    }

    /// Records the outcome.
    pub(crate) fn done(mut self, outcome: &Result<Outcome, Error>) {
        let failure = match outcome {
            Err(error) => Some(error.into()),
            Ok(Outcome::Complete(text)) if self.method == CallTool::METHOD && is_failed(text.as_str()) => {
                Some(Failure::TOOL)
            }
            Ok(_) => None,
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
            let mut operation = Operation::new(Side::Client, self.method, self.version, self.began.elapsed());
            operation.target = self.target.as_deref();
            operation.transport = self.transport;
            operation.error = failure;
            observer.done(&operation);
        }
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        if !self.over {
            self.end(Some(&Failure::CANCELLED));
        }
    }
}

/// Returns whether a tool result has `isError`.
fn is_failed(result: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Result {
        #[serde(rename = "isError", default)]
        is_error: bool,
    }
    from_json::<Result>(result).is_ok_and(|result| result.is_error)
}

/// Notifies the observer that a connection was closed.
pub(crate) fn disconnected(observer: &Arc<dyn Observer>, of: &ConnectionTrace, ending: &Result<(), Error>) {
    let failure = ending.as_ref().err().map(Failure::from);
    let mut connection = couplet_core::Disconnected::new(of.version, of.lasted(), failure.as_ref());
    connection.transport = of.transport;
    observer.disconnected(&connection);
}

/// A connection, as the observer sees it.
#[derive(Debug)]
pub(crate) struct ConnectionTrace {
    pub(crate) version: ProtocolVersion,
    pub(crate) transport: Option<&'static str>,
    pub(crate) since: Instant,
}

impl ConnectionTrace {
    fn lasted(&self) -> Duration {
        self.since.elapsed()
    }
}
