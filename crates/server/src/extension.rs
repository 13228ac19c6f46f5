//! Extensions of the protocol, under an identifier that both sides declare.

use std::{any::Any, fmt, future::Future, panic::Location, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call, ClientNotification, ExtensionMethod, ExtensionSpec, Metric, Reply};
use couplet_types::{Map, Meta, RawJson, ServerCapabilities, Tool};
use serde::Serialize;

use crate::{
    handle::ServerHandle,
    inner::Listener,
    resource::{IntoResource, ResourceDef},
    tool_middleware::{ToolCall, ToolMiddleware, ToolNext},
};

/// An extension of a server: an identifier, settings, methods, resources and middleware. It is inactive until
/// [`Server::extension`](crate::Server::extension).
///
/// Its methods are available to clients that declare the extension; others get an error that names it.
///
/// ```
/// use couplet_core::{ResultBody, Reply};
/// use couplet_server::{Extension, Server};
/// use serde_json::json;
///
/// let clock = Extension::new("com.example/clock")
///     .settings(&json!({ "zones": ["UTC"] }))
///     .method("clock/now", |_, _| async { Reply::Complete(ResultBody::value(&json!({ "now": 0 }))) });
/// let server: Server = Server::new("app", "1.0.0").extension(clock);
/// ```
#[doc = include_str!("docs/extension.md")]
#[must_use = "register it with `Server::extension`"]
pub struct Extension {
    pub(crate) extra: ExtensionSpec,
    settings: RawJson,
    pub(crate) methods: Vec<(String, MethodHandler)>,
    pub(crate) middleware: Vec<ToolMiddleware>,
    pub(crate) resources: Vec<ResourceDef<()>>,
    pub(crate) listeners: Vec<Listener>,
    capabilities: Option<Declare>,
    metrics: Option<Report>,
    drain: Option<Drain>,
}

type Report = Box<dyn Fn() -> Vec<Metric> + Send + Sync>;
type Drain = Box<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;
type Declare = Box<dyn Fn(&mut ServerCapabilities) + Send + Sync>;

/// A method of an extension.
#[derive(Clone)]
pub(crate) struct MethodHandler {
    /// The extension that the client must have declared, where the protocol itself has no such method.
    pub(crate) gate: Option<Arc<str>>,
    pub(crate) run: Arc<dyn Fn(Call, ServerHandle) -> BoxFuture<'static, Reply> + Send + Sync>,
}

impl Extension {
    /// Creates an empty extension. The identifier has a prefix: `com.example/clock`.
    ///
    /// # Panics
    /// If the identifier is invalid.
    #[track_caller]
    pub fn new(id: impl Into<String>) -> Self {
        let extra = ExtensionSpec::new(id);
        assert!(Meta::is_valid_extension(&extra.id), "`{}` is not an extension: it needs a prefix", extra.id);
        let settings = RawJson::empty_object();
        Self {
            extra,
            settings,
            methods: Vec::new(),
            middleware: Vec::new(),
            resources: Vec::new(),
            listeners: Vec::new(),
            capabilities: None,
            metrics: None,
            drain: None,
        }
    }

    /// Sets the settings that the server advertises: any value that serializes to a JSON object.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn settings(mut self, settings: &impl Serialize) -> Self {
        let settings = RawJson::new(settings).ok().filter(RawJson::is_object);
        self.settings = settings.expect("the settings of an extension serialize to an object");
        self
    }

    /// Restricts the extension to stateless revisions (2026-07-28).
    pub fn stateless(mut self) -> Self {
        self.extra.stateless = true;
        self
    }

    /// Adds a method, for clients that declare the extension.
    pub fn method<F, Fut>(self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let gate = Some(self.extra.id.as_str().into());
        self.add(ExtensionMethod::new(name), gate, handler)
    }

    /// Adds a method with a parameter that names its target: over HTTP, clients repeat it in the `Mcp-Name` header.
    pub fn named_method<F, Fut>(self, name: impl Into<String>, parameter: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let gate = Some(self.extra.id.as_str().into());
        self.add(ExtensionMethod::new(name).named_by(parameter), gate, handler)
    }

    /// Adds a method for every client, whether it declares the extension or not.
    pub fn open_method<F, Fut>(self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        self.add(ExtensionMethod::new(name), None, handler)
    }

    /// Adds a handler for a method that the protocol itself has in some revisions. In the others the method does not exist.
    pub fn core_method<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        self.methods.push((name.into(), MethodHandler { gate: None, run: erase(handler) }));
        self
    }

    fn add<F, Fut>(mut self, method: ExtensionMethod, gate: Option<Arc<str>>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        self.methods.push((method.name.clone(), MethodHandler { gate, run: erase(handler) }));
        self.extra.methods.push(method);
        self
    }

    /// Adds a result type, for [`Reply::Extension`] to clients that declare the extension.
    pub fn result_type(mut self, kind: impl Into<String>) -> Self {
        self.extra.result_types.push(kind.into());
        self
    }

    /// Adds a subscription filter: a list of names, for clients that declare the extension. [`ServerHandle::publish`]
    /// notifies them.
    pub fn filter(mut self, member: impl Into<String>) -> Self {
        self.extra.filters.push(member.into());
        self
    }

    /// Adds middleware around every call of a tool: it sees the tool, and decides whether and how it is called.
    ///
    /// ```
    /// use couplet_server::{Extension, ToolCall, ToolNext};
    ///
    /// let counted = Extension::new("com.example/counted").tool_middleware(|request: ToolCall, next: ToolNext| async move {
    ///     tracing::info!(tool = request.tool().name, "called");
    ///     next.run(request.call).await
    /// });
    /// ```
    pub fn tool_middleware<F, Fut>(mut self, middleware: F) -> Self
    where
        F: Fn(ToolCall, ToolNext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        self.middleware.push(Arc::new(move |call, next| Box::pin(middleware(call, next))));
        self
    }

    /// Adds a resource or a resource template, beside those of the server.
    ///
    /// # Panics
    /// If the URI is neither a URI nor a template.
    #[track_caller]
    pub fn resource(mut self, resource: impl IntoResource<()>) -> Self {
        match resource.into_resource().checked(Location::caller()) {
            Ok(resource) => self.resources.push(resource),
            Err(what) => panic!("{what}"),
        }
        self
    }

    /// Adds a listener for notifications from clients. It must not block.
    pub fn on_notification(mut self, listener: impl Fn(&ClientNotification) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Changes the capabilities of the server, for extensions that have a capability of the protocol's own.
    pub fn capabilities(mut self, declare: impl Fn(&mut ServerCapabilities) + Send + Sync + 'static) -> Self {
        self.capabilities = Some(Box::new(declare));
        self
    }

    /// Reports numbers to operators: a page of metrics asks for them when it is requested.
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
    /// use couplet_core::Metric;
    /// use couplet_server::Extension;
    ///
    /// let calls = Arc::new(AtomicU64::new(0));
    /// let counted = Extension::new("com.example/counted").metrics(move || {
    ///     vec![Metric::counter("example_calls_total", "calls of tools", calls.load(Ordering::Relaxed))]
    /// });
    /// ```
    pub fn metrics(mut self, report: impl Fn() -> Vec<Metric> + Send + Sync + 'static) -> Self {
        self.metrics = Some(Box::new(report));
        self
    }

    /// Adds work for a graceful shutdown: see [`Service::drain`](couplet_core::Service::drain).
    pub fn on_drain<F, Fut>(mut self, drain: F) -> Self
    where
        F: Fn(Duration) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.drain = Some(Box::new(move |grace| Box::pin(drain(grace))));
        self
    }

    pub(crate) fn report(&self) -> Vec<Metric> {
        self.metrics.as_ref().map(|report| report()).unwrap_or_default()
    }

    pub(crate) fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        self.drain.as_ref().map(|drain| drain(grace))
    }

    pub(crate) fn declare(&self, can: &mut ServerCapabilities) {
        can.extensions.get_or_insert_with(Map::new).insert(self.extra.id.as_str(), self.settings.clone());
        if let Some(declare) = &self.capabilities {
            declare(can);
        }
    }
}

fn erase<F, Fut>(handler: F) -> Arc<dyn Fn(Call, ServerHandle) -> BoxFuture<'static, Reply> + Send + Sync>
where
    F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Reply> + Send + 'static,
{
    Arc::new(move |call, server| Box::pin(handler(call, server)))
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").field("adds", &self.extra).field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Data of a tool for an extension. [`ToolBuilder::extension_data`](crate::ToolBuilder::extension_data) adds it,
/// [`ToolCall::data`] finds it.
pub trait ToolData: Any + fmt::Debug + Send + Sync {
    /// Returns the identifier of the extension, which the server must have.
    fn extension(&self) -> &'static str;

    /// Adds to the listing of the tool, such as a `_meta` entry.
    fn describe(&self, tool: &mut Tool) {
        let _ = tool;
    }

    /// Checks for mistakes of the developer, when the tool is added to a server that is otherwise complete.
    ///
    /// # Errors
    /// The mistake, as a message; the server is then not built.
    fn check(&self, server: &ServerHandle) -> Result<(), String> {
        let _ = server;
        Ok(())
    }
}
