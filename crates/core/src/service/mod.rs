//! The server side as one trait: [`Service`], its [`Call`]s and [`Reply`]s.

pub(crate) mod caller;
pub(crate) mod extension;
pub mod idempotency;
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
    RequestMethod, RpcError, ServerCapabilities,
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

/// An MCP server: a function from calls to replies.
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
    /// Returns the name, revisions and capabilities as they are now.
    fn describe(&self) -> Arc<Description>;

    /// Handles one call. Dropping the future cancels it.
    fn call(&self, call: Call) -> BoxFuture<'static, Reply>;

    /// Returns the hub that publishes changes of lists and resources.
    fn hub(&self) -> &Hub;

    /// Handles a notification that does not belong to a running request.
    fn notified(&self, note: ClientNotification) {
        drop(note);
    }

    /// Returns the arguments of a tool that HTTP clients repeat in `Mcp-Param-*` headers.
    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let _ = tool;
        None
    }

    /// Returns the OAuth scopes that a request requires, if any.
    fn required_scopes(&self, method: &str, params: &Params) -> Option<Arc<[String]>> {
        let _ = (method, params);
        None
    }

    /// Returns whether a client may subscribe to a resource.
    fn has_resource(&self, uri: &str) -> bool {
        let _ = uri;
        true
    }

    /// Returns whether this caller may subscribe to a resource that [exists](Service::has_resource); by default, all may.
    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        let _ = (uri, caller);
        true
    }

    /// Returns the work that has to be done while the service is served, such as receiving the changes of other
    /// replicas; `None`, the default, if there is none.
    ///
    /// A transport runs the future for as long as it serves, and drops it at its end. A service that is served more than
    /// once returns a future each time, and sees to it that only one of them does the work.
    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// A notification from a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientNotification {
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters, unparsed.
    pub params: Params,
    /// The client, if there is a session.
    pub peer: Option<Arc<Peer>>,
}

impl ClientNotification {
    pub(crate) fn new(method: Cow<'static, str>, params: Params, peer: Option<Arc<Peer>>) -> Self {
        Self { method, params, peer }
    }
}

/// Transport data of a request, such as the head of an HTTP request.
pub trait RequestContext: Any + fmt::Debug + Send + Sync {
    /// Returns the session id, if the transport has one.
    fn session_id(&self) -> Option<&str> {
        None
    }
}

/// One request to a [`Service`], the same in every revision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters, unparsed.
    pub params: Params,
    /// The client.
    pub peer: Arc<Peer>,
    /// The negotiated revision, which encodes the result.
    pub revision: Revision,
    /// Sends progress and log notifications.
    pub outbox: Outbox,
    /// Sends elicitation, sampling and roots requests.
    pub inputs: Inputs,
    /// The authenticated caller, if there is one.
    pub caller: Option<Arc<Caller>>,
    /// Transport data of the request, if any: see [`Call::request`].
    pub context: Option<Arc<dyn RequestContext>>,
}

/// The authenticated caller and the transport data of a request.
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

    /// Returns the transport data of the request, or `None` if it has another type (another transport).
    pub fn request<T: RequestContext>(&self) -> Option<Arc<T>> {
        let context: Arc<dyn Any + Send + Sync> = self.context.clone()?;
        context.downcast().ok()
    }

    /// Returns the session id, if the transport has one. Treat it as a secret.
    pub fn session_id(&self) -> Option<&str> {
        self.context.as_ref()?.session_id()
    }

    /// Returns the principal of the authenticated caller, if there is one.
    pub fn principal(&self) -> Option<&str> {
        self.caller.as_ref().map(|caller| &**caller.principal())
    }

    /// Returns the method, if it is one of the protocol itself; `None` for a method of an extension or of the server.
    pub fn known(&self) -> Option<RequestMethod> {
        RequestMethod::from_name(&self.method)
    }

    /// Returns the name of the tool; `None` if the method is not `tools/call`.
    pub fn tool_name(&self) -> Option<Cow<'_, str>> {
        if self.known() != Some(RequestMethod::CallTool) {
            return None;
        }
        self.params.read_str("name").ok().flatten()
    }

    /// Returns the `arguments` of a tool call or prompt; an empty object if there are none.
    pub fn arguments(&self) -> JsonText {
        let given = self.params.get("arguments").filter(|given| given.as_bytes() != "null");
        given.unwrap_or_else(JsonText::empty_object)
    }

    /// Parses the `_meta` of the request, without the keys that the protocol reserves.
    ///
    /// # Errors
    /// -32602 if it is not an object.
    pub fn meta(&self) -> Result<Meta, RpcError> {
        Ok(modern::without_reserved(self.params.read_opt("_meta")?.unwrap_or_default()))
    }
}

/// The client of a call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Peer {
    /// The negotiated revision.
    pub version: ProtocolVersion,
    /// The name and version that the client reports. Do not trust it.
    pub info: Option<Implementation>,
    /// The declared capabilities.
    pub capabilities: ClientCapabilities,
}

impl Peer {
    /// Returns the settings of an extension; `None` if the client did not declare it.
    pub fn extension(&self, id: &str) -> Option<&RawJson> {
        extension::declared(&self.capabilities, id)
    }
}

/// The name, revisions and capabilities of a server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Description {
    /// The name and version.
    pub info: Implementation,
    /// The supported revisions, in order of preference.
    pub versions: Vec<ProtocolVersion>,
    /// The capabilities.
    pub capabilities: ServerCapabilities,
    /// Instructions for the model.
    pub instructions: Option<String>,
    /// The default cache policy of lists and resources.
    pub cache: CachePolicy,
    /// Methods beyond the specification.
    pub extra_methods: Vec<String>,
    /// The extensions.
    pub extensions: Vec<ExtensionSpec>,
    /// Whether stateless results carry the server's name and version.
    pub show_info: bool,
    info_text: OnceLock<Vec<u8>>,
}

impl Description {
    /// Creates a description that supports every revision.
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

    /// The extensions that exist in a revision.
    pub(crate) fn extensions_in(&self, revision: Revision) -> impl Iterator<Item = &ExtensionSpec> {
        self.extensions.iter().filter(move |e| e.exists_in(revision))
    }

    pub(crate) fn version_names(&self) -> Vec<String> {
        self.versions.iter().map(|v| v.as_str().to_owned()).collect()
    }

    /// The name and version, serialized for stateless results.
    pub(crate) fn info_text(&self) -> Option<&[u8]> {
        self.show_info.then(|| self.info_text.get_or_init(|| to_json(&self.info)).as_slice())
    }
}

/// The response to a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Reply {
    /// A result.
    Complete(ResultBody),
    /// A result of a type that an extension adds and the [`Description`] names. Only in the stateless revision, and only
    /// for a client that declared the extension.
    Extension {
        /// The `resultType`.
        kind: Cow<'static, str>,
        /// The result.
        done: ResultBody,
    },
    /// The client must answer these requests and retry (a multi-round-trip request). [`Call::inputs`] builds it.
    InputRequired {
        /// The requests by key.
        asks: Vec<(String, InputRequest)>,
        /// The request state that the client sends back.
        state: Option<String>,
    },
    /// An error.
    Error(RpcError),
}

impl Reply {
    /// Creates the result of a failed tool with a text for the model, for middleware that answers in place of the tool.
    pub fn tool_error(call: &Call, message: impl Into<String>) -> Self {
        Self::Complete(call.revision.encode(CallToolResult::error(message)))
    }
}

impl From<RpcError> for Reply {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

/// A result, serialized for the negotiated revision.
#[derive(Clone, Debug)]
pub struct ResultBody {
    /// The members of the result except `_meta`, in one line; up to the long text if there is one.
    pub(crate) body: Bytes,
    pub(crate) long: Option<Long>,
    pub(crate) meta: Option<Meta>,
    pub(crate) cache: Option<CacheHint>,
}

/// A long string in a result.
#[derive(Clone, Debug)]
pub(crate) struct Long {
    /// The string, escaped.
    pub(crate) text: Bytes,
    /// The bytes after it.
    pub(crate) rest: Bytes,
}

/// The cache policy of one result.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CacheHint {
    /// The time to live in milliseconds; `None` is the server's default.
    pub ttl_ms: Option<u64>,
    /// The callers that may share the result; `None` is the server's default.
    pub scope: Option<couplet_types::CacheScope>,
}

impl ResultBody {
    /// Wraps a result that is JSON already, for services without typed results. It should be an object.
    ///
    /// `resultType` and caching members are removed: the revision adds its own.
    pub fn json(result: &JsonText) -> Self {
        Self::parsed(result, true)
    }

    /// Wraps a result of a method that is never cached: members named like those of caching are kept.
    pub fn uncached_json(result: &JsonText) -> Self {
        Self::parsed(result, false)
    }

    fn parsed(result: &JsonText, caches: bool) -> Self {
        if modern::has_nothing_added(result.as_bytes(), caches) {
            return Self { body: one_line(result.as_bytes().clone()), long: None, meta: None, cache: None };
        }
        let Ok(members) = Params::from_text(result.clone()) else {
            return Self { body: one_line(result.as_bytes().clone()), long: None, meta: None, cache: None };
        };
        let mut body = Vec::with_capacity(result.as_bytes().len());
        body.push(b'{');
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

    /// Returns whether it is a tool result with `isError`.
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

    /// Returns the members of the result except `_meta`, as they will be sent.
    pub fn members(&self) -> JsonText {
        JsonText::trusted(self.whole())
    }

    /// Replaces the members of the result, keeping `_meta`.
    #[must_use]
    pub fn with_members(self, members: &JsonText) -> Self {
        Self { body: one_line(members.as_bytes().clone()), long: None, ..self }
    }

    /// Returns the whole result, `_meta` included, without the members that the revision adds.
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

    /// The members of the result except `_meta`, with the long string if there is one.
    pub(crate) fn whole(&self) -> Bytes {
        match &self.long {
            Some(long) => [&*self.body, &long.text, &long.rest].concat().into(),
            None => self.body.clone(),
        }
    }

    /// Returns the empty result, `{}`.
    pub fn empty() -> Self {
        Self { body: Bytes::from_static(b"{}"), long: None, meta: None, cache: None }
    }

    /// Marks the result as cacheable in revisions with caching: with its own policy, or the server's default.
    #[must_use]
    pub fn cacheable(mut self) -> Self {
        self.cache.get_or_insert_default();
        self
    }

    /// Restricts the caching of a cacheable result to its caller.
    #[must_use]
    pub fn private(mut self) -> Self {
        if let Some(cache) = &mut self.cache {
            cache.scope = Some(couplet_types::CacheScope::Private);
        }
        self
    }

    /// Serializes any value that is a JSON object.
    pub fn value<T: Serialize>(result: &T) -> Self {
        Self::json(&JsonText::trusted(to_json(result).into()))
    }
}

impl Revision {
    /// Serializes a typed result for this revision.
    pub fn encode<T: Project + HasMeta + Serialize>(self, mut result: T) -> ResultBody {
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
                let done = revision.encode(result.clone());
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
    fn a_result_with_nothing_to_remove_is_not_copied() {
        let text = |text: &'static str| JsonText::new(text).unwrap();
        for same in [r#"{"content":[{"type":"text","text":"a\nb"}],"x" : 1.0}"#, "{}", r#"{"ttlMs":1}"#] {
            let result = text(same);
            let done = ResultBody::uncached_json(&result);
            assert_eq!(done.body.as_ptr(), result.as_bytes().as_ptr(), "{same}");
        }
        for (before, after) in [
            (r#"{"ttlMs":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":2,"resultType":"complete"}"#, r#"{"a":2}"#),
            (r#"{"a":2,"\u005fmeta":{"k":1}}"#, r#"{"a":2}"#),
            (r#"{"a":"_meta"}"#, r#"{"a":"_meta"}"#),
        ] {
            assert_eq!(&*ResultBody::json(&text(before)).body, after.as_bytes(), "{before}");
        }
    }

    #[test]
    fn a_long_text_behind_something_else_is_sent_all_the_same() {
        let done = Revision::oldest().encode(Odd { first: 1, text: "long".to_owned(), meta: None });
        assert_eq!(parsed(&done), json!({ "first": 1, "text": "long" }));
    }
}
