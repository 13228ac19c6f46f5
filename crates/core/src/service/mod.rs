//! What a server is to the protocol: something that can be called, and that says what it is.

pub(crate) mod caller;
pub(crate) mod extension;
pub(crate) mod observer;

use std::{
    any::Any,
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use couplet_types::{
    CallToolResult, ClientCapabilities, HasMeta, Implementation, InputRequest, Meta, ProtocolVersion, RawJson,
    RpcError, ServerCapabilities,
};
use serde::Serialize;

use crate::{
    http::headers::ParamHeader,
    message::{Params, buffers, escape::escaped, scan::JsonText},
    server::{hub::Hub, input::Inputs, outbox::Outbox, running::BoxFuture},
    service::{caller::Caller, extension::ExtensionSpec},
    wire::{
        append_members,
        modern::{self, CachePolicy},
        one_line,
        project::Project,
        revision::Revision,
        to_json, write_json,
    },
};

/// A server: a function from calls to replies. Everything else is around it.
///
/// `initialize`, `server/discover`, `ping`, log levels and subscriptions never arrive here: they are answered from
/// [`Service::describe`] and [`Service::hub`].
///
/// ```
/// use std::sync::Arc;
/// use couplet_core::{BoxFuture, Call, Description, ResultBody, Hub, Reply, Service};
/// use couplet_types::{Implementation, ServerCapabilities};
/// use serde_json::json;
///
/// struct Echo(Hub);
///
/// impl Service for Echo {
///     fn describe(&self) -> Arc<Description> {
///         let mut capabilities = ServerCapabilities::default();
///         capabilities.tools = Some(Default::default());
///         Arc::new(Description::new(Implementation::new("echo", "1.0.0"), capabilities))
///     }
///     fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
///         Box::pin(async move {
///             match &*call.method {
///                 "tools/call" => Reply::Complete(ResultBody::value(&json!({ "content": [] }))),
///                 _ => Reply::Complete(ResultBody::value(&json!({ "tools": [] }))),
///             }
///         })
///     }
///     fn hub(&self) -> &Hub {
///         &self.0
///     }
/// }
/// ```
pub trait Service: Send + Sync + 'static {
    /// What the server is and can do at this moment.
    fn describe(&self) -> Arc<Description>;

    /// Answers one call. The call is cancelled by dropping the future.
    fn call(&self, call: Call) -> BoxFuture<'static, Reply>;

    /// Where changes are announced.
    fn hub(&self) -> &Hub;

    /// Hears of a notification from a client that is not about a running request.
    fn notified(&self, note: ClientNotification) {
        drop(note);
    }

    /// The arguments of a tool that are mirrored in headers, where there are headers.
    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let _ = tool;
        None
    }

    /// What somebody must be allowed to do before a request is taken, if it asks for anything.
    fn required_scopes(&self, method: &str, params: &Params) -> Option<Arc<[String]>> {
        let _ = (method, params);
        None
    }

    /// Whether a resource can be subscribed to.
    fn has_resource(&self, uri: &str) -> bool {
        let _ = uri;
        true
    }
}

/// A notification from a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientNotification {
    /// What happened.
    pub method: Cow<'static, str>,
    /// To what.
    pub params: Params,
    /// Who says so, where there is a session.
    pub peer: Option<Arc<Peer>>,
}

impl ClientNotification {
    pub(crate) fn new(method: Cow<'static, str>, params: Params, peer: Option<Arc<Peer>>) -> Self {
        Self { method, params, peer }
    }
}

/// What a transport knows of a request beyond the protocol, such as the head of an HTTP request.
pub trait RequestContext: Any + fmt::Debug + Send + Sync {
    /// The id of the session that the request belongs to, where sessions have one.
    fn session_id(&self) -> Option<&str> {
        None
    }
}

/// One request on its way to its handler, the same in every revision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// What to do.
    pub method: Cow<'static, str>,
    /// With what, not yet read.
    pub params: Params,
    /// Who asks.
    pub peer: Arc<Peer>,
    /// How the answer has to look.
    pub revision: Revision,
    /// The way to tell the client something before the answer.
    pub outbox: Outbox,
    /// The way to ask the client something.
    pub inputs: Inputs,
    /// Who was authenticated, if anybody was.
    pub caller: Option<Arc<Caller>>,
    /// What the transport knows of the request, if it says anything: see [`Call::request`].
    pub context: Option<Arc<dyn RequestContext>>,
}

/// Who was authenticated, and what the transport knows of the request.
pub(crate) type Asker = (Option<Arc<Caller>>, Option<Arc<dyn RequestContext>>);

impl Call {
    pub(crate) fn new(
        method: Cow<'static, str>,
        params: Params,
        peer: Arc<Peer>,
        revision: Revision,
        outbox: Outbox,
        inputs: Inputs,
        (caller, context): Asker,
    ) -> Self {
        Self { method, params, peer, revision, outbox, inputs, caller, context }
    }

    /// What the transport knows of the request, as the transport's own type; nothing on another transport.
    pub fn request<T: RequestContext>(&self) -> Option<Arc<T>> {
        let context: Arc<dyn Any + Send + Sync> = self.context.clone()?;
        context.downcast().ok()
    }

    /// The id of the session that the request belongs to, where the transport has one. It is a secret.
    pub fn session_id(&self) -> Option<&str> {
        self.context.as_ref()?.session_id()
    }

    /// The name of whoever was authenticated, if anybody was.
    pub fn principal(&self) -> Option<&str> {
        self.caller.as_ref().map(|caller| &**caller.principal())
    }

    /// The name of the tool that is called; `None` where the call is not one of a tool.
    pub fn tool_name(&self) -> Option<Cow<'_, str>> {
        if self.method != "tools/call" {
            return None;
        }
        self.params.read_str("name").ok().flatten()
    }

    /// The `arguments` of the call of a tool or a prompt, and nothing else of its parameters; the empty object where
    /// there are none.
    pub fn arguments(&self) -> JsonText {
        let given = self.params.get("arguments").filter(|given| given.as_bytes() != "null");
        given.unwrap_or_else(JsonText::empty_object)
    }

    /// The open `_meta` of the request, without the keys that are the protocol's own.
    ///
    /// # Errors
    /// -32602 when it is not an object.
    pub fn meta(&self) -> Result<Meta, RpcError> {
        Ok(modern::without_reserved(self.params.read_opt("_meta")?.unwrap_or_default()))
    }
}

/// What is known about the client that asks.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Peer {
    /// The revision that is spoken, to show to a person.
    pub version: ProtocolVersion,
    /// What the client says it is. Not to be trusted.
    pub info: Option<Implementation>,
    /// What the client can do.
    pub capabilities: ClientCapabilities,
}

impl Peer {
    /// The settings with which the client declares an extension; `None` if it does not.
    pub fn extension(&self, id: &str) -> Option<&RawJson> {
        extension::declared(&self.capabilities, id)
    }
}

/// What a server says about itself.
#[derive(Debug)]
#[non_exhaustive]
pub struct Description {
    /// Its name and version.
    pub info: Implementation,
    /// The revisions that it speaks, the preferred one first.
    pub versions: Vec<ProtocolVersion>,
    /// What it serves.
    pub capabilities: ServerCapabilities,
    /// How to use it, for the model.
    pub instructions: Option<String>,
    /// How long lists and resources may be kept, where they do not say so themselves.
    pub cache: CachePolicy,
    /// Methods beyond the specification that it serves.
    pub extra_methods: Vec<String>,
    /// What its extensions add.
    pub extensions: Vec<ExtensionSpec>,
    /// Whether results carry the server's name and version.
    pub show_info: bool,
    info_text: OnceLock<Vec<u8>>,
}

impl Description {
    /// A server that speaks every revision.
    pub fn new(info: Implementation, capabilities: ServerCapabilities) -> Self {
        Self {
            info,
            versions: ProtocolVersion::ALL.iter().copied().rev().collect(),
            capabilities,
            instructions: None,
            cache: CachePolicy::default(),
            extra_methods: Vec::new(),
            extensions: Vec::new(),
            show_info: true,
            info_text: OnceLock::new(),
        }
    }

    /// What its extensions add in a revision.
    pub(crate) fn extensions_in(&self, revision: Revision) -> impl Iterator<Item = &ExtensionSpec> {
        self.extensions.iter().filter(move |e| e.exists_in(revision))
    }

    pub(crate) fn version_names(&self) -> Vec<String> {
        self.versions.iter().map(|v| v.as_str().to_owned()).collect()
    }

    /// The name and version as they stand in every stateless result.
    pub(crate) fn info_text(&self) -> Option<&[u8]> {
        self.show_info.then(|| self.info_text.get_or_init(|| to_json(&self.info)).as_slice())
    }
}

/// The answer to a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// It is done.
    Complete(ResultBody),
    /// It has a result of a kind that an extension adds, which the server's [`Description`] names. Only where results
    /// have a kind, and only for a client that declared the extension.
    Extension {
        /// The kind.
        kind: Cow<'static, str>,
        /// The result.
        done: ResultBody,
    },
    /// The client must answer some questions and ask again. Handlers that use [`Call::inputs`] need not build it.
    InputRequired {
        /// The questions, each under a key.
        asks: Vec<(String, InputRequest)>,
        /// What the client must send back.
        state: Option<String>,
    },
    /// It failed.
    Error(RpcError),
}

impl Reply {
    /// The answer to the call of a tool that failed, in words for the model: from middleware, in place of the tool.
    pub fn tool_error(call: &Call, message: impl Into<String>) -> Self {
        Self::Complete(call.revision.done(CallToolResult::error(message)))
    }
}

impl From<RpcError> for Reply {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// A result, printed for the revision that the client speaks.
#[derive(Clone, Debug)]
pub struct ResultBody {
    /// The members of the result but `_meta`, in one line; up to a long text if there is one.
    pub(crate) body: Bytes,
    pub(crate) long: Option<Long>,
    pub(crate) meta: Option<Meta>,
    pub(crate) cache: Option<CacheHint>,
}

/// A long text inside of a result.
#[derive(Clone, Debug)]
pub(crate) struct Long {
    /// The text, escaped.
    pub(crate) text: Bytes,
    /// What comes after it.
    pub(crate) rest: Bytes,
}

/// How long one result may be kept, where it says so itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct CacheHint {
    pub(crate) ttl_ms: Option<u64>,
    pub(crate) scope: Option<couplet_types::CacheScope>,
}

impl ResultBody {
    /// A result that is already JSON, for services that do without the typed model. It should be an object.
    ///
    /// Members that say what kind of result it is are left out: they are added for the client's revision.
    pub fn json(result: &JsonText) -> Self {
        Self::parsed(result, true)
    }

    /// The same for a result that is never cached: members that are called as those of caching are its own.
    pub fn uncached_json(result: &JsonText) -> Self {
        Self::parsed(result, false)
    }

    fn parsed(result: &JsonText, caches: bool) -> Self {
        let Ok(members) = Params::from_text(result.clone()) else {
            return Self { body: one_line(result.as_bytes().clone()), long: None, meta: None, cache: None };
        };
        let mut body = b"{".to_vec();
        let mut cache = CacheHint::default();
        let mut cacheable = false;
        let mut meta = None;
        for (key, value) in members.iter() {
            match &*key {
                "_meta" => meta = value.parse().ok().map(modern::without_reserved),
                key if modern::is_added(key) => {}
                "ttlMs" if caches => (cacheable, cache.ttl_ms) = (true, value.parse().ok()),
                "cacheScope" if caches => (cacheable, cache.scope) = (true, value.parse().ok()),
                _ => {
                    if body.len() > 1 {
                        body.push(b',');
                    }
                    crate::wire::write_json(&mut body, &*key);
                    body.push(b':');
                    body.extend_from_slice(value.as_bytes());
                }
            }
        }
        body.push(b'}');
        Self { body: one_line(body.into()), long: None, meta, cache: cacheable.then_some(cache) }
    }

    /// Whether it is the result of a tool that says that it failed.
    pub fn is_failed_tool(&self) -> bool {
        #[derive(serde::Deserialize)]
        struct Tool {
            #[serde(rename = "isError", default)]
            is_error: bool,
        }
        let rest = self.long.as_ref().map_or(&b""[..], |long| &long.rest);
        let whole = [&*self.body, rest].concat();
        serde_json::from_slice::<Tool>(&whole).is_ok_and(|tool| tool.is_error)
    }

    /// The members of the result, but `_meta`, as they will be sent.
    pub fn members(&self) -> JsonText {
        JsonText::trusted(self.whole())
    }

    /// The same result with other members.
    #[must_use]
    pub fn with_members(self, members: &JsonText) -> Self {
        Self { body: one_line(members.as_bytes().clone()), long: None, ..self }
    }

    /// The result as one text, `_meta` included, without what is added for the client's revision.
    pub fn text(&self) -> JsonText {
        let mut out = b"{".to_vec();
        if let Some(meta) = self.meta.as_ref().filter(|m| !m.is_empty()) {
            out.extend_from_slice(br#""_meta":"#);
            write_json(&mut out, meta);
        }
        append_members(&mut out, &self.whole());
        out.push(b'}');
        JsonText::trusted(one_line(out.into()))
    }

    /// The members of the result but `_meta`, with a long text if there is one.
    pub(crate) fn whole(&self) -> Bytes {
        match &self.long {
            Some(long) => [&*self.body, &long.text, &long.rest].concat().into(),
            None => self.body.clone(),
        }
    }

    /// The result that says nothing, `{}`.
    pub fn empty() -> Self {
        Self { body: Bytes::from_static(b"{}"), long: None, meta: None, cache: None }
    }

    /// The same result as one that may be kept, where the revision says so: for as long as the server's other lists, if
    /// the result does not say how long itself.
    #[must_use]
    pub fn cacheable(mut self) -> Self {
        self.cache.get_or_insert_default();
        self
    }

    /// Any value that prints as an object.
    pub fn value<T: Serialize>(result: &T) -> Self {
        Self::json(&JsonText::trusted(to_json(result).into()))
    }
}

impl Revision {
    /// Prints a typed result for this revision.
    pub fn done<T: Project + HasMeta + Serialize>(self, mut result: T) -> ResultBody {
        let cache = result.take_cache();
        result.project(self);
        let meta = result.meta_mut().take().map(modern::without_reserved);
        let long = result.take_long();
        let mut body = buffers::buffer(result.size_hint());
        write_json(&mut body, &result);
        let body = one_line(buffers::bytes(body));
        let Some((text, front)) = long else { return ResultBody { body, long: None, meta, cache } };
        if !body.starts_with(front) {
            // A test holds what is in front of a long text against the types. Should they differ, nothing is lost.
            result.put_back(text);
            return ResultBody { body: one_line(to_json(&result).into()), long: None, meta, cache };
        }
        let (front, rest) = (body.slice(..front.len()), body.slice(front.len()..));
        ResultBody { body: front, long: Some(Long { text: escaped(text), rest }), meta, cache }
    }
}

impl fmt::Debug for dyn Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("info", &self.describe().info).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use couplet_types::{AudioContent, CallToolResult, ContentBlock, ImageContent, TextContent};
    use serde_json::{Value, json};

    use super::*;

    fn parsed(done: &ResultBody) -> Value {
        serde_json::from_str(done.text().as_str()).unwrap()
    }

    #[test]
    fn a_long_text_of_every_kind_is_sent_from_where_it_is() {
        let text = "QUJD".repeat(16 << 10);
        for (kind, member, block) in [
            ("text", "text", ContentBlock::Text(TextContent::new(text.clone()))),
            ("image", "data", ContentBlock::Image(ImageContent::new(text.clone(), "image/png"))),
            ("audio", "data", ContentBlock::Audio(AudioContent::new(text.clone(), "audio/wav"))),
        ] {
            for &version in ProtocolVersion::ALL {
                let revision = Revision::of(version);
                let mut result = CallToolResult::new(vec![block.clone(), ContentBlock::text("more")]);
                result.structured_content = Some(RawJson::new(&json!({ "a": 1 })).unwrap());
                let done = revision.done(result.clone());
                result.project(revision);
                assert_eq!(parsed(&done), serde_json::to_value(&result).unwrap(), "{version}: {kind}");
                let first = &parsed(&done)["content"][0];
                // What a revision lacks is told in a few words.
                let is_told = first["type"] == kind;
                assert!(is_told || version == ProtocolVersion::V2024_11_05, "{version}: {kind}");
                assert_eq!((done.long.is_some(), first[member] == text), (is_told, is_told), "{version}: {kind}");
            }
        }
    }

    /// A value that does not begin as it says.
    #[derive(Clone, Serialize)]
    struct Odd {
        first: u8,
        text: String,
        #[serde(skip)]
        meta: Option<Meta>,
    }

    impl HasMeta for Odd {
        fn meta(&self) -> Option<&Meta> {
            self.meta.as_ref()
        }

        fn meta_mut(&mut self) -> &mut Option<Meta> {
            &mut self.meta
        }
    }

    impl Project for Odd {
        fn project(&mut self, _: Revision) {}

        fn take_long(&mut self) -> Option<(String, &'static [u8])> {
            Some((std::mem::take(&mut self.text), br#"{"text":""#))
        }

        fn put_back(&mut self, text: String) {
            self.text = text;
        }
    }

    #[test]
    fn a_long_text_behind_something_else_is_sent_all_the_same() {
        let done = Revision::oldest().done(Odd { first: 1, text: "long".to_owned(), meta: None });
        assert_eq!(parsed(&done), json!({ "first": 1, "text": "long" }));
    }
}
