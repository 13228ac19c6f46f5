//! Watching requests from outside: what traces and measurements need to know.

use std::{borrow::Cow, fmt, time::Duration};

use couplet_types::{ProtocolVersion, TraceContext};

use crate::error::{Error, ErrorKind};

/// Somebody who watches the requests of a client or a server. Every function may be left out.
///
/// All of them are called where requests are made and answered, so none of them may take long.
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
    /// The trace that a request goes out in, if it is to say so. It is called inside the span of the request.
    fn outgoing(&self) -> Option<TraceContext> {
        None
    }

    /// A request has come in that is part of a trace. `begin` has to be called once, inside of that trace: it makes the
    /// span of the request.
    fn incoming(&self, trace: &TraceContext, begin: &mut dyn FnMut()) {
        let _ = trace;
        begin();
    }

    /// A request is over: answered, failed, or given up.
    fn done(&self, operation: &Operation<'_>) {
        let _ = operation;
    }

    /// A client's connection is over.
    fn disconnected(&self, connection: &Disconnected<'_>) {
        let _ = connection;
    }
}

impl fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// Who tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// Whoever sends the request.
    Client,
    /// Whoever answers it.
    Server,
}

/// A request that is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// Who tells.
    pub side: Side,
    /// What was asked for.
    pub method: &'a str,
    /// The name of the tool or the prompt, or the URI of the resource.
    pub target: Option<&'a str>,
    /// The revision that is spoken.
    pub version: ProtocolVersion,
    /// How bytes travel, where that is known: `pipe` or `tcp`.
    pub transport: Option<&'static str>,
    /// How long it took.
    pub duration: Duration,
    /// What went wrong, if anything did.
    pub error: Option<&'a Failure>,
}

impl<'a> Operation<'a> {
    /// A request that went well.
    pub fn new(side: Side, method: &'a str, version: ProtocolVersion, duration: Duration) -> Self {
        Self { side, method, target: None, version, transport: None, duration, error: None }
    }

    /// The attribute that the target is, by the conventions of OpenTelemetry.
    pub fn target_attribute(method: &str) -> Option<&'static str> {
        match method {
            "tools/call" => Some("gen_ai.tool.name"),
            "prompts/get" => Some("gen_ai.prompt.name"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("mcp.resource.uri"),
            _ => None,
        }
    }

    /// The parameter that says what the target is.
    pub fn target_parameter(method: &str) -> Option<&'static str> {
        Self::target_attribute(method).map(|attribute| if attribute == "mcp.resource.uri" { "uri" } else { "name" })
    }

    /// The name of a span: the method, and the tool or the prompt. A URI would make for too many names.
    pub fn span_name(method: &str, target: Option<&str>) -> String {
        match (target, Self::target_attribute(method)) {
            (Some(target), Some("gen_ai.tool.name" | "gen_ai.prompt.name")) => format!("{method} {target}"),
            _ => method.to_owned(),
        }
    }
}

/// A connection that is over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Disconnected<'a> {
    /// The revision that was spoken.
    pub version: ProtocolVersion,
    /// How bytes travelled, where that is known: `pipe` or `tcp`.
    pub transport: Option<&'static str>,
    /// How long it lasted.
    pub duration: Duration,
    /// What went wrong, if anything did.
    pub error: Option<&'a Failure>,
}

impl<'a> Disconnected<'a> {
    /// A connection that lasted for a time.
    pub fn new(version: ProtocolVersion, duration: Duration, error: Option<&'a Failure>) -> Self {
        Self { version, transport: None, duration, error }
    }
}

/// What went wrong, in the words of OpenTelemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The class of the error, `error.type`: the code of an answer, or a word.
    pub class: Cow<'static, str>,
    /// The code of the answer, `rpc.response.status_code`, if there was one.
    pub code: Option<i32>,
}

impl Failure {
    /// A tool said that it failed.
    pub const TOOL: Self = Self::of("tool_error");
    /// Nobody wanted the answer any more.
    pub const CANCELLED: Self = Self::of("cancelled");

    const fn of(class: &'static str) -> Self {
        Self { class: Cow::Borrowed(class), code: None }
    }

    /// The answer was an error.
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
            ErrorKind::Config => "config",
            ErrorKind::Rpc | ErrorKind::Other => "_OTHER",
        })
    }
}
