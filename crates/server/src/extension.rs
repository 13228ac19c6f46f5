//! Extensions: what a server offers beyond the specification, under an identifier that both sides declare.

use std::{any::Any, fmt, future::Future, sync::Arc};

use couplet_core::{BoxFuture, Call, ClientNotification, ExtensionMethod, ExtensionSpec, Reply};
use couplet_types::{Map, Meta, RawJson, ServerCapabilities, Tool};
use serde::Serialize;

use crate::{
    handle::ServerHandle,
    inner::Listener,
    resource::{IntoResource, ResourceDef},
    server::place_of,
    tool_middleware::{ToolCall, ToolMiddleware, ToolNext},
};

/// An extension of a server: an identifier, settings, and what it adds. Nothing of it exists before
/// [`Server::extension`](crate::Server::extension).
///
/// Its methods are served to clients that declare the extension; others get an error that names it.
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
#[must_use = "register it with `Server::extension`"]
pub struct Extension {
    pub(crate) extra: ExtensionSpec,
    settings: RawJson,
    pub(crate) methods: Vec<(String, MethodHandler)>,
    pub(crate) middleware: Vec<ToolMiddleware>,
    pub(crate) resources: Vec<ResourceDef<()>>,
    pub(crate) listeners: Vec<Listener>,
    capabilities: Option<Declare>,
}

type Declare = Box<dyn Fn(&mut ServerCapabilities) + Send + Sync>;

/// A method that an extension answers.
#[derive(Clone)]
pub(crate) struct MethodHandler {
    /// The extension that the client must have declared, where the protocol itself has no such method.
    pub(crate) gate: Option<Arc<str>>,
    pub(crate) run: Arc<dyn Fn(Call, ServerHandle) -> BoxFuture<'static, Reply> + Send + Sync>,
}

impl Extension {
    /// An extension that adds nothing yet. The identifier has a prefix: `com.example/clock`.
    ///
    /// # Panics
    /// When the identifier is not one.
    #[track_caller]
    pub fn new(id: impl Into<String>) -> Self {
        let extra = ExtensionSpec::new(id);
        assert!(Meta::is_valid_extension(&extra.id), "`{}` is not an extension: it needs a prefix", extra.id);
        let settings = RawJson::empty_object();
        let (methods, middleware) = (Vec::new(), Vec::new());
        let (resources, listeners) = (Vec::new(), Vec::new());
        Self { extra, settings, methods, middleware, resources, listeners, capabilities: None }
    }

    /// What the server says about the extension: anything that prints as an object.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn settings(mut self, settings: &impl Serialize) -> Self {
        let printed = RawJson::new(settings).ok().filter(RawJson::is_object);
        self.settings = printed.expect("the settings of an extension print as an object");
        self
    }

    /// It exists only where every request stands alone.
    pub fn stateless(mut self) -> Self {
        self.extra.stateless = true;
        self
    }

    /// Answers a method, for clients that declare the extension.
    pub fn method<F, Fut>(self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let gate = Some(self.extra.id.as_str().into());
        self.add(ExtensionMethod::new(name), gate, handler)
    }

    /// The same for a method with a parameter that names what it is about: over HTTP, a header says it once more.
    pub fn named_method<F, Fut>(self, name: impl Into<String>, parameter: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let gate = Some(self.extra.id.as_str().into());
        self.add(ExtensionMethod::new(name).named_by(parameter), gate, handler)
    }

    /// Answers a method for every client, whether it declares the extension or not.
    pub fn open_method<F, Fut>(self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call, ServerHandle) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        self.add(ExtensionMethod::new(name), None, handler)
    }

    /// Answers a method that the protocol itself has in some revisions, and nothing else in the others.
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

    /// Adds a kind of result, to be replied as [`Reply::Extension`] to clients that declare the extension.
    pub fn result_type(mut self, kind: impl Into<String>) -> Self {
        self.extra.result_types.push(kind.into());
        self
    }

    /// Lets clients that declare the extension ask to be told about things that they name in a list.
    /// [`ServerHandle::publish`] tells them.
    pub fn filter(mut self, member: impl Into<String>) -> Self {
        self.extra.filters.push(member.into());
        self
    }

    /// Puts a function around every call of a tool: it sees the tool, and decides whether and how it is called.
    ///
    /// ```
    /// use couplet_server::{Extension, ToolCall, ToolNext};
    ///
    /// let counted = Extension::new("com.example/counted").tool_middleware(|asked: ToolCall, next: ToolNext| async move {
    ///     tracing::info!(tool = asked.tool().name, "called");
    ///     next.run(asked.call).await
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

    /// Offers a resource or a resource template, beside those of the server.
    ///
    /// # Panics
    /// When the URI is neither a URI nor a template.
    #[track_caller]
    pub fn resource(mut self, resource: impl IntoResource<()>) -> Self {
        match resource.into_resource().checked(place_of()) {
            Ok(resource) => self.resources.push(resource),
            Err(what) => panic!("{what}"),
        }
        self
    }

    /// Hears of a client's notifications.
    pub fn on_notification(mut self, listener: impl Fn(&ClientNotification) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// Declares more than the extension itself, where the protocol has a capability for it.
    pub fn capabilities(mut self, declare: impl Fn(&mut ServerCapabilities) + Send + Sync + 'static) -> Self {
        self.capabilities = Some(Box::new(declare));
        self
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

/// What an extension wants to know about a tool; given to the tool with
/// [`ToolBuilder::extend`](crate::ToolBuilder::extend), found again with [`ToolCall::data`].
pub trait ToolData: Any + fmt::Debug + Send + Sync {
    /// The extension, which the server must have.
    fn extension(&self) -> &'static str;

    /// Adds what the listing of the tool has to say.
    fn describe(&self, tool: &mut Tool) {
        let _ = tool;
    }

    /// Looks for what only the developer can have done wrong, when the tool is added to a server that has everything
    /// else already.
    ///
    /// # Errors
    /// What is wrong: the server is not built.
    fn check(&self, server: &ServerHandle) -> Result<(), String> {
        let _ = server;
        Ok(())
    }
}
