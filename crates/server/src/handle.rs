//! A running server: it can be served, connected to, and changed.

use std::{
    collections::BTreeSet,
    future::Future,
    panic::Location,
    sync::{Arc, Weak},
    time::Duration,
};

use couplet_core::{
    BoxFuture, Call, Caller, Change, ClientNotification, Connect, Connected, Description, Error, ErrorKind,
    ExtensionEvent, Hub, Inbound, Limits, Metric, Refusals, Reply, Sender, Service, Transport,
    http::headers::ParamHeader, memory, message::Params,
};
use couplet_types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::{
    dispatch, drain,
    extension::Extension,
    inner::Inner,
    middleware::Next,
    mount,
    outcomes::Outcomes,
    prompt::IntoPrompt,
    replicas::{self, Replicas},
    resource::IntoResource,
    scopes,
    tool::{IntoTool, ToolDef},
    trace::Watched,
};

/// A handle of a running server, to serve it, connect to it in memory, and change it. Clones share the server.
///
/// ```
/// use couplet_server::{Server, tool};
///
/// let server = Server::new("notes", "1.0.0").advertise_empty_lists().build();
/// // Later, from anywhere: clients are notified that the list changed.
/// server.add_tool(tool("hello", || "Hello!"))?;
/// server.updated("notes://today");
/// assert!(server.remove_tool("hello"));
/// # Ok::<(), couplet_core::Error>(())
/// ```
#[doc = include_str!("docs/handle.md")]
#[derive(Clone, Debug)]
pub struct ServerHandle(pub(crate) Arc<Inner>);

impl ServerHandle {
    /// Adds a tool, and notifies clients.
    ///
    /// # Errors
    /// If the name is in use or invalid, the argument type is not an object, or a schema is broken.
    #[track_caller]
    pub fn add_tool(&self, tool: impl IntoTool<()>) -> Result<(), Error> {
        let tool = tool.into_tool().checked(&self.0.config, Location::caller()).map_err(refused)?;
        self.check_tool(&tool).map_err(refused)?;
        self.0.tools.add(tool).map_err(refused)?;
        self.changed(Change::Tools);
        Ok(())
    }

    /// Replaces the tool of the same name atomically, or adds it, and notifies clients. Returns whether there was one.
    ///
    /// # Errors
    /// If the name is invalid, the argument type is not an object, or a schema is broken.
    #[track_caller]
    pub fn replace_tool(&self, tool: impl IntoTool<()>) -> Result<bool, Error> {
        let tool = tool.into_tool().checked(&self.0.config, Location::caller()).map_err(refused)?;
        self.check_tool(&tool).map_err(refused)?;
        let replaced = self.0.tools.replace(tool);
        self.changed(Change::Tools);
        Ok(replaced)
    }

    /// Returns the registered tools in order, without those of mounted servers.
    pub fn tools(&self) -> Vec<Tool> {
        self.0.tools.get().iter().map(|tool| tool.spec.clone()).collect()
    }

    /// Returns the registered resources in order, including unlisted ones, without those of mounted servers.
    pub fn resources(&self) -> Vec<Resource> {
        self.0.resources.get().iter().filter(|r| !r.is_template()).map(|r| r.spec.clone()).collect()
    }

    /// Returns the registered resource templates in order, including unlisted ones, without those of mounted servers.
    pub fn resource_templates(&self) -> Vec<ResourceTemplate> {
        self.0.resources.get().iter().filter(|r| r.is_template()).map(|r| r.as_template()).collect()
    }

    /// Returns the registered prompts in order, without those of mounted servers.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.0.prompts.get().iter().map(|prompt| prompt.spec.clone()).collect()
    }

    /// Removes a tool, and notifies clients. Returns whether there was one.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.0.tools.remove(name);
        if removed {
            self.changed(Change::Tools);
        }
        removed
    }

    /// Adds a resource or a template, and notifies clients.
    ///
    /// # Errors
    /// If the URI is in use, or is neither a URI nor a template.
    #[track_caller]
    pub fn add_resource(&self, resource: impl IntoResource<()>) -> Result<(), Error> {
        let resource = resource.into_resource().checked(Location::caller()).map_err(refused)?;
        self.0.resources.add(resource).map_err(refused)?;
        self.changed(Change::Resources);
        Ok(())
    }

    /// Replaces the resource or template of the same URI atomically, or adds it, and notifies clients. Returns whether
    /// there was one.
    ///
    /// # Errors
    /// If the URI is neither a URI nor a template.
    #[track_caller]
    pub fn replace_resource(&self, resource: impl IntoResource<()>) -> Result<bool, Error> {
        let resource = resource.into_resource().checked(Location::caller()).map_err(refused)?;
        let replaced = self.0.resources.replace(resource);
        self.changed(Change::Resources);
        Ok(replaced)
    }

    /// Removes a resource or a template, and notifies clients. Returns whether there was one.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.0.resources.remove(uri);
        if removed {
            self.changed(Change::Resources);
        }
        removed
    }

    /// Returns the resource for a URI, or the template that it matches.
    pub fn resource(&self, uri: &str) -> Option<Resource> {
        dispatch::find_resource(&self.0, uri).map(|(resource, _)| resource.spec.clone())
    }

    /// Adds a prompt, and notifies clients.
    ///
    /// # Errors
    /// If the name is in use or empty.
    #[track_caller]
    pub fn add_prompt(&self, prompt: impl IntoPrompt<()>) -> Result<(), Error> {
        let prompt = prompt.into_prompt().checked(Location::caller()).map_err(refused)?;
        self.0.prompts.add(prompt).map_err(refused)?;
        self.changed(Change::Prompts);
        Ok(())
    }

    /// Removes a prompt, and notifies clients. Returns whether there was one.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.0.prompts.remove(name);
        if removed {
            self.changed(Change::Prompts);
        }
        removed
    }

    /// Notifies the clients that subscribed to a resource that it has changed.
    pub fn updated(&self, uri: impl Into<String>) {
        self.0.hub.send(Change::Updated(uri.into()));
    }

    /// Notifies the clients that subscribed to an event of an extension.
    pub fn publish(&self, news: ExtensionEvent) {
        self.0.hub.send(news.into());
    }

    /// Serves on a transport, until the transport ends. A server can be served on several, and changed meanwhile. Dropping
    /// the future closes the transport's connections and cancels their calls.
    ///
    /// # Errors
    /// If the transport fails.
    pub fn serve(self, transport: impl Transport) -> impl Future<Output = Result<(), Error>> {
        let limits = self.limits().clone();
        transport.serve(Arc::new(self), limits)
    }

    /// Returns a weak handle, for background work that ends when the server does.
    ///
    /// ```
    /// use couplet_server::{Server, WeakServerHandle};
    ///
    /// async fn tick(server: WeakServerHandle) {
    ///     while let Some(server) = server.upgrade() {
    ///         server.updated("clock://now");
    ///         drop(server);
    ///         tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = Server::new("clock", "1.0.0").build();
    /// let ticking = tokio::spawn(tick(server.downgrade()));
    /// drop(server);
    /// ticking.await.expect("it ends with the last handle");
    /// # }
    /// ```
    pub fn downgrade(&self) -> WeakServerHandle {
        WeakServerHandle(Arc::downgrade(&self.0))
    }

    /// Returns the limits of each connection.
    pub fn limits(&self) -> &Limits {
        &self.0.config.limits
    }

    /// A tool that was made for an extension needs it, and has to be as the extension wants it.
    pub(crate) fn check_tool(&self, tool: &ToolDef<()>) -> Result<(), String> {
        let name = &tool.spec.name;
        if let Some(keyword) = tool.checks.unchecked {
            tracing::warn!(tool = name, "`{keyword}` in the input schema is checked only with `Validation::Full`");
        }
        for data in &tool.data {
            let id = data.extension();
            if !self.0.has_extension(id) {
                return Err(format!("tool `{name}` needs the extension `{id}`: add it to the server"));
            }
            data.check(self).map_err(|what| format!("tool `{name}`: {what}"))?;
        }
        Ok(())
    }

    fn changed(&self, change: Change) {
        self.0.refresh();
        self.0.hub.send(change);
    }
}

/// A weak handle of a server; created by [`ServerHandle::downgrade`].
#[derive(Clone, Debug)]
pub struct WeakServerHandle(Weak<Inner>);

impl WeakServerHandle {
    /// Returns the server, if another handle of it exists.
    pub fn upgrade(&self) -> Option<ServerHandle> {
        self.0.upgrade().map(ServerHandle)
    }
}

fn refused(what: String) -> Error {
    Error::new(ErrorKind::Config, what)
}

impl Service for ServerHandle {
    fn describe(&self) -> Arc<Description> {
        self.0.description()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let next = Next::first(self.0.clone());
        match Watched::begin(self.0.config.observer.as_ref(), &call) {
            None => next.run(call),
            Some(watched) => watched.run(move || next.run(call)),
        }
    }

    fn hub(&self) -> &Hub {
        &self.0.hub
    }

    fn notified(&self, note: ClientNotification) {
        self.0.listeners.iter().for_each(|listener| listener(&note));
        self.0.mounts.iter().for_each(|mount| mount.service.notified(note.clone()));
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        if let Some(own) = self.0.tools.get().find(tool) {
            return own.mirrored.clone();
        }
        self.0.mounts.iter().find_map(|mount| mount.service.header_params(mount.name_inside(tool)?))
    }

    fn required_scopes(&self, method: &str, params: &Params, sender: Sender<'_>) -> Option<Arc<[String]>> {
        scopes::required(&self.0, method, params, sender)
    }

    fn template_of(&self, uri: &str) -> Option<String> {
        match dispatch::find_resource(&self.0, uri) {
            Some((own, _)) => own.is_template().then(|| own.spec.uri.clone()),
            None => self.0.mounts.iter().find_map(|mount| mount.template_of(uri)),
        }
    }

    fn has_resource(&self, uri: &str) -> bool {
        dispatch::find_resource(&self.0, uri).is_some() || self.0.mounts.iter().any(|m| m.has_resource(uri))
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        // A mounted service that has the resource decides.
        let mut owners = self.0.mounts.iter().filter(|mount| mount.has_resource(uri));
        owners.all(|mount| mount.may_subscribe(uri, caller))
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        mount::subscribing(&self.0.mounts, uris)
    }

    fn background(&self) -> Option<BoxFuture<'static, ()>> {
        replicas::background(&self.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        let inner = &self.0;
        let outcomes = inner.config.outcomes.iter().flat_map(Outcomes::metrics);
        let replicas = inner.replicas.iter().flat_map(Replicas::metrics);
        let middleware = inner.middleware.iter().flat_map(|middleware| middleware.metrics());
        let own =
            outcomes.chain(replicas).chain(middleware).chain(inner.extensions().iter().flat_map(Extension::report));
        own.chain(inner.mounts.iter().flat_map(|mount| mount.service.metrics())).collect()
    }

    fn drain(&self, grace: Duration) -> Option<BoxFuture<'static, ()>> {
        drain::drain(&self.0, grace)
    }
}

/// Connects a client in memory.
impl Connect for ServerHandle {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let service: Arc<dyn Service> = Arc::new(self.clone());
        let connected = memory::connect(service, self.limits(), inbound, &limits);
        Box::pin(async { Ok(connected) })
    }
}
