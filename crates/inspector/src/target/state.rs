//! What is known about a target.

use couplet_client::ServerInfo;
use couplet_types::{Implementation, ProtocolVersion};
use serde::Serialize;
use serde_json::{Value, json};

use crate::place::PlaceKind;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    Connecting,
    /// A connection waits for the user to log in.
    Login,
    Connected,
    /// The connection was lost, and is tried again.
    Reconnecting,
    /// It is over, and that is in order.
    Ended,
    /// It could not be made, or was lost too often.
    Failed,
}

/// The state of a target, as the page gets it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct TargetState {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The target as the user wrote it.
    pub(crate) target: String,
    pub(crate) kind: PlaceKind,
    #[serde(rename = "state")]
    pub(crate) phase: Phase,
    /// A sentence about the phase.
    pub(crate) detail: String,
    pub(crate) revision: Option<String>,
    /// The revision that the user wants.
    pub(crate) asked: String,
    pub(crate) server: Option<Implementation>,
    pub(crate) transport: &'static str,
    pub(crate) latency_ms: Option<f64>,
    /// The time until the next attempt.
    pub(crate) retry_ms: Option<u64>,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
    /// The names of the headers that the user has set.
    pub(crate) headers: Vec<String>,
    /// Whether requests have the token of a login.
    pub(crate) has_login: bool,
}

impl TargetState {
    pub(crate) fn new(id: &str, name: String, target: String, kind: PlaceKind) -> Self {
        let transport = match kind {
            PlaceKind::Url => "http",
            PlaceKind::Recording => "recording",
            _ => "stdio",
        };
        Self {
            id: id.to_owned(),
            name,
            target,
            kind,
            phase: Phase::Connecting,
            detail: String::new(),
            revision: None,
            asked: AUTO.to_owned(),
            server: None,
            transport,
            latency_ms: None,
            retry_ms: None,
            capabilities: json!({}),
            instructions: None,
            headers: Vec::new(),
            has_login: false,
        }
    }

    /// Sets the phase, and the sentence about it.
    pub(crate) fn enter(&mut self, phase: Phase, detail: impl Into<String>) {
        (self.phase, self.detail, self.retry_ms) = (phase, detail.into(), None);
    }

    /// Takes over what a server has said about itself.
    pub(crate) fn met(&mut self, server: &ServerInfo) {
        self.revision = Some(server.version.as_str().to_owned());
        self.server.clone_from(&server.info);
        self.capabilities = json!(server.capabilities);
        self.instructions.clone_from(&server.instructions);
    }
}

/// The wish for the best revision that both sides support.
const AUTO: &str = "auto";

/// Parses the revision that the user wants.
///
/// # Errors
/// A sentence with those that exist.
pub(crate) fn asked(text: Option<&str>) -> Result<Option<ProtocolVersion>, String> {
    match text {
        None | Some("" | AUTO) => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            let all: Vec<_> = ProtocolVersion::ALL.iter().map(|version| version.as_str()).collect();
            format!("there is no revision `{text}`; expected auto, {}", all.join(", "))
        }),
    }
}

/// The name of a wish.
pub(crate) fn asked_name(revision: Option<ProtocolVersion>) -> String {
    revision.map_or(AUTO, ProtocolVersion::as_str).to_owned()
}
