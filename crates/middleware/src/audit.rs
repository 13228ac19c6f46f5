//! Records of calls.

use std::{fmt, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, Reply};
use couplet_server::{Middleware, Next};
use tokio::time::Instant;

use crate::{names::target, shape::shape};

/// Records each call: which caller, which tool, resource or prompt, the shape of the arguments, the outcome, the time.
///
/// Values of arguments are left out unless they are [asked for](Audit::values): they may be secrets. A call that is
/// cancelled is recorded, too.
///
/// ```
/// use couplet_middleware::{Audit, AuditRecord};
/// use couplet_server::Server;
///
/// let audit = Audit::new(|record: &AuditRecord| {
///     println!("{:?} called {:?} with {}", record.principal, record.target, record.arguments);
/// });
/// let server: Server = Server::new("app", "1.0.0").middleware(audit);
/// # drop(server);
/// ```
#[derive(Clone)]
pub struct Audit {
    record: Arc<dyn Fn(&AuditRecord) + Send + Sync>,
    values: bool,
}

/// One call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AuditRecord {
    /// The method.
    pub method: String,
    /// The name of the tool or prompt, or the URI of the resource.
    pub target: Option<String>,
    /// The principal of the authenticated caller.
    pub principal: Option<String>,
    /// The name and version that the client reports. Do not trust it.
    pub client: Option<String>,
    /// The shape of the arguments, such as `{city: string(4)}`; the arguments themselves with [`Audit::values`]. Empty for
    /// requests without arguments.
    pub arguments: String,
    /// The outcome.
    pub outcome: AuditOutcome,
    /// The time until the reply.
    pub time: Duration,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditOutcome {
    /// A result.
    Succeeded,
    /// A failed tool (`isError`).
    ToolFailed,
    /// A JSON-RPC error with this code.
    Error(i32),
    /// The server requires input; the client retries with it.
    InputRequired,
    /// The call was dropped before its end: cancelled, or the connection was lost.
    Cancelled,
}

impl Audit {
    /// Creates middleware that calls a function for each call. The function must not block.
    pub fn new(record: impl Fn(&AuditRecord) + Send + Sync + 'static) -> Self {
        Self { record: Arc::new(record), values: false }
    }

    /// Creates middleware that logs each call with `tracing`, at the level `info`, with the target `couplet::audit`.
    pub fn tracing() -> Self {
        Self::new(|record| {
            tracing::info!(
                target: "couplet::audit",
                method = record.method,
                name = record.target,
                principal = record.principal,
                client = record.client,
                arguments = record.arguments,
                outcome = ?record.outcome,
                ms = u64::try_from(record.time.as_millis()).unwrap_or(u64::MAX),
                "call"
            );
        })
    }

    /// Records the values of arguments, which may be secrets or long.
    #[must_use]
    pub fn values(mut self) -> Self {
        self.values = true;
        self
    }

    fn begin(&self, call: &Call) -> Running {
        let arguments = match call.params.get("arguments") {
            None => String::new(),
            Some(arguments) if self.values => arguments.as_str().to_owned(),
            Some(arguments) => shape(&arguments),
        };
        let record = AuditRecord {
            method: call.method.to_string(),
            target: target(call),
            principal: call.principal().map(str::to_owned),
            client: call.peer.info.as_ref().map(|info| format!("{} {}", info.name, info.version)),
            arguments,
            outcome: AuditOutcome::Cancelled,
            time: Duration::ZERO,
        };
        Running { audit: self.clone(), record, started: Instant::now() }
    }
}

/// A call that is recorded when this is dropped.
struct Running {
    audit: Audit,
    record: AuditRecord,
    started: Instant,
}

impl Running {
    fn ended(&mut self, reply: &Reply) {
        self.record.outcome = match reply {
            Reply::Complete(body) if body.is_failed_tool() => AuditOutcome::ToolFailed,
            Reply::Error(error) => AuditOutcome::Error(error.code),
            Reply::InputRequired { .. } => AuditOutcome::InputRequired,
            _ => AuditOutcome::Succeeded,
        };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.record.time = self.started.elapsed();
        (self.audit.record)(&self.record);
    }
}

impl Middleware for Audit {
    fn handle(&self, call: Call, next: Next) -> BoxFuture<'static, Reply> {
        let mut running = self.begin(&call);
        Box::pin(async move {
            let reply = next.run(call).await;
            running.ended(&reply);
            reply
        })
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audit").field("values", &self.values).finish_non_exhaustive()
    }
}
