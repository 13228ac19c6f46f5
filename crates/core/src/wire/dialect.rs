//! Requests and results of a client, in the negotiated revision.

use std::sync::{Arc, Mutex};

use couplet_types::{
    ClientCapabilities, HasMeta, Implementation, LoggingLevel, Meta, ProtocolVersion, Request, RequestId, RpcError,
    ServerCapabilities, TraceContext,
};
use serde::{Serialize, de::IgnoredAny};

use crate::{
    client::outgoing::{Outgoing, target_key},
    error::{Error, ErrorKind},
    message::{
        Params,
        scan::{self, JsonText},
    },
    sync::lock,
    wire::{
        self, Outcome,
        method::{self, Method},
        modern::{self, Identity},
        project::Project,
        revision::Revision,
        separate, to_json,
    },
};

/// The encoder of a client's requests and the decoder of its results, in one revision.
#[derive(Clone, Debug)]
pub struct Dialect {
    revision: Revision,
    identity: Identity,
    /// The identity with the capabilities of the last caller of a proxy: consecutive calls have the same.
    lent: Arc<Mutex<Option<Lent>>>,
}

type Lent = (Arc<ClientCapabilities>, Arc<Identity>);

/// The parts of a request beside its parameters.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RequestOptions {
    /// Whether to request progress notifications.
    pub progress: bool,
    /// The answers to the input requests of the round before.
    pub answers: Vec<(String, JsonText)>,
    /// The request state of that round.
    pub state: Option<String>,
    /// The trace context to propagate.
    pub trace: Option<TraceContext>,
    /// The capabilities to declare instead of the client's own, in stateless revisions: for proxies.
    pub capabilities: Option<Arc<ClientCapabilities>>,
}

impl Dialect {
    /// Creates the encoder for a client in a revision.
    pub fn new(version: ProtocolVersion, info: Implementation, mut capabilities: ClientCapabilities) -> Self {
        let revision = Revision::of(version);
        let mut info = info;
        info.project(revision);
        capabilities.project(revision);
        Self { revision, identity: Identity::new(version, info, capabilities), lent: Arc::default() }
    }

    /// Sets the minimum level of log messages that stateless requests ask for.
    pub fn set_log_level(&mut self, level: Option<LoggingLevel>) {
        self.identity.set_log_level(level);
        // What was encoded for callers of a proxy has the level before.
        self.lent = Arc::default();
    }

    /// Returns the negotiated revision.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Whether the revision has sessions; if not, every request is stateless.
    pub fn has_sessions(&self) -> bool {
        self.revision.0.codec.has_sessions()
    }

    /// Returns the revision and the client's capabilities as bytes: with the request and the caller, all that a response may depend on.
    pub fn voice(&self) -> &bytes::Bytes {
        &self.identity.voice
    }

    /// Whether clients may cache the results of a method, in revisions whose results have a `ttlMs`.
    pub const fn is_cacheable<R: Request>() -> bool {
        match R::KNOWN {
            Some(method) => Method::of(method).is_cacheable(),
            None => false,
        }
    }

    /// Returns the cache key of a request; `None` if its result must not be cached.
    pub fn cache_key<R: Request>(&self, params: &R::Params) -> Option<bytes::Bytes> {
        if !Self::is_cacheable::<R>() || self.has_sessions() || params.meta().is_some_and(|meta| !meta.is_empty()) {
            return None;
        }
        let text = JsonText::trusted(to_json(params).into());
        let members = Params::from_text(text.clone()).ok()?;
        // A result that depends on input from the client is not reusable.
        members.iter().all(|(key, _)| wire::modern::describes(key.as_bytes())).then(|| text.as_bytes().clone())
    }

    /// Encodes a request.
    ///
    /// # Errors
    /// If the revision has no such method, or the parameters cannot be serialized.
    pub fn request<R: Request>(
        &self,
        id: RequestId,
        params: R::Params,
        extras: &RequestOptions,
    ) -> Result<Outgoing, Error>
    where
        R::Params: Project,
    {
        if R::KNOWN.is_some_and(|method| !Method::of(method).is_sent_by_clients(self.revision.0)) {
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
        let mut members = 0;
        let text = wire::encoded(|text| {
            text.push(b'{');
            self.revision.0.codec.request_meta(text, meta.as_ref(), token, &self.identity);
            members = text.len();
            wire::write_members(text, &params);
            write_round(text, extras);
            text.push(b'}');
        });
        let revision = self.named_revision();
        // The name is repeated outside of the message.
        let target = revision.and_then(|_| target_key(R::METHOD, R::NAMED_BY));
        let name_at = target.and_then(|key| scan::find_member(&text, members, key));
        Ok(Outgoing { id, method: R::METHOD, params: text, named_by: R::NAMED_BY, revision, name_at })
    }

    /// Encodes a request that was received from another client, for proxies. The parameters are
    /// unchanged; the members that the revision adds are those of this client.
    ///
    /// # Errors
    /// If the revision has no such method, or `_meta` is not an object.
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
        self.forward_as(id, known.name(), None, params, extras)
    }

    /// Encodes a received request of an extension; `named_by` is the parameter that names its target.
    ///
    /// # Errors
    /// If `_meta` is not an object.
    pub fn forward_as(
        &self,
        id: RequestId,
        method: &'static str,
        named_by: Option<&'static str>,
        params: &Params,
        extras: &RequestOptions,
    ) -> Result<Outgoing, Error> {
        let meta = given_meta(params)?;
        let token = extras.progress.then_some(&id);
        let lent = extras.capabilities.as_ref().filter(|_| !self.has_sessions()).map(|can| self.lend(can));
        let identity = lent.as_deref().unwrap_or(&self.identity);
        let mut text = Vec::with_capacity(params.size() + 512);
        text.push(b'{');
        self.revision.0.codec.forwarded_meta(&mut text, meta, token, identity);
        // The state of a multi-round-trip request is forwarded where the server has rounds and this client has no state of its own.
        let rounds = !self.has_sessions() && extras.answers.is_empty() && extras.state.is_none();
        let stays = |key: &[u8]| modern::describes(key) || (rounds && key != b"_meta");
        // No parameter of the protocol is `null`: strict servers reject such a cursor.
        let target = target_key(method, named_by);
        let mut name_at = None;
        for member in params.entries().filter(|member| stays(&member.key) && member.value != b"null") {
            wire::append_member(&mut text, member.text());
            if target.is_some_and(|target| *member.key == *target.as_bytes()) {
                name_at = Some(text.len() - member.value.len()..text.len());
            }
        }
        write_round(&mut text, extras);
        text.push(b'}');
        Ok(Outgoing { id, method, params: text.into(), named_by, revision: self.named_revision(), name_at })
    }

    /// The revision that each request names.
    fn named_revision(&self) -> Option<&'static str> {
        (!self.has_sessions()).then(|| self.revision.version().as_str())
    }

    /// This client with the capabilities of another one.
    fn lend(&self, capabilities: &Arc<ClientCapabilities>) -> Arc<Identity> {
        let mut lent = lock(&self.lent);
        if let Some((known, identity)) = &*lent
            && Arc::ptr_eq(known, capabilities)
        {
            return identity.clone();
        }
        let mut projected = ClientCapabilities::clone(capabilities);
        projected.project(self.revision);
        let identity = Arc::new(self.identity.with_capabilities(projected));
        *lent = Some((capabilities.clone(), identity.clone()));
        identity
    }

    /// Encodes a request again under a new id, for the next round.
    ///
    /// The parameters are those of the first request, unchanged.
    ///
    /// # Errors
    /// If the first request cannot be parsed, because it is nested too deeply.
    pub fn again(&self, first: &Outgoing, id: RequestId, extras: &RequestOptions) -> Result<Outgoing, Error> {
        let mut next = copied(first, id, extras.progress, |key| !matches!(key, "inputResponses" | "requestState"))?;
        let mut text: Vec<u8> = next.params.into();
        text.pop();
        write_round(&mut text, extras);
        text.push(b'}');
        next.params = text.into();
        Ok(next)
    }

    /// Encodes the same request again under a new id, for a client that repeats it. With `progress` the progress token is
    /// that of the new request.
    ///
    /// # Errors
    /// If the request cannot be parsed, because it is nested too deeply.
    pub fn repeated(&self, sent: &Outgoing, id: RequestId, progress: bool) -> Result<Outgoing, Error> {
        copied(sent, id, progress, |_| true)
    }

    /// Checks that a server which advertises these capabilities serves a method of an extension: one that both sides
    /// declare, in a revision that has it.
    ///
    /// # Errors
    /// If it does not.
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
    /// If it does not; the error names the capability.
    pub fn check(&self, method: &str, server: &ServerCapabilities) -> Result<(), Error> {
        let gate = Method::named(method).map_or(method::Capability::Open, |known| known.capability);
        // Older revisions have the method and lack the capability.
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

    /// Encodes a request of a method without a marker type, with the members that the revision adds.
    pub fn raw_request(&self, id: &RequestId, method: &str, params: &JsonText) -> bytes::Bytes {
        let given = Params::from_text(params.clone()).unwrap_or_default();
        let meta: Option<couplet_types::Meta> = given.read_opt("_meta").ok().flatten();
        let mut text = b"{".to_vec();
        self.revision.0.codec.request_meta(&mut text, meta.as_ref(), None, &self.identity);
        for member in given.entries().filter(|member| *member.key != *b"_meta") {
            wire::append_member(&mut text, member.text());
        }
        text.push(b'}');
        wire::request(id, method, &text)
    }

    /// Parses a result.
    ///
    /// # Errors
    /// If the result is of an unknown kind.
    pub fn outcome(&self, result: JsonText) -> Result<Outcome, Error> {
        self.outcome_with(result, |_| false)
    }

    /// Parses a result that may be of a kind that an extension adds.
    ///
    /// # Errors
    /// If the result is of an unknown kind, or of one that is not accepted.
    pub fn outcome_with(&self, result: JsonText, accepts: impl Fn(&str) -> bool) -> Result<Outcome, Error> {
        self.outcome_of(result, None, accepts)
    }

    /// Parses a result as [`Dialect::outcome_with`] does. `members` are those of the result, if they are located already.
    ///
    /// # Errors
    /// If the result is of an unknown kind, or of one that is not accepted.
    pub fn outcome_of(
        &self,
        result: JsonText,
        members: Option<&Params>,
        accepts: impl Fn(&str) -> bool,
    ) -> Result<Outcome, Error> {
        let outcome = self.revision.0.codec.outcome(result, members);
        let outcome = outcome.map_err(|what| Error::new(ErrorKind::Protocol, what))?;
        match &outcome {
            Outcome::Extension { kind, .. } if !accepts(kind) => {
                Err(Error::new(ErrorKind::Protocol, format!("the result is of the unknown type `{kind}`")))
            }
            _ => Ok(outcome),
        }
    }

    /// Returns the server's name and version from a result, in revisions whose results have them.
    pub fn server_info(&self, result: &JsonText) -> Option<Implementation> {
        wire::modern::server_info(result)
    }

    /// Encodes a notification.
    pub fn notification<P: Serialize>(&self, method: &str, params: &P) -> bytes::Bytes {
        wire::notification(method, &to_json(params))
    }

    /// Encodes the answer to a request of the server.
    ///
    /// # Errors
    /// If the revision cannot represent the value.
    pub fn answer<T: Project + Serialize>(&self, mut answer: T) -> Result<JsonText, RpcError> {
        if let Some(why) = answer.unspeakable(self.revision) {
            return Err(RpcError::internal(why));
        }
        answer.project(self.revision);
        Ok(JsonText::trusted(to_json(&answer).into()))
    }
}

/// The `_meta` of a request that is forwarded.
fn given_meta(params: &Params) -> Result<Option<&Params>, RpcError> {
    match params.meta() {
        Ok(meta) => Ok(meta),
        Err(_) if params.read_opt::<IgnoredAny>("_meta")?.is_none() => Ok(None),
        Err(what) => Err(RpcError::invalid_params(format!("`_meta`: {what}"))),
    }
}

/// Copies a request under a new id, with the parameters that stay.
fn copied(first: &Outgoing, id: RequestId, progress: bool, stays: impl Fn(&str) -> bool) -> Result<Outgoing, Error> {
    let unreadable = |e: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Config, format!("the parameters of `{}` cannot be sent again: {e}", first.method))
    };
    let members = Params::from_text(JsonText::trusted(first.params.clone())).map_err(|e| unreadable(&e))?;
    let mut text = b"{".to_vec();
    for (key, value) in members.iter() {
        if !stays(&key) {
            continue;
        }
        separate(&mut text);
        wire::write_json(&mut text, &*key);
        text.push(b':');
        if key == "_meta" && progress {
            let mut meta: Meta = value.parse().map_err(|e| unreadable(&e))?;
            meta.insert("progressToken", serde_json::json!(id).into());
            wire::write_json(&mut text, &meta);
        } else {
            text.extend_from_slice(value.as_bytes());
        }
    }
    text.push(b'}');
    let Outgoing { method, named_by, revision, .. } = *first;
    Ok(Outgoing { id, method, params: text.into(), named_by, revision, name_at: None })
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
