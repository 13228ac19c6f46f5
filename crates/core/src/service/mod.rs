//! The server side as one trait: [`Service`], its [`Call`]s and [`Reply`]s.

pub(crate) mod caller;
pub(crate) mod extension;
pub mod idempotency;
pub(crate) mod metric;
pub(crate) mod observer;
pub(crate) mod result;
pub(crate) mod wrap;

use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use couplet_types::{
    CallToolResult, ClientCapabilities, Implementation, InputRequest, Meta, ProtocolVersion, RawJson, RequestMethod,
    RpcError, ServerCapabilities,
};

pub use self::result::{CacheHint, ResultBody};
use crate::{
    http::headers::ParamHeader,
    message::{Params, scan::JsonText},
    server::{hub::Hub, input::Inputs, outbox::Outbox, running::BoxFuture},
    service::{
        caller::{Caller, Sender},
        extension::ExtensionSpec,
        metric::Metric,
    },
    wire::{
        modern::{self, CachePolicy},
        revision::Revision,
        to_json,
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

    /// Returns the OAuth scopes that a request requires, if any; `None` for one about an item that is hidden from its
    /// sender, because a challenge would reveal that the item exists.
    fn required_scopes(&self, method: &str, params: &Params, sender: Sender<'_>) -> Option<Arc<[String]>> {
        let _ = (method, params, sender);
        None
    }

    /// Returns the URI template that serves a resource; `None`, the default, if there is none or it is not known.
    fn template_of(&self, uri: &str) -> Option<String> {
        let _ = uri;
        None
    }

    /// Returns whether a client may subscribe to a resource.
    fn has_resource(&self, uri: &str) -> bool {
        let _ = uri;
        true
    }

    /// Returns whether this caller may subscribe to a resource; by default, all may. Called once for each resource of a
    /// request, also for one that does not [exist](Service::has_resource).
    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        let _ = (uri, caller);
        true
    }

    /// Returns the work that has to be done before a subscription to these resources is acknowledged, such as a
    /// subscription at another server; `None`, the default, if there is none.
    ///
    /// The future returns the resources that cannot be subscribed to. The [hub](Service::hub) has the subscription
    /// meanwhile, so that no change is missed, and without these resources afterwards. In a session, the request fails with
    /// the error; a stateless subscription is acknowledged without them, and fails if nothing is left of it.
    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        let _ = uris;
        None
    }

    /// Returns the work that has to be done while the service is served, such as receiving the changes of other
    /// replicas; `None`, the default, if there is none.
    ///
    /// A transport runs the future for as long as it serves, and drops it at its end. A service that is served more than
    /// once returns a future each time, and sees to it that only one of them does the work.
    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Returns the numbers that the service reports to operators (default: none). A transport that has a page for them asks
    /// when the page is requested; metrics with the same name and label are added up.
    fn metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// Returns the work that has to be done at a graceful shutdown, beside the calls: work without a request is completed or
    /// handed over to another replica, such as running tasks. `None`, the default, if there is none.
    ///
    /// A transport runs the future while it drains its connections, and for what these leave behind once more. It completes
    /// when nothing is left; after `grace` it gives up what is, and completes within seconds.
    /// A service that several transports serve is drained by each of them that is shut down.
    fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        let _ = grace;
        None
    }
}

/// The resources that cannot be subscribed to, each with its error: see [`Service::subscribing`].
pub type Refusals = BTreeMap<String, RpcError>;

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

    /// Returns the call with other parameters.
    #[must_use]
    pub fn with_params(&self, params: Params) -> Self {
        let Self { method, peer, revision, outbox, inputs, caller, context, .. } = self;
        let (method, peer, outbox, inputs) = (method.clone(), peer.clone(), outbox.clone(), inputs.clone());
        let (caller, context) = (caller.clone(), context.clone());
        Self { method, params, peer, revision: *revision, outbox, inputs, caller, context }
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

    /// Creates the reply to a tool call with wrong arguments: a result for the model, or -32602 in the revisions that have
    /// an error for it.
    pub fn wrong_arguments(call: &Call, message: impl Into<String>) -> Self {
        match call.revision.wrong_arguments_are_results() {
            true => Self::tool_error(call, message),
            false => Self::Error(RpcError::invalid_params(message)),
        }
    }
}

impl From<RpcError> for Reply {
    fn from(error: RpcError) -> Self {
        Self::Error(error)
    }
}

impl fmt::Debug for dyn Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("info", &self.describe().info).finish_non_exhaustive()
    }
}
