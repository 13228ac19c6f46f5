//! The interface to the program: where targets are, and what can be done with them beside calls.

use std::{collections::BTreeMap, sync::Arc};

use couplet_client::ClientBuilder;
use couplet_core::{BoxFuture, Connect, Error, Service};
use couplet_types::{ProtocolVersion, RawJson};
use http::{Request, Response};
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{body::Body, tap::Tap};

/// The kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum PlaceKind {
    /// A command that is started.
    Command,
    /// A URL.
    Url,
    /// A file with recorded messages.
    Recording,
    /// The messages between a host and a server.
    Tap,
}

/// A client, and the connector for it.
pub struct Opening {
    /// The client, with its timeouts and limits.
    pub client: ClientBuilder,
    /// The server.
    pub server: Box<dyn Connect>,
}

impl std::fmt::Debug for Opening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opening").field("client", &self.client).finish_non_exhaustive()
    }
}

/// A server that can be connected to, any number of times.
///
/// Errors are sentences for the user.
pub trait Place: Send + Sync + 'static {
    /// Returns a short name for the server.
    fn name(&self) -> String;

    /// Returns the target as the user wrote it, without secrets.
    fn target(&self) -> String;

    /// Returns the kind.
    fn kind(&self) -> PlaceKind;

    /// Returns the names of the headers that the user has set for requests.
    fn headers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether requests have the token of a login.
    fn has_login(&self) -> bool {
        false
    }

    /// Prepares a connection, in one revision or in the best one that both sides support. Everything that happens on it is
    /// reported to `tap`.
    ///
    /// # Errors
    /// If the settings of the connection are invalid.
    fn open(&self, revision: Option<ProtocolVersion>, tap: &Tap) -> Result<Opening, String>;

    /// Explains why a connection could not be made, or was lost.
    fn explain(&self, error: &Error) -> String {
        error.to_string()
    }

    /// Checks the server with the lint rules, on connections of its own.
    fn lint(&self) -> BoxFuture<'static, Result<Vec<Value>, String>> {
        Box::pin(std::future::ready(Err("lint is not available here".to_owned())))
    }

    /// Measures the server, on a connection of its own. Intermediate results go to `progress`; the last one is returned.
    /// Dropping the future ends the measurement.
    fn bench(&self, order: BenchOrder, progress: mpsc::Sender<Value>) -> BoxFuture<'static, Result<Value, String>> {
        let _ = (order, progress);
        Box::pin(std::future::ready(Err("measurements are not available here".to_owned())))
    }

    /// Returns the steps of the login so far.
    fn login(&self) -> Login {
        Login::default()
    }

    /// Starts a login in the browser: deletes the stored one, and opens the page at the next connection.
    fn log_in(&self) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(std::future::ready(Err("this target has no login".to_owned())))
    }
}

/// What to measure.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct BenchOrder {
    /// The tool to call; without one, `tools/list` is requested.
    pub tool: Option<String>,
    /// The arguments of the tool.
    #[serde(default)]
    pub arguments: BTreeMap<String, RawJson>,
    /// The number of requests in flight.
    #[serde(default = "four")]
    pub concurrency: usize,
    /// The duration in seconds.
    pub seconds: Option<f64>,
    /// The number of requests.
    pub calls: Option<u64>,
    /// The revision that the user has chosen for the target; `None` for the best one.
    #[serde(skip)]
    pub revision: Option<ProtocolVersion>,
}

fn four() -> usize {
    4
}

/// The login of a target.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Login {
    /// The requests that were made for it.
    pub steps: Vec<LoginStep>,
    /// The page on which the user logs in, while the login waits for it.
    pub authorize_url: Option<String>,
}

impl Login {
    /// Creates a login from its steps.
    pub fn new(steps: Vec<LoginStep>, authorize_url: Option<String>) -> Self {
        Self { steps, authorize_url }
    }
}

/// A request of a login.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoginStep {
    /// The document or endpoint.
    pub title: String,
    /// The URL, without secrets.
    pub url: String,
    /// The status; absent for a step without a response.
    pub status: Option<u16>,
    /// The parameters that were sent, without secrets.
    pub sent: Option<Value>,
    /// The content of the response, without secrets.
    pub body: Option<Value>,
    /// What it means.
    pub note: String,
}

/// Resolves targets: a URL, a command, a file, the name of a configured server. Both functions may block.
pub trait Find: Send + Sync + 'static {
    /// Resolves a text.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    fn find(&self, text: &str) -> Result<Arc<dyn Place>, String>;

    /// Returns the servers that are configured in hosts on this machine.
    ///
    /// # Errors
    /// If they cannot be read.
    fn known(&self) -> Result<Vec<KnownServer>, String>;
}

/// A server that is configured in a host.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct KnownServer {
    /// The id of the host.
    pub host: String,
    /// The name of the server in the host.
    pub name: String,
    /// The command or URL, without secrets.
    pub target: String,
    /// The configuration file.
    pub file: String,
}

impl KnownServer {
    /// Creates an entry.
    pub fn new(
        host: impl Into<String>,
        name: impl Into<String>,
        target: impl Into<String>,
        file: impl Into<String>,
    ) -> Self {
        Self { host: host.into(), name: name.into(), target: target.into(), file: file.into() }
    }
}

/// An HTTP endpoint for a service. The program provides it, so that this crate does not depend on `couplet-http`, which
/// embeds the page itself.
pub trait Mounted: Send + Sync + 'static {
    /// Answers a request.
    fn respond(&self, request: Request<Incoming>) -> BoxFuture<'static, Response<Body>>;

    /// Ends open streams; new requests are refused.
    fn shut_down(&self);
}

/// Creates an endpoint for a service.
pub(crate) type Mount = Arc<dyn Fn(Arc<dyn Service>) -> Arc<dyn Mounted> + Send + Sync>;
