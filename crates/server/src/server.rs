//! The builder of a server.

mod config;
mod ready;

use std::{collections::HashMap, fmt, future::Future, panic::Location, sync::Arc, time::Duration};

use couplet_core::{CachePolicy, Call, ClientNotification, IntoService, Limits, Reply, Revision, Sealer};
use couplet_types::{Implementation, ProtocolVersion};

pub use ready::Ready;

use crate::{
    checks::Validation,
    definition::check_unique,
    extension::Extension,
    inner::{Config, Listener, Method},
    lifespan::Lifespan,
    middleware::Middleware,
    mount::Mount,
    prompt::{IntoPrompt, PromptDef},
    resource::{IntoResource, ResourceDef},
    schema::SchemaDialect,
    tool::{IntoTool, ToolDef},
};

/// A server: its tools, resources and prompts, and its configuration.
///
/// The same server answers clients of every protocol revision. Its capabilities follow from what is registered. Nothing
/// runs before it is [served](Server::serve).
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
///     .instructions("Call `hello` to greet the user.")
///     .tool(tool("hello", || "Hello!").description("Says hello."))
///     .serve(stdio())
///     .await
/// # }
/// ```
///
/// # Handlers
///
/// A tool, a resource or a prompt is a function, `async` or not. Its parameters are [extractors](crate::extract), its
/// result implements [`IntoReply`](crate::reply::IntoReply), and any error becomes one that the model or the client can
/// understand. The attributes `#[tool]`, `#[resource]` and `#[prompt]` of the facade write the same with less.
///
/// ```
/// use couplet_server::{Ctx, Server, ToolError, extract::{Args, Path}, prompt, resource, schemars::JsonSchema, tool};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Divide {
///     dividend: f64,
///     divisor: f64,
/// }
///
/// async fn divide(ctx: Ctx, Args(n): Args<Divide>) -> Result<f64, ToolError> {
///     ctx.progress(0.5, "dividing").await;
///     if n.divisor == 0.0 {
///         return Err(ToolError::new("a number cannot be divided by zero"));
///     }
///     Ok(n.dividend / n.divisor)
/// }
///
/// let server: Server = Server::new("calc", "1.0.0")
///     .tool(tool("divide", divide).read_only())
///     .resource(resource("calc://square/{n}", |Path(n): Path<f64>| n * n))
///     .prompt(prompt("explain", || "Explain how to divide."));
/// ```
///
/// # State
///
/// Handlers share a state, `S`, which they take with [`State`](crate::extract::State). [`Server::with_state`] provides
/// it; [`Server::lifespan`] creates it when the server starts. A server without state is a `Server<()>`.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
/// use couplet_server::{Server, extract::State, tool};
///
/// #[derive(Clone, Default)]
/// struct Counter(Arc<AtomicU64>);
///
/// let count = |State(counter): State<Counter>| counter.0.fetch_add(1, Ordering::Relaxed);
/// let server = Server::new("counter", "1.0.0").tool(tool("count", count)).with_state(Counter::default());
/// ```
///
/// # Middleware and composition
///
/// [`Server::middleware`] wraps every call, [`Server::mount`] adds another server under a prefix, and
/// [`Server::extension`] adds an extension of the protocol.
///
/// # Timeouts and cancellation
///
/// A call has a [timeout](Server::timeout) of 60 seconds. A call that times out, is cancelled by the client, or loses its
/// connection is cancelled by dropping the handler's future. A panic in a handler fails its call and nothing else.
///
/// # Panics
///
/// Mistakes that only the developer can make (an invalid name, a broken schema, two tools of one name) panic while the
/// server is built, with the place of the registration. Nothing that a client sends does.
#[must_use = "a server does nothing until it is served"]
pub struct Server<S = ()> {
    config: Config,
    tools: Vec<ToolDef<S>>,
    resources: Vec<ResourceDef<S>>,
    prompts: Vec<PromptDef<S>>,
    methods: HashMap<String, (Method, &'static Location<'static>)>,
    middleware: Vec<Arc<dyn Middleware>>,
    listeners: Vec<Listener>,
    mounts: Vec<Mount>,
    extensions: Vec<Extension>,
}

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Creates a server with a name and a version, without tools, resources or prompts.
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
            bus: None,
            outcomes: None,
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

    /// Adds a tool: a function with `#[tool]`, or one wrapped by [`tool()`](crate::tool).
    ///
    /// ```
    /// use couplet_server::{Server, tool};
    ///
    /// let server: Server = Server::new("dice", "1.0.0").tool(tool("roll", || 4).description("Rolls a die."));
    /// ```
    ///
    /// # Panics
    /// If the name is invalid, the argument type is not an object, or a schema is broken. Two tools of one name panic in
    /// [`with_state`](Server::with_state) or [`build`](Server::build), with both places.
    #[track_caller]
    pub fn tool(mut self, tool: impl IntoTool<S>) -> Self {
        self.tools.push(or_panic(tool.into_tool().checked(&self.config, Location::caller())));
        self
    }

    /// Adds a resource or a resource template: a function with `#[resource]`, or one wrapped by
    /// [`resource()`](crate::resource).
    ///
    /// ```
    /// use couplet_server::{Server, extract::Path, resource};
    ///
    /// let server: Server = Server::new("calc", "1.0.0")
    ///     .resource(resource("calc://pi", || 3.14159))
    ///     .resource(resource("calc://square/{n}", |Path(n): Path<f64>| n * n));
    /// ```
    ///
    /// # Panics
    /// If the URI is neither a URI nor a template (RFC 6570).
    #[track_caller]
    pub fn resource(mut self, resource: impl IntoResource<S>) -> Self {
        self.resources.push(or_panic(resource.into_resource().checked(Location::caller())));
        self
    }

    /// Adds a prompt: a function with `#[prompt]`, or one wrapped by [`prompt()`](crate::prompt).
    ///
    /// ```
    /// use couplet_server::{Server, prompt};
    ///
    /// let server: Server = Server::new("mail", "1.0.0").prompt(prompt("reply", || "Reply to the last mail, politely."));
    /// ```
    ///
    /// # Panics
    /// If the name is empty, or the argument type is not an object.
    #[track_caller]
    pub fn prompt(mut self, prompt: impl IntoPrompt<S>) -> Self {
        self.prompts.push(or_panic(prompt.into_prompt().checked(Location::caller())));
        self
    }

    /// Mounts another server under a prefix: its tools and prompts as `prefix_name`, its resources with the prefix as the
    /// first segment of their path. Its change notifications reach the clients of this server.
    ///
    /// Its extensions are extensions of this server: they are declared with merged settings, views and skills are found
    /// under the URIs with the prefix, and a task that one of its tools begins has the id `prefix:id`. A method of another
    /// extension goes to the first server that has it.
    ///
    /// ```
    /// use couplet_server::{Server, resource, tool};
    ///
    /// let weather: Server =
    ///     Server::new("weather", "1.0.0").tool(tool("today", || "rain")).resource(resource("sky://now", || "grey"));
    /// // A tool `weather_today`, and a resource `sky://weather/now`.
    /// let city: Server = Server::new("city", "1.0.0").mount("weather", weather);
    /// ```
    #[doc = include_str!("docs/mount.md")]
    ///
    /// # Panics
    /// If the prefix is empty, has a character that a name cannot have, or is ambiguous beside another prefix.
    #[track_caller]
    pub fn mount(mut self, prefix: impl AsRef<str>, server: impl IntoService) -> Self {
        let mount = or_panic(Mount::new(prefix.as_ref(), server.into_service(), &self.mounts));
        self.mounts.push(mount);
        self
    }

    /// Provides the state of the handlers. Handlers that are registered later can take state only by
    /// [`IntoTool::with_state`] and its siblings.
    ///
    /// # Panics
    /// If two tools, two prompts or two resources have the same name or URI, with both places.
    #[track_caller]
    pub fn with_state(self, state: S) -> Server<()> {
        or_panic(check_unique(&self.tools));
        or_panic(check_unique(&self.resources));
        or_panic(check_unique(&self.prompts));
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

    /// Creates the state when the server starts, and disposes of it when the server ends.
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

    /// Adds middleware: a function or [type](Middleware) around every call, which decides whether and how the call goes on.
    /// The first one added is the outermost. It is not a tower layer: for those, see the HTTP endpoint.
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
    pub fn middleware(mut self, middleware: impl Middleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Adds a method that the specification does not have. Clients of every revision can call it; a method of an
    /// [`Extension`] is negotiated first.
    ///
    /// ```
    /// use couplet_core::{Reply, ResultBody};
    /// use couplet_server::Server;
    ///
    /// let server: Server = Server::new("app", "1.0.0")
    ///     .method("example/echo", |call| async move { Reply::Complete(ResultBody::value(&call.method)) });
    /// ```
    ///
    /// # Panics
    /// If the specification has a method of that name, or the server has one already.
    #[track_caller]
    pub fn method<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reply> + Send + 'static,
    {
        let (name, place) = (name.into(), Location::caller());
        let is_known = ProtocolVersion::ALL.iter().copied().any(|version| Revision::of(version).has_method(&name));
        assert!(
            !is_known,
            "the method `{name}` belongs to the specification and is answered already: registered at {place}"
        );
        let method: Method = Arc::new(move |call| Box::pin(handler(call)));
        if let Some((_, other)) = self.methods.insert(name.clone(), (method, place)) {
            panic!("there are two methods called `{name}`: one registered at {other}, one at {place}");
        }
        self
    }

    /// Adds an extension of the protocol. It is advertised to clients, which negotiate it.
    ///
    /// # Panics
    /// If the server has it already.
    #[track_caller]
    pub fn extension(mut self, extension: impl Into<Extension>) -> Self {
        let mut extension = extension.into();
        self.listeners.append(&mut extension.listeners);
        let id = &extension.extra.id;
        assert!(self.extensions.iter().all(|e| e.extra.id != *id), "the extension `{id}` is registered twice");
        self.extensions.push(extension);
        self
    }

    /// Adds a listener for notifications from clients, such as `notifications/roots/list_changed`. It must not block.
    ///
    /// ```
    /// use couplet_server::Server;
    ///
    /// let server: Server = Server::new("app", "1.0.0")
    ///     .on_notification(|notification| tracing::info!(?notification, "notified"));
    /// ```
    pub fn on_notification(mut self, listener: impl Fn(&ClientNotification) + Send + Sync + 'static) -> Self {
        self.listeners.push(Arc::new(listener));
        self
    }
}

/// Panics about a mistake that only the developer can have made.
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
