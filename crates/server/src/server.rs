//! The builder of a server.

use std::{collections::HashMap, fmt, future::Future, panic::Location, sync::Arc, time::Duration};

use couplet_core::{
    CachePolicy, Call, ClientNotification, Error, Limits, Observer, Reply, Revision, Sealer, Transport,
};
use couplet_types::{CacheScope, Implementation, ProtocolVersion};

use crate::{
    checks::Validation,
    extension::Extension,
    handle::ServerHandle,
    inner::{Config, Inner, Listener, Method},
    lifespan::Lifespan,
    middleware::{self, Middleware, Next},
    mount::{IntoService, Mount, Outward},
    prompt::{IntoPrompt, PromptDef},
    resource::{IntoResource, ResourceDef},
    schema::SchemaDialect,
    tool::{IntoTool, ToolDef},
};

/// A server: what it offers, and how it is configured. It speaks every revision of the protocol.
///
/// Handlers may need a state, `S`; [`Server::with_state`] gives it to them. What is offered decides which
/// capabilities are advertised.
///
/// ```no_run
/// use couplet_server::{Server, tool};
/// # use couplet_core::{BoxFuture, Error, Limits, Service, Transport};
/// # struct Stdio;
/// # impl Transport for Stdio {
/// #     fn serve(self, _: std::sync::Arc<dyn Service>, _: Limits) -> BoxFuture<'static, Result<(), Error>> {
/// #         Box::pin(async { Ok(()) })
/// #     }
/// # }
/// # fn stdio() -> Stdio { Stdio }
///
/// # async fn run() -> Result<(), Error> {
/// Server::new("hello", "1.0.0")
///     .instructions("Call `hello` when you meet somebody.")
///     .tool(tool("hello", || "Hello!").description("Says hello."))
///     .serve(stdio())
///     .await
/// # }
/// ```
#[must_use = "a server does nothing until it is served"]
pub struct Server<S = ()> {
    config: Config,
    tools: Vec<ToolDef<S>>,
    resources: Vec<ResourceDef<S>>,
    prompts: Vec<PromptDef<S>>,
    methods: HashMap<String, (Method, &'static Location<'static>)>,
    middleware: Vec<Middleware>,
    listeners: Vec<Listener>,
    mounts: Vec<Mount>,
    extensions: Vec<Extension>,
}

/// Where the caller is, for messages about what it registered.
#[track_caller]
pub(crate) fn place_of() -> &'static Location<'static> {
    Location::caller()
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// A server with a name and a version, and nothing to offer yet.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let config = Config {
            info: Implementation::new(name, version),
            versions: ProtocolVersion::ALL.iter().copied().rev().collect(),
            instructions: None,
            cache: CachePolicy::default(),
            show_info: true,
            limits: Limits::default(),
            page_size: 500,
            timeout: Some(Duration::from_secs(60)),
            observer: None,
            sealer: Sealer::random(),
            dialect: SchemaDialect::Portable,
            validation: Validation::default(),
            deny_unknown: false,
            hide_forbidden: false,
            dynamic: false,
        };
        Self {
            config,
            tools: Vec::new(),
            resources: Vec::new(),
            prompts: Vec::new(),
            methods: HashMap::new(),
            middleware: Vec::new(),
            listeners: Vec::new(),
            mounts: Vec::new(),
            extensions: Vec::new(),
        }
    }

    /// Offers a tool.
    ///
    /// # Panics
    /// When the name is not one, the arguments are not an object, or a schema is broken. Two tools of one name panic
    /// when the server is built, naming both places.
    #[track_caller]
    pub fn tool(mut self, tool: impl IntoTool<S>) -> Self {
        self.tools.push(or_panic(tool.into_tool().checked(&self.config, place_of())));
        self
    }

    /// Offers a resource or a resource template.
    ///
    /// # Panics
    /// When the URI is neither a URI nor a template.
    #[track_caller]
    pub fn resource(mut self, resource: impl IntoResource<S>) -> Self {
        self.resources.push(or_panic(resource.into_resource().checked(place_of())));
        self
    }

    /// Offers a prompt.
    ///
    /// # Panics
    /// When the arguments are not an object.
    #[track_caller]
    pub fn prompt(mut self, prompt: impl IntoPrompt<S>) -> Self {
        self.prompts.push(or_panic(prompt.into_prompt().checked(place_of())));
        self
    }

    /// Offers everything that another server offers, under a prefix: its tools and prompts as `prefix_name`, its
    /// resources with the prefix as the first part of their path. Changes there are told here.
    ///
    /// ```
    /// use couplet_server::{Server, resource, tool};
    ///
    /// let weather: Server =
    ///     Server::new("weather", "1.0.0").tool(tool("today", || "rain")).resource(resource("sky://now", || "grey"));
    /// // A tool `weather_today`, and a resource `sky://weather/now`.
    /// let city: Server = Server::new("city", "1.0.0").mount("weather", weather);
    /// ```
    ///
    /// # Panics
    /// When the prefix is empty, has other characters than a name, or cannot be told from that of another server.
    #[track_caller]
    pub fn mount(mut self, prefix: impl AsRef<str>, server: impl IntoService) -> Self {
        let mount = or_panic(Mount::new(prefix.as_ref(), server.into_service(), &self.mounts));
        self.mounts.push(mount);
        self
    }

    /// Gives the handlers their state.
    ///
    /// # Panics
    /// When two tools, resources or prompts have one name.
    #[track_caller]
    pub fn with_state(self, state: S) -> Server<()> {
        Server {
            tools: self.tools.into_iter().map(|t| t.bind(&state)).collect(),
            resources: self.resources.into_iter().map(|r| r.bind(&state)).collect(),
            prompts: self.prompts.into_iter().map(|p| p.bind(&state)).collect(),
            config: self.config,
            methods: self.methods,
            middleware: self.middleware,
            listeners: self.listeners,
            mounts: self.mounts,
            extensions: self.extensions,
        }
    }

    /// Makes the state when the server starts, and puts it away when it ends.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use couplet_server::{Server, extract::State, tool};
    ///
    /// #[derive(Clone)]
    /// struct Database(Arc<str>);
    ///
    /// let server = Server::new("app", "1.0.0")
    ///     .tool(tool("name", |State(database): State<Database>| database.0.to_string()))
    ///     .lifespan(
    ///         || async { Ok::<_, std::io::Error>(Database("main".into())) },
    ///         |database: Database| async move { drop(database) },
    ///     );
    /// ```
    pub fn lifespan<Start, Starting, E, Stop, Stopping>(self, start: Start, stop: Stop) -> Lifespan<S, Start, Stop>
    where
        Start: FnOnce() -> Starting,
        Starting: Future<Output = Result<S, E>>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
        Stop: FnOnce(S) -> Stopping,
        Stopping: Future<Output = ()>,
    {
        Lifespan { server: self, start, stop }
    }

    /// Puts a function around every call: it sees the call, and decides whether and how it goes on. The first one
    /// added is the outermost.
    ///
    /// ```
    /// use couplet_core::{Call, Reply};
    /// use couplet_server::{Next, Server};
    ///
    /// async fn audit(call: Call, next: Next) -> Reply {
    ///     let method = call.method.clone();
    ///     let reply = next.run(call).await;
    ///     tracing::info!(%method, ok = !matches!(reply, Reply::Error(_)), "called");
    ///     reply
    /// }
    ///
    /// let server: Server = Server::new("app", "1.0.0").middleware(audit);
    /// ```
    pub fn middleware<F, Fut>(mut self, middleware: F) -> Self
    where
        F: Fn(Call, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        self.middleware.push(middleware::erase(middleware));
        self
    }

    /// Lets somebody watch the calls: for measurements, and to make them part of the trace that they name. Spans for
    /// [`tracing`] are there without it.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.config.observer = Some(Arc::new(observer));
        self
    }

    /// Answers a method beyond the specification.
    ///
    /// # Panics
    /// When the specification has a method of that name, or the server has one already.
    #[track_caller]
    pub fn method<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let (name, place) = (name.into(), place_of());
        let is_known = ProtocolVersion::ALL.iter().copied().any(|version| Revision::of(version).has_method(&name));
        assert!(
            !is_known,
            "the method `{name}` is the specification's own, and answered already: registered at {place}"
        );
        let method: Method = Arc::new(move |call| Box::pin(handler(call)));
        if let Some((_, other)) = self.methods.insert(name.clone(), (method, place)) {
            panic!("there are two methods called `{name}`: one registered at {other}, one at {place}");
        }
        self
    }

    /// Adds an extension. Without this, a server has none.
    ///
    /// # Panics
    /// When the server has it already.
    #[track_caller]
    pub fn extension(mut self, extension: impl Into<Extension>) -> Self {
        let mut extension = extension.into();
        self.listeners.append(&mut extension.listeners);
        let id = &extension.extra.id;
        assert!(self.extensions.iter().all(|e| e.extra.id != *id), "the extension `{id}` is registered twice");
        self.extensions.push(extension);
        self
    }

    /// Hears of a client's notifications, such as `notifications/roots/list_changed`.
    pub fn on_notification(mut self, listener: impl Fn(&ClientNotification) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }

    /// How to use the server, for the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.config.instructions = Some(instructions.into());
        self
    }

    /// The name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.config.info.title = Some(title.into());
        self
    }

    /// Everything that the server says about itself.
    pub fn info(mut self, info: Implementation) -> Self {
        self.config.info = info;
        self
    }

    /// Leaves the server's name and version out of results.
    pub fn hide_info(mut self) -> Self {
        self.config.show_info = false;
        self
    }

    /// The revisions that are spoken, the preferred one first; all by default.
    pub fn versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.config.versions = versions.into_iter().collect();
        self
    }

    /// Serves lists even while they are empty, because they will be filled at run time.
    pub fn advertise_empty_lists(mut self) -> Self {
        self.config.dynamic = true;
        self
    }

    /// Lists a tool only for callers that have its scopes. A forbidden tool is still refused by name, with the scopes
    /// that it needs. The list of tools is then cached for one caller only.
    ///
    /// ```
    /// use couplet_server::{Server, tool};
    ///
    /// let server: Server = Server::new("tickets", "1.0.0")
    ///     .hide_forbidden()
    ///     .tool(tool("list", || "none"))
    ///     .tool(tool("purge", || "gone").scopes(["tickets:admin"]));
    /// ```
    pub fn hide_forbidden(mut self) -> Self {
        self.config.hide_forbidden = true;
        self
    }

    /// Lists plain JSON Schema 2020-12, with references, instead of the form that every host accepts: for all tools,
    /// before and after this call.
    #[track_caller]
    pub fn plain_schemas(mut self) -> Self {
        self.config.dialect = SchemaDialect::Plain;
        self.rechecked()
    }

    /// How far arguments and structured output are checked against the schemas of all tools, before and after this call.
    ///
    /// # Panics
    /// When a schema cannot be used by the complete validator.
    #[track_caller]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.config.validation = validation;
        self.rechecked()
    }

    /// Refuses arguments that a tool does not know, in all tools before and after this call whose arguments are a type:
    /// as `#[serde(deny_unknown_fields)]` would. Without it an unknown argument is ignored, as serde does, and named only
    /// where another one is wrong. Schemas then say `"additionalProperties": false`.
    #[track_caller]
    pub fn deny_unknown_arguments(mut self) -> Self {
        self.config.deny_unknown = true;
        self.rechecked()
    }

    /// Registers all tools once more, with the configuration as it is now.
    #[track_caller]
    fn rechecked(mut self) -> Self {
        for tool in std::mem::take(&mut self.tools) {
            self.tools.push(or_panic(tool.rechecked(&self.config)));
        }
        self
    }

    /// How long clients may keep lists and resources, and who may: not at all by default.
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        self.config.cache = CachePolicy { ttl_ms, scope };
        self
    }

    /// The limits of each connection.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// How many entries a page of a list has: 500 by default.
    pub fn page_size(mut self, entries: usize) -> Self {
        self.config.page_size = entries.max(1);
        self
    }

    /// How long a call may take: 60 seconds by default. Waiting for the client's answer does not count.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.config.timeout = Some(limit);
        self
    }

    /// Calls may take as long as they want.
    pub fn no_timeout(mut self) -> Self {
        self.config.timeout = None;
        self
    }

    /// The key that seals the state of calls that ask the client; several instances of one server share it. By
    /// default every process has its own.
    pub fn request_state_key(mut self, key: [u8; 32]) -> Self {
        self.config.sealer = Sealer::new(key);
        self
    }

    /// The sealer for the state of calls that ask the client, with its own lifetime and size.
    pub fn sealer(mut self, sealer: Sealer) -> Self {
        self.config.sealer = sealer;
        self
    }
}

/// A server whose handlers have their state, or need none.
#[diagnostic::on_unimplemented(
    message = "the handlers of this server have no state yet: `{Self}`",
    label = "call `.with_state(..)` first",
    note = "`Server::with_state` gives a `Server<()>`, which can be built and served"
)]
pub trait Ready {
    /// The server itself.
    fn ready(self) -> Server<()>;
}

impl Ready for Server<()> {
    fn ready(self) -> Self {
        self
    }
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Makes the server ready, to be served or connected to.
    ///
    /// # Panics
    /// When two tools, resources or prompts have one name.
    #[track_caller]
    pub fn build(self) -> ServerHandle
    where
        Self: Ready,
    {
        let Server { config, tools, resources, prompts, methods, middleware, listeners, mounts, mut extensions } =
            self.ready();
        let extended: Vec<_> = extensions.iter_mut().flat_map(|e| std::mem::take(&mut e.resources)).collect();
        let methods = methods.into_iter().map(|(name, (method, _))| (name, method)).collect();
        let handle = ServerHandle(Arc::new(Inner::new(config, methods, middleware, listeners, mounts, extensions)));
        let inner = &handle.0;
        or_panic(inner.resources.add_all(resources));
        or_panic(inner.resources.add_all(extended));
        or_panic(inner.prompts.add_all(prompts));
        tools.iter().for_each(|tool| or_panic(handle.check_tool(tool)));
        or_panic(inner.tools.add_all(tools));
        inner.refresh();
        for mount in inner.mounts.clone() {
            let outer = Arc::downgrade(inner);
            let refresh = move || outer.upgrade().iter().for_each(|inner| inner.refresh());
            let service = mount.service.clone();
            inner.hub.relay(service.hub(), Outward { mount, refresh: Box::new(refresh) });
        }
        handle
    }

    /// Serves until the other side is gone.
    ///
    /// # Errors
    /// When the transport fails.
    ///
    /// # Panics
    /// When two tools, resources or prompts have one name.
    #[track_caller]
    pub fn serve(self, transport: impl Transport) -> impl Future<Output = Result<(), Error>>
    where
        Self: Ready,
    {
        self.build().serve(transport)
    }
}

/// Only the developer can have made the mistake, so it is said at once.
#[track_caller]
fn or_panic<T>(checked: Result<T, String>) -> T {
    match checked {
        Ok(value) => value,
        Err(what) => panic!("{what}"),
    }
}

impl<S> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.config.info)
            .field("tools", &self.tools)
            .field("resources", &self.resources)
            .field("prompts", &self.prompts)
            .finish_non_exhaustive()
    }
}
