//! How a client speaks once both sides have agreed on a revision.

use std::borrow::Cow;

use couplet_types::{
    ClientCapabilities, HasMeta, Implementation, LoggingLevel, Meta, ProtocolVersion, Request, RequestId, RpcError,
    ServerCapabilities, TraceContext,
};
use serde::Serialize;

use crate::{
    client::exchange::Outgoing,
    error::{Error, ErrorKind},
    message::{Params, scan::JsonText},
    wire::{
        self, Outcome, method,
        modern::{self, Identity},
        project::Project,
        revision::Revision,
        separate, to_json,
    },
};

/// A client's way to write requests and to read results in one revision.
#[derive(Clone, Debug)]
pub struct Dialect {
    revision: Revision,
    identity: Identity,
}

/// What a request carries beside its parameters.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RequestOptions {
    /// Whether progress is wanted.
    pub progress: bool,
    /// Answers to the questions of an earlier round.
    pub answers: Vec<(String, JsonText)>,
    /// What the server gave in that round.
    pub state: Option<String>,
    /// The trace that the request is a part of.
    pub trace: Option<TraceContext>,
    /// What whoever is behind this request can do, where a request says so itself and another one made it.
    pub capabilities: Option<ClientCapabilities>,
}

impl Dialect {
    /// A client's voice in a revision.
    pub fn new(version: ProtocolVersion, info: Implementation, mut capabilities: ClientCapabilities) -> Self {
        let revision = Revision::of(version);
        let mut info = info;
        info.project(revision);
        capabilities.project(revision);
        Self { revision, identity: Identity::new(version, info, capabilities) }
    }

    /// Asks for log messages from a level on, where a request says so itself.
    pub fn set_log_level(&mut self, level: Option<LoggingLevel>) {
        self.identity.set_log_level(level);
    }

    /// How messages look.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether a session is opened by a handshake; if not, every request stands alone.
    pub fn has_sessions(&self) -> bool {
        self.revision.0.codec.has_sessions()
    }

    /// The revision and what the client can do: all that a server may answer by, beside the request and who asks.
    pub fn voice(&self) -> &bytes::Bytes {
        &self.identity.voice
    }

    /// Whether results of a method may say for how long they can be kept, in revisions in which results do.
    pub const fn is_cacheable(method: &str) -> bool {
        method::is_cacheable(method)
    }

    /// What tells a request from others whose answers may be kept; `None` if the answer to this one may not.
    pub fn cache_key<R: Request>(&self, params: &R::Params) -> Option<bytes::Bytes> {
        if !Self::is_cacheable(R::METHOD) || self.has_sessions() || params.meta().is_some_and(|meta| !meta.is_empty()) {
            return None;
        }
        let text = JsonText::trusted(to_json(params).into());
        let members = Params::from_text(text.clone()).ok()?;
        // What depends on answers of the client's is no answer to anything else.
        members.iter().all(|(key, _)| wire::modern::describes(&key)).then(|| text.as_bytes().clone())
    }

    /// Writes a request.
    ///
    /// # Errors
    /// When the revision has no such method, or the parameters cannot be written.
    pub fn request<R: Request>(
        &self,
        id: RequestId,
        params: R::Params,
        extras: &RequestOptions,
    ) -> Result<Outgoing, Error>
    where
        R::Params: Project,
    {
        let known = R::EXTENSION.is_some() || method::client_request(R::METHOD, self.revision.0).is_some();
        if !known && method::REQUESTS.iter().any(|m| m.name == R::METHOD) {
            let what = format!("revision {} has no method `{}`", self.revision.version(), R::METHOD);
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        let mut params = params;
        params.project(self.revision);
        let mut meta = params.meta_mut().take();
        if let Some(trace) = &extras.trace {
            trace.add_to(meta.get_or_insert_default());
        }
        let token = extras.progress.then_some(&id);
        let text = wire::printed(|text| {
            text.push(b'{');
            self.revision.0.codec.request_meta(text, meta.as_ref(), token, &self.identity);
            wire::write_members(text, &params);
            write_round(text, extras);
            text.push(b'}');
        });
        Ok(Outgoing { id, method: R::METHOD, params: text, named_by: R::NAMED_BY })
    }

    /// Writes a request as it was written for another server, for programs that pass requests on. The parameters stay as
    /// they are; what an era adds around them is that of this client.
    ///
    /// # Errors
    /// When the revision has no such method, or `_meta` is not an object.
    pub fn forward(
        &self,
        id: RequestId,
        method: &str,
        params: &Params,
        extras: &RequestOptions,
    ) -> Result<Outgoing, Error> {
        let Some(known) = method::client_request(method, self.revision.0) else {
            let what = format!("revision {} has no method `{method}`", self.revision.version());
            return Err(Error::new(ErrorKind::Unsupported, what));
        };
        self.forward_as(id, known.name, None, params, extras)
    }

    /// The same for a method that the specification does not have, with the parameter that names what it is about.
    ///
    /// # Errors
    /// When `_meta` is not an object.
    pub fn forward_as(
        &self,
        id: RequestId,
        method: &'static str,
        named_by: Option<&'static str>,
        params: &Params,
        extras: &RequestOptions,
    ) -> Result<Outgoing, Error> {
        let meta: Meta = params.read_opt("_meta")?.map(modern::without_reserved).unwrap_or_default();
        let token = extras.progress.then_some(&id);
        let mut identity = Cow::Borrowed(&self.identity);
        if let Some(capabilities) = &extras.capabilities {
            let own = identity.to_mut();
            own.capabilities.clone_from(capabilities);
            own.capabilities.project(self.revision);
        }
        let mut text = b"{".to_vec();
        self.revision.0.codec.request_meta(&mut text, Some(&meta), token, &identity);
        // How the call goes on is passed on where the server knows rounds and this client has nothing of its own to say.
        let rounds = !self.has_sessions() && extras.answers.is_empty() && extras.state.is_none();
        for (key, value) in params.iter().filter(|(key, _)| modern::describes(key) || (rounds && key != "_meta")) {
            // No parameter of the protocol is `null`: strict servers refuse a cursor that is.
            if value.as_str() == "null" {
                continue;
            }
            separate(&mut text);
            wire::write_json(&mut text, &*key);
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
        }
        write_round(&mut text, extras);
        text.push(b'}');
        Ok(Outgoing { id, method, params: text.into(), named_by })
    }

    /// Writes a request once more, under a new id: for the next round, with what that round asks for.
    ///
    /// The parameters are those of the first request, untouched.
    ///
    /// # Errors
    /// When the first request cannot be read back, which means that it nests too deep.
    pub fn again(&self, first: &Outgoing, id: RequestId, extras: &RequestOptions) -> Result<Outgoing, Error> {
        let unreadable = |e: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Config, format!("the parameters of `{}` cannot be sent again: {e}", first.method))
        };
        let members = Params::from_text(JsonText::trusted(first.params.clone())).map_err(|e| unreadable(&e))?;
        let mut text = b"{".to_vec();
        for (key, value) in members.iter() {
            if matches!(&*key, "inputResponses" | "requestState") {
                continue;
            }
            separate(&mut text);
            wire::write_json(&mut text, &*key);
            text.push(b':');
            if key == "_meta" && extras.progress {
                let mut meta: Meta = value.parse().map_err(|e| unreadable(&e))?;
                meta.insert("progressToken", serde_json::json!(id).into());
                wire::write_json(&mut text, &meta);
            } else {
                text.extend_from_slice(value.as_bytes());
            }
        }
        write_round(&mut text, extras);
        text.push(b'}');
        Ok(Outgoing { id, params: text.into(), ..*first })
    }

    /// Checks that a server which advertises these capabilities serves a method of an extension: one that both sides
    /// declare, in a revision that has it.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_extension(&self, method: &str, id: &str, server: &ServerCapabilities) -> Result<(), Error> {
        let whose = if crate::service::extension::declared(&self.identity.capabilities, id).is_none() {
            "client"
        } else if !server.extensions.as_ref().is_some_and(|e| e.contains_key(id)) {
            "server"
        } else {
            return Ok(());
        };
        let what = format!("`{method}` needs the extension `{id}`, which the {whose} does not have here");
        Err(Error::new(ErrorKind::Unsupported, what))
    }

    /// Checks that a server which advertises these capabilities serves a method.
    ///
    /// # Errors
    /// When it does not; the error names the capability.
    pub fn check(&self, method: &str, server: &ServerCapabilities) -> Result<(), Error> {
        let gate = method::REQUESTS.iter().find(|m| m.name == method).map_or(method::Capability::Open, |m| m.gate);
        // Before there was such a capability, nobody could advertise it.
        let unsaid = gate == method::Capability::Completions && !self.revision.0.completions_capability;
        if unsaid || gate.is_open(server) {
            return Ok(());
        }
        let capability = match gate {
            method::Capability::Open => return Ok(()),
            method::Capability::Tools => "tools",
            method::Capability::Resources => "resources",
            method::Capability::Subscribe => "resources.subscribe",
            method::Capability::Prompts => "prompts",
            method::Capability::Completions => "completions",
            method::Capability::Logging => "logging",
            method::Capability::Tasks => "tasks",
        };
        let what = format!("the server does not serve `{method}`: it lacks the capability `{capability}`");
        Err(Error::new(ErrorKind::Unsupported, what))
    }

    /// Writes a message for a method that has no type here, with everything that the revision adds.
    pub fn raw_request(&self, id: &RequestId, method: &str, params: &JsonText) -> bytes::Bytes {
        let given = Params::from_text(params.clone()).unwrap_or_default();
        let meta: Option<couplet_types::Meta> = given.read_opt("_meta").ok().flatten();
        let mut text = b"{".to_vec();
        self.revision.0.codec.request_meta(&mut text, meta.as_ref(), None, &self.identity);
        for (key, value) in given.iter().filter(|(key, _)| key != "_meta") {
            separate(&mut text);
            wire::write_json(&mut text, &*key);
            text.push(b':');
            text.extend_from_slice(value.as_bytes());
        }
        text.push(b'}');
        wire::request(id, method, &text)
    }

    /// Reads what came back.
    ///
    /// # Errors
    /// When the result is of a kind that is not known.
    pub fn outcome(&self, result: JsonText) -> Result<Outcome, Error> {
        self.outcome_with(result, |_| false)
    }

    /// Reads what came back for a request whose result may be of a kind that an extension adds.
    ///
    /// # Errors
    /// When the result is of a kind that is not known, or not accepted.
    pub fn outcome_with(&self, result: JsonText, accepts: impl Fn(&str) -> bool) -> Result<Outcome, Error> {
        let outcome = self.revision.0.codec.outcome(result).map_err(|what| Error::new(ErrorKind::Protocol, what))?;
        match &outcome {
            Outcome::Extension { kind, .. } if !accepts(kind) => {
                Err(Error::new(ErrorKind::Protocol, format!("the result is of the unknown type `{kind}`")))
            }
            _ => Ok(outcome),
        }
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
        if let Some(why) = answer.unspeakable(self.revision) {
            return Err(RpcError::internal(why));
        }
        answer.project(self.revision);
        Ok(JsonText::trusted(to_json(&answer).into()))
    }
}

fn write_round(text: &mut Vec<u8>, extras: &RequestOptions) {
    for (at, (key, answer)) in extras.answers.iter().enumerate() {
        if at == 0 {
            separate(text);
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
        separate(text);
        text.extend_from_slice(br#""requestState":"#);
        wire::write_json(text, state);
    }
}
