//! Telemetry: observing requests for traces and metrics.

use std::{borrow::Cow, fmt, time::Duration};

use couplet_types::{ProtocolVersion, TraceContext};

use crate::{
    error::{Error, ErrorKind},
    wire::method::{CallTarget, Method},
};

/// An observer of the requests of a client or a server. Every method has a default.
///
/// The methods run on the request path and must return quickly.
///
/// ```
/// use couplet_core::{Operation, Observer};
///
/// struct Slow;
///
/// impl Observer for Slow {
///     fn done(&self, operation: &Operation<'_>) {
///         if operation.duration.as_secs() > 1 {
///             let (method, target) = (operation.method, operation.target.unwrap_or_default());
///             assert!(operation.error.is_some(), "{method} {target} takes long");
///         }
///     }
/// }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Returns the trace context to send with a request. Called inside the span of the request.
    fn outgoing(&self) -> Option<TraceContext> {
        None
    }

    /// Called for a request that carries a trace context. `begin` must be called once, inside that trace: it creates the
    /// span of the request.
    fn incoming(&self, trace: &TraceContext, begin: &mut dyn FnMut()) {
        let _ = trace;
        begin();
    }

    /// Called when a request completed, failed or was cancelled.
    fn done(&self, operation: &Operation<'_>) {
        let _ = operation;
    }

    /// Called when the connection of a client closed.
    fn disconnected(&self, connection: &Disconnected<'_>) {
        let _ = connection;
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The side that observes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// The side that sends the request.
    Client,
    /// The side that handles the request.
    Server,
}

/// A finished request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// The side that observes.
    pub side: Side,
    /// The method.
    pub method: &'a str,
    /// The name of the tool or the prompt, or the URI of the resource.
    pub target: Option<&'a str>,
    /// The negotiated revision.
    pub version: ProtocolVersion,
    /// The network transport, if known: `pipe` or `tcp`.
    pub transport: Option<&'static str>,
    /// The duration.
    pub duration: Duration,
    /// The failure, if it failed.
    pub error: Option<&'a Failure>,
}

impl<'a> Operation<'a> {
    /// Creates a request that succeeded.
    pub fn new(side: Side, method: &'a str, version: ProtocolVersion, duration: Duration) -> Self {
        Self { side, method, target: None, version, transport: None, duration, error: None }
    }

    /// Returns the OpenTelemetry attribute of a method's target.
    pub fn target_attribute(method: &str) -> Option<&'static str> {
        target(method).map(CallTarget::attribute)
    }

    /// Returns the parameter that holds a method's target.
    pub fn target_parameter(method: &str) -> Option<&'static str> {
        target(method).map(CallTarget::parameter)
    }

    /// Returns the span name: the method, and the tool or prompt. URIs are left out, as they have too many values.
    pub fn span_name(method: &str, target: Option<&str>) -> String {
        match (target, self::target(method)) {
            (Some(target), Some(CallTarget::Tool | CallTarget::Prompt)) => format!("{method} {target}"),
            _ => method.to_owned(),
        }
    }
}

fn target(method: &str) -> Option<CallTarget> {
    Method::named(method)?.target
}

/// A closed connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Disconnected<'a> {
    /// The negotiated revision.
    pub version: ProtocolVersion,
    /// The network transport, if known: `pipe` or `tcp`.
    pub transport: Option<&'static str>,
    /// The duration.
    pub duration: Duration,
    /// The failure, if it failed.
    pub error: Option<&'a Failure>,
}

impl<'a> Disconnected<'a> {
    /// Creates a closed connection.
    pub fn new(version: ProtocolVersion, duration: Duration, error: Option<&'a Failure>) -> Self {
        Self { version, transport: None, duration, error }
    }
}

/// A failure in the terms of OpenTelemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// `error.type`: the code of the JSON-RPC error, or a word.
    pub class: Cow<'static, str>,
    /// `rpc.response.status_code`: the code of the JSON-RPC error, if there was one.
    pub code: Option<i32>,
}

impl Failure {
    /// The tool result has `isError`.
    pub const TOOL: Self = Self::of("tool_error");
    /// The request was cancelled.
    pub const CANCELLED: Self = Self::of("cancelled");

    const fn of(class: &'static str) -> Self {
        Self { class: Cow::Borrowed(class), code: None }
    }

    /// Creates the failure for a JSON-RPC error.
    pub fn answered(code: i32) -> Self {
        Self { class: code.to_string().into(), code: Some(code) }
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        if let Some(error) = error.rpc() {
            return Self::answered(error.code);
        }
        Self::of(match error.kind() {
            ErrorKind::Closed => "closed",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Protocol => "protocol",
            ErrorKind::Transport => "transport",
            ErrorKind::Auth => "auth",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Version => "version",
            ErrorKind::Callback => "callback",
            ErrorKind::Tool => return Self::TOOL,
            ErrorKind::Config => "config",
            ErrorKind::Rpc | ErrorKind::Other => "_OTHER",
        })
    }
}
