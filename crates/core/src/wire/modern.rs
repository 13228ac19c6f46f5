//! The stateless era: every request names its client and its revision, every result its type.

use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use couplet_types::{
    CacheScope, ClientCapabilities, DiscoverResult, Implementation, InputRequest, ListenParams, LoggingLevel, Meta,
    ProgressToken, ProtocolVersion, RequestId, RequestMethod, RpcError, SubscriptionFilter, code,
};
use serde_json::json;

use super::{
    Codec, Outcome, append_member, append_members,
    method::{self, Method},
    revision::Revision,
    separate, write_json,
};
use crate::{
    message::{Params, scan::JsonText},
    server::{
        hub::{Change, Filter},
        replay::Replay,
    },
    service::{Description, Peer, ResultBody},
    sync::lock,
};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The keys of `_meta` that the protocol reserves.
pub(crate) const RESERVED: [&str; 7] =
    [VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, SERVER_INFO, SUBSCRIPTION, "progressToken"];

/// Removes the reserved keys.
pub(crate) fn without_reserved(mut meta: Meta) -> Meta {
    for key in RESERVED {
        meta.remove(key);
    }
    meta
}

pub(crate) fn is_reserved_key(key: &[u8]) -> bool {
    RESERVED.iter().any(|reserved| reserved.as_bytes() == key)
}

/// Whether all members have reserved keys.
pub(crate) fn is_reserved(meta: &Params) -> bool {
    meta.entries().all(|member| is_reserved_key(&member.key))
}

/// Appends the members without a reserved key to the open object at the end of `out`.
pub(crate) fn append_unreserved(out: &mut Vec<u8>, meta: Option<&Params>) {
    for member in meta.into_iter().flat_map(Params::entries).filter(|member| !is_reserved_key(&member.key)) {
        append_member(out, member.text());
    }
}

/// The parameter with the state that a client returns unchanged.
pub(crate) const STATE: &str = "requestState";

/// The parameter with the answers to the input requests of the last round.
pub(crate) const ANSWERS: &str = "inputResponses";

/// Whether a parameter is part of the request itself, and not the state of a round.
pub(crate) fn describes(key: impl AsRef<[u8]>) -> bool {
    let key = key.as_ref();
    !["_meta", ANSWERS, STATE].iter().any(|other| other.as_bytes() == key)
}

/// Whether a member of a result depends on the client's revision.
pub(crate) fn is_added(key: &[u8]) -> bool {
    key == b"resultType"
}

/// Whether the type of a result is that of most.
pub(crate) fn is_complete(kind: &[u8]) -> bool {
    kind == br#""complete""#
}

#[derive(Debug)]
pub(crate) struct Modern;

/// The client's identity, which every request carries.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) version: ProtocolVersion,
    pub(crate) info: Option<Implementation>,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) log_level: Option<LoggingLevel>,
    /// The identity as `_meta`, because most requests have nothing else there.
    encoded: Bytes,
    /// The part of it that a result may depend on.
    pub(crate) voice: Bytes,
}

impl Identity {
    pub(crate) fn new(version: ProtocolVersion, info: Implementation, capabilities: ClientCapabilities) -> Self {
        let voice = super::to_json(&json!([version.as_str(), capabilities])).into();
        let encoded = Bytes::new();
        let mut identity = Self { version, info: Some(info), capabilities, log_level: None, encoded, voice };
        identity.print();
        identity
    }

    /// The same client with other capabilities.
    pub(crate) fn with_capabilities(&self, capabilities: ClientCapabilities) -> Self {
        let mut identity = Self { capabilities, ..self.clone() };
        identity.print();
        identity
    }

    pub(crate) fn set_log_level(&mut self, level: Option<LoggingLevel>) {
        self.log_level = level;
        self.print();
    }

    fn print(&mut self) {
        let mut all = Meta::new();
        self.add_to(&mut all);
        self.encoded = super::to_json(&all).into();
    }

    /// Appends the object of `_meta` with the progress token, and leaves it open for more members.
    fn open(&self, out: &mut Vec<u8>, token: Option<&ProgressToken>) {
        out.extend_from_slice(self.encoded.strip_suffix(b"}").unwrap_or(b"{"));
        if let Some(token) = token {
            separate(out);
            out.extend_from_slice(br#""progressToken":"#);
            write_json(out, token);
        }
    }

    fn add_to(&self, all: &mut Meta) {
        all.insert(VERSION, json!(self.version.as_str()).into());
        all.insert(CAPABILITIES, json!(self.capabilities).into());
        if let Some(info) = &self.info {
            all.insert(CLIENT_INFO, json!(info).into());
        }
        if let Some(level) = &self.log_level {
            all.insert(LOG_LEVEL, json!(level).into());
        }
    }
}

impl Codec for Modern {
    fn has_sessions(&self) -> bool {
        false
    }

    fn begin(&self, out: &mut Vec<u8>, done: &ResultBody, about: &Description) {
        out.extend_from_slice(br#"{"resultType":"complete""#);
        result_meta(out, done.meta.as_ref(), about);
        if let Some(hint) = &done.cache {
            out.extend_from_slice(br#","ttlMs":"#);
            write_json(out, &hint.ttl_ms.unwrap_or(about.cache.ttl_ms));
            out.extend_from_slice(br#","cacheScope":"#);
            write_json(out, hint.scope.as_ref().unwrap_or(&about.cache.scope));
        }
    }

    fn begin_as(&self, kind: &str, out: &mut Vec<u8>, done: &ResultBody, about: &Description) -> Result<(), RpcError> {
        out.extend_from_slice(br#"{"resultType":"#);
        write_json(out, kind);
        result_meta(out, done.meta.as_ref(), about);
        Ok(())
    }

    fn input_required(
        &self,
        out: &mut Vec<u8>,
        asks: &[(String, InputRequest)],
        state: Option<&str>,
        about: &Description,
    ) -> Result<(), RpcError> {
        if asks.is_empty() && state.is_none() {
            return Err(RpcError::internal("a request for input had neither questions nor state"));
        }
        check_asks(asks)?;
        out.extend_from_slice(br#"{"resultType":"input_required""#);
        result_meta(out, None, about);
        for (at, (key, ask)) in asks.iter().enumerate() {
            out.extend_from_slice(if at == 0 { br#","inputRequests":{"# } else { b"," });
            write_json(out, key);
            out.push(b':');
            write_json(out, ask);
        }
        if !asks.is_empty() {
            out.push(b'}');
        }
        if let Some(state) = state {
            out.extend_from_slice(br#","requestState":"#);
            write_json(out, state);
        }
        out.push(b'}');
        Ok(())
    }

    fn request_meta(&self, out: &mut Vec<u8>, meta: Option<&Meta>, token: Option<&ProgressToken>, identity: &Identity) {
        separate(out);
        out.extend_from_slice(br#""_meta":"#);
        let Some(mut all) = meta.cloned() else {
            identity.open(out, token);
            return out.push(b'}');
        };
        identity.add_to(&mut all);
        if let Some(token) = token {
            all.insert("progressToken", json!(token).into());
        }
        write_json(out, &all);
    }

    fn forwarded_meta(
        &self,
        out: &mut Vec<u8>,
        meta: Option<&Params>,
        token: Option<&ProgressToken>,
        identity: &Identity,
    ) {
        separate(out);
        out.extend_from_slice(br#""_meta":"#);
        identity.open(out, token);
        append_unreserved(out, meta);
        out.push(b'}');
    }

    fn outcome(&self, result: JsonText, members: Option<&Params>) -> Result<Outcome, String> {
        let parsed;
        let members = match members {
            Some(members) => members,
            None if is_plainly_complete(result.as_bytes()) => return Ok(Outcome::Complete(result)),
            None => {
                let fault = |e| format!("the result is not an object: {e}");
                parsed = Params::from_text(result.clone()).map_err(fault)?;
                &parsed
            }
        };
        let kind = members.read_str("resultType").map_err(|e| e.message)?;
        match kind.as_deref() {
            None | Some("complete") => Ok(Outcome::Complete(result)),
            Some("input_required") => {
                let asks = members.get("inputRequests").map_or_else(
                    || Ok(Vec::new()),
                    |asks| {
                        let asks = Params::from_text(asks).map_err(|e| e.to_string())?;
                        asks.iter()
                            .map(|(key, ask)| Ok((key.into_owned(), ask.parse().map_err(|e| e.to_string())?)))
                            .collect::<Result<_, String>>()
                    },
                )?;
                let state = members.read_opt(STATE).map_err(|e| e.message)?;
                Ok(Outcome::InputRequired { asks, state })
            }
            Some(other) => Ok(Outcome::Extension { kind: other.to_owned(), result }),
        }
    }
}

/// Whether a result begins with its type, which is `complete`, as most do; any other has to be parsed.
fn is_plainly_complete(result: &[u8]) -> bool {
    let Some(rest) = result.strip_prefix(br#"{"resultType":"complete""#) else { return false };
    // With escapes, the member could occur once more.
    memchr::memchr(b'\\', rest).is_none() && memchr::memmem::find(rest, br#""resultType""#).is_none()
}

/// Checks that the input requests are of methods that results may have, each under a key of its own.
fn check_asks(asks: &[(String, InputRequest)]) -> Result<(), RpcError> {
    for (at, (key, ask)) in asks.iter().enumerate() {
        if !Method::named(&ask.method).is_some_and(Method::is_input_request) {
            return Err(RpcError::internal(format!("a result cannot ask for `{}`", ask.method)));
        }
        if asks[..at].iter().any(|(other, _)| other == key) {
            return Err(RpcError::internal(format!("a result asks twice under `{key}`")));
        }
    }
    Ok(())
}

fn result_meta(out: &mut Vec<u8>, meta: Option<&Meta>, about: &Description) {
    let info = about.info_text();
    if info.is_none() && meta.is_none_or(Meta::is_empty) {
        return;
    }
    out.extend_from_slice(br#","_meta":{"#);
    if let Some(meta) = meta {
        append_members(out, &super::to_json(meta));
    }
    if let Some(info) = info {
        separate(out);
        out.push(b'"');
        out.extend_from_slice(SERVER_INFO.as_bytes());
        out.extend_from_slice(b"\":");
        out.extend_from_slice(info);
    }
    out.push(b'}');
}

/// The proof that a server supports the revision of a stateless request and serves its method.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    pub(crate) revision: Revision,
    /// The method, if it is one of the protocol's.
    pub(crate) method: Option<&'static Method>,
}

impl Checked {
    /// Checks the method of a request and the revision that it names.
    ///
    /// # Errors
    /// -32022 if the server does not support the revision, -32601 if it does not serve the method.
    pub(crate) fn new(requested: &str, method: &str, about: &Description) -> Result<Self, RpcError> {
        let revision = supported(requested, about)?;
        Ok(Self { revision, method: method::served(method, RequestMethod::from_name(method), revision, about)? })
    }

    /// The method, if it is one of the protocol's.
    pub(crate) fn request(self) -> Option<RequestMethod> {
        self.method.map(|method| method.request)
    }
}

/// The properties of a stateless request, from its `_meta` and parameters.
#[derive(Debug)]
pub(crate) struct Lifted {
    pub(crate) peer: Arc<Peer>,
    pub(crate) token: Option<ProgressToken>,
    pub(crate) log_level: Option<LoggingLevel>,
    pub(crate) replay: Replay,
}

/// The `_meta` of a request that marks itself as stateless.
pub(crate) fn marked(params: &Params) -> Option<&Params> {
    params.valid_meta().filter(|meta| is_marked(meta))
}

/// Whether a `_meta` names the revision.
pub(crate) fn is_marked(meta: &Params) -> bool {
    meta.has(VERSION)
}

/// Returns the revision that a stateless request names, if it also declares the client's capabilities.
pub(crate) fn required(meta: Option<&Params>) -> Result<Cow<'_, str>, RpcError> {
    let requested = meta.and_then(|m| m.read_str(VERSION).transpose()).unwrap_or_else(|| Err(lacks(VERSION)))?;
    if meta.is_some_and(|m| m.has(CAPABILITIES)) { Ok(requested) } else { Err(lacks(CAPABILITIES)) }
}

fn lacks(key: &str) -> RpcError {
    RpcError::invalid_params(format!("`_meta` lacks `{key}`"))
}

/// Parses the properties of a stateless request, in the order in which faults are reported.
pub(crate) fn lift(revision: Revision, params: &Params, meta: &Params, memo: &PeerCache) -> Result<Lifted, RpcError> {
    let capabilities = meta.get(CAPABILITIES).ok_or_else(|| lacks(CAPABILITIES))?;
    let peer = memo.peer(revision.version(), &capabilities, meta.get(CLIENT_INFO).as_ref())?;
    let log_level = meta.read_opt(LOG_LEVEL)?;
    let token = meta.read_opt("progressToken")?;
    let responses = match params.get(ANSWERS) {
        None => Vec::new(),
        Some(text) => Params::from_text(text)
            .map_err(|e| RpcError::invalid_params(format!("`{ANSWERS}`: {e}")))?
            .iter()
            .map(|(key, answer)| (key.into_owned(), answer))
            .collect(),
    };
    let replay = Replay::new(responses, params.read_opt(STATE)?);
    Ok(Lifted { peer, token, log_level, replay })
}

/// Returns the revision that a stateless request names, if the server supports it and it has no sessions.
pub(crate) fn supported(requested: &str, about: &Description) -> Result<Revision, RpcError> {
    let revision = requested.parse().ok().filter(|v| about.versions.contains(v)).map(Revision::of);
    revision.filter(|s| !s.0.codec.has_sessions()).ok_or_else(|| unsupported(requested, about))
}

/// The error for a revision that the server does not support.
pub(crate) fn unsupported(requested: &str, about: &Description) -> RpcError {
    RpcError::new(code::UNSUPPORTED_VERSION, format!("protocol version `{requested}` is not supported"))
        .with_data(json!({ "supported": about.version_names(), "requested": requested }))
}

/// A cache of clients, because consecutive requests declare the same capabilities. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct PeerCache(Arc<Mutex<VecDeque<Known>>>);

#[derive(Debug)]
struct Known {
    capabilities: Bytes,
    info: Option<Bytes>,
    peer: Arc<Peer>,
}

impl PeerCache {
    /// The most clients, and the most bytes of capabilities and name of each.
    const CLIENTS: usize = 8;
    const LONGEST: usize = 4 << 10;

    /// Returns the revision of the last client.
    pub(crate) fn revision(&self) -> Option<Revision> {
        lock(&self.0).front().map(|known| Revision::of(known.peer.version))
    }

    /// Returns the client with these capabilities and this name.
    pub(crate) fn peer(
        &self,
        version: ProtocolVersion,
        capabilities: &JsonText,
        info: Option<&JsonText>,
    ) -> Result<Arc<Peer>, RpcError> {
        let (said, named) = (capabilities.as_bytes(), info.map(JsonText::as_bytes));
        let is_it = |k: &Known| k.peer.version == version && k.capabilities == said && k.info.as_ref() == named;
        if let Some(known) = lock(&self.0).iter().find(|known| is_it(known)) {
            return Ok(known.peer.clone());
        }
        let wrong = |key: &str, e: serde_json::Error| RpcError::invalid_params(format!("`{key}`: {e}"));
        let peer = Arc::new(Peer {
            version,
            capabilities: capabilities.parse().map_err(|e| wrong(CAPABILITIES, e))?,
            info: info.as_ref().map(|i| i.parse().map_err(|e| wrong(CLIENT_INFO, e))).transpose()?,
        });
        if said.len() + named.map_or(0, Bytes::len) <= Self::LONGEST {
            // A copy, because a slice would hold on to the whole message.
            let copy = |text: &Bytes| Bytes::copy_from_slice(text);
            let known = Known { capabilities: copy(said), info: named.map(copy), peer: peer.clone() };
            let mut all = lock(&self.0);
            all.truncate(Self::CLIENTS - 1);
            all.push_front(known);
        }
        Ok(peer)
    }
}

/// Returns the result of `server/discover`.
pub(crate) fn discover(revision: Revision, about: &Description) -> ResultBody {
    let mut result = DiscoverResult::new(about.version_names(), about.capabilities.clone());
    result.instructions.clone_from(&about.instructions);
    revision.encode(result)
}

/// Parses the filter of a `subscriptions/listen`; returns the part that the server honours, in both forms.
pub(crate) fn listen(
    params: &Params,
    revision: Revision,
    peer: &Peer,
    about: &Description,
    most: usize,
) -> Result<(SubscriptionFilter, Filter), RpcError> {
    let ListenParams { notifications: wanted, .. } = params.parse()?;
    let capabilities = &about.capabilities;
    let resources = capabilities.resources.clone().unwrap_or_default();
    let mut honoured = SubscriptionFilter::default();
    let mut interest = Filter::new();
    let list_changed = |c: Option<Option<bool>>| c.flatten() == Some(true);
    if wanted.tools_list_changed == Some(true) && list_changed(capabilities.tools.as_ref().map(|t| t.list_changed)) {
        honoured.tools_list_changed = Some(true);
        interest.tools = true;
    }
    if wanted.prompts_list_changed == Some(true) && list_changed(capabilities.prompts.as_ref().map(|p| p.list_changed))
    {
        honoured.prompts_list_changed = Some(true);
        interest.prompts = true;
    }
    if wanted.resources_list_changed == Some(true) && resources.list_changed == Some(true) {
        honoured.resources_list_changed = Some(true);
        interest.resources = true;
    }
    if let Some(uris) = wanted.resource_subscriptions.filter(|_| resources.subscribe == Some(true)) {
        if uris.len() > most {
            return Err(RpcError::invalid_params(format!("more than {most} resources in one subscription")));
        }
        interest.uris = uris.iter().cloned().collect();
        honoured.resource_subscriptions = Some(uris);
    }
    for extension in about.extensions_in(revision) {
        for member in extension.filters.iter().filter(|member| wanted.others.contains_key(member)) {
            if peer.extension(&extension.id).is_none() {
                return Err(revision.missing_extension(&extension.id));
            }
            let keys: Vec<String> = wanted.others.get(member).map_or(Ok(Vec::new()), |keys| {
                keys.parse().map_err(|e| RpcError::invalid_params(format!("`{member}`: {e}")))
            })?;
            if keys.len() > most {
                return Err(RpcError::invalid_params(format!("more than {most} in `{member}`")));
            }
            honoured.others.insert(member.as_str(), json!(keys).into());
            interest.topics.extend(keys.into_iter().map(|key| (member.clone(), key)));
        }
    }
    Ok((honoured, interest))
}

/// Returns the `_meta` of a message of a subscription.
fn subscription_meta(id: &RequestId) -> Meta {
    Meta::new().with(SUBSCRIPTION, json!(id))
}

/// Returns the parameters of the first message of a subscription.
pub(crate) fn acknowledged(id: &RequestId, honoured: &SubscriptionFilter) -> Vec<u8> {
    super::to_json(&json!({ "notifications": honoured, "_meta": subscription_meta(id) }))
}

/// Returns the result that ends a subscription.
pub(crate) fn listen_ended(id: &RequestId) -> ResultBody {
    ResultBody { meta: Some(subscription_meta(id)), ..ResultBody::empty() }
}

/// Returns the notification of a change for a subscription.
pub(crate) fn change<'a>(id: &RequestId, change: &'a Change) -> (&'a str, Vec<u8>) {
    let mut params = json!({ "_meta": subscription_meta(id) });
    let method = super::legacy::change_method(change);
    if let Change::Extension(news) = change {
        let mut text = super::to_json(&params);
        text.pop();
        append_members(&mut text, news.params.get().as_bytes());
        text.push(b'}');
        return (method, text);
    }
    if let Change::Updated(uri) = change {
        params["uri"] = json!(uri);
    }
    (method, super::to_json(&params))
}

/// Returns the subscription of a notification.
pub(crate) fn subscription_of(params: &Params) -> Option<RequestId> {
    let meta = Params::from_text(params.get("_meta")?).ok()?;
    meta.read_opt(SUBSCRIPTION).ok()?
}

/// Returns the server's name and version from a result.
pub(crate) fn server_info(result: &JsonText) -> Option<Implementation> {
    let result = Params::from_text(result.clone()).ok()?;
    let meta = Params::from_text(result.get("_meta")?).ok()?;
    meta.read_opt(SERVER_INFO).ok()?
}

/// The error for a request that is neither stateless nor part of a session.
pub(crate) fn unmarked(method: &str, about: &Description) -> RpcError {
    let names = about.version_names();
    let keys = format!("`_meta` with `{VERSION}` and `{CAPABILITIES}`");
    let supported = names.join(", ");
    RpcError::invalid_params(format!(
        "`{method}` needs {keys}, or a session opened by `initialize`; this server supports {supported}"
    ))
    .with_data(json!({ "supported": names }))
}

/// The default cache hints of results.
#[derive(Clone, Debug, PartialEq)]
pub struct CachePolicy {
    /// The time to live, in milliseconds.
    pub ttl_ms: u64,
    /// The caches that may store it.
    pub scope: CacheScope,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self { ttl_ms: 0, scope: CacheScope::Private }
    }
}

#[cfg(test)]
mod tests;
