//! How a client speaks once both sides have agreed on a revision.

use couplet_types::{
    ClientCapabilities, HasMeta, Implementation, LoggingLevel, ProtocolVersion, Request, RequestId, RpcError,
};
use serde::Serialize;

use crate::{
    error::{Error, ErrorKind},
    exchange::Outgoing,
    json::JsonText,
    wire::{self, Outcome, append_members, method, modern::Identity, project::Project, revision::Shape, to_json},
};

/// A client's way to write requests and to read results in one revision.
#[derive(Clone, Debug)]
pub struct Dialect {
    shape: Shape,
    identity: Identity,
}

/// What a request carries beside its parameters.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Extras {
    /// Whether progress is wanted.
    pub progress: bool,
    /// Answers to the questions of an earlier round.
    pub answers: Vec<(String, JsonText)>,
    /// What the server gave in that round.
    pub state: Option<String>,
}

impl Dialect {
    /// A client's voice in a revision.
    pub fn new(version: ProtocolVersion, info: Implementation, mut capabilities: ClientCapabilities) -> Self {
        let shape = Shape::of(version);
        let mut info = info;
        info.project(shape);
        capabilities.project(shape);
        Self { shape, identity: Identity { version, info: Some(info), capabilities, log_level: None } }
    }

    /// Asks for log messages from a level on, where a request says so itself.
    pub fn set_log_level(&mut self, level: Option<LoggingLevel>) {
        self.identity.log_level = level;
    }

    /// How messages look.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether a session is opened by a handshake; if not, every request stands alone.
    pub fn has_session(&self) -> bool {
        self.shape.0.codec.has_handshake()
    }

    /// Writes a request.
    ///
    /// # Errors
    /// When the revision has no such method, or the parameters cannot be written.
    pub fn request<R: Request>(&self, id: RequestId, params: R::Params, extras: &Extras) -> Result<Outgoing, Error>
    where
        R::Params: Project,
    {
        let known = method::client_request(R::METHOD, self.shape.0).is_some();
        if !known && method::REQUESTS.iter().any(|m| m.name == R::METHOD) {
            let what = format!("revision {} has no method `{}`", self.shape.version(), R::METHOD);
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let mut params = params;
        params.project(self.shape);
        let meta = params.meta_mut().take();
        let token = extras.progress.then_some(&id);
        let meta = self.shape.0.codec.request_meta(meta.as_ref(), token, &self.identity);
        let mut text = b"{".to_vec();
        if meta != b"{}" {
            text.extend_from_slice(br#""_meta":"#);
            text.extend_from_slice(&meta);
        }
        append_members(&mut text, &to_json(&params));
        write_round(&mut text, extras);
        text.push(b'}');
        Ok(Outgoing { id, method: R::METHOD, params: text.into() })
    }

    /// Reads what came back.
    ///
    /// # Errors
    /// When the result is of a kind that is not known.
    pub fn outcome(&self, result: JsonText) -> Result<Outcome, Error> {
        self.shape.0.codec.outcome(result).map_err(|what| Error::new(ErrorKind::Protocol, what))
    }

    /// What a result says about the server, where results do.
    pub fn server_info(&self, result: &JsonText) -> Option<Implementation> {
        wire::modern::server_info(result)
    }

    /// Writes a notification.
    pub fn notification<P: Serialize>(&self, method: &str, params: &P) -> bytes::Bytes {
        wire::notification(method, &to_json(params))
    }

    /// Prints the answer to a question of the server, for this revision.
    ///
    /// # Errors
    /// When the value cannot be written in this revision.
    pub fn answer<T: Project + Serialize>(&self, mut answer: T) -> Result<JsonText, RpcError> {
        answer.project(self.shape);
        Ok(JsonText::trusted(to_json(&answer).into()))
    }
}

fn write_round(text: &mut Vec<u8>, extras: &Extras) {
    for (at, (key, answer)) in extras.answers.iter().enumerate() {
        if at == 0 {
            if text.last() != Some(&b'{') {
                text.push(b',');
            }
            text.extend_from_slice(br#""inputResponses":{"#);
        } else {
            text.push(b',');
        }
        wire::write_json(text, key);
        text.push(b':');
        text.extend_from_slice(answer.as_bytes());
    }
    if !extras.answers.is_empty() {
        text.push(b'}');
    }
    if let Some(state) = &extras.state {
        if text.last() != Some(&b'{') {
            text.push(b',');
        }
        text.extend_from_slice(br#""requestState":"#);
        wire::write_json(text, state);
    }
}
