//! A running server: its registries and its configuration.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use couplet_core::{
    BoxFuture, CachePolicy, Call, ChangeBus, ClientNotification, Description, Hub, Limits, Observer, Reply, Sealer,
    idempotency,
};
use couplet_types::{
    Implementation, Map, PromptsCapability, ProtocolVersion, RawJson, ResourcesCapability, ServerCapabilities,
    ToolsCapability,
};

use crate::{
    checks::Validation,
    definition::Definition,
    extension::{Extension, MethodHandler},
    middleware::Middleware,
    mount::{Merged, Mount},
    outcomes::Outcomes,
    prompt::PromptDef,
    registry::{Registry, Set},
    replicas::Replicas,
    resource::ResourceDef,
    schema::SchemaDialect,
    tool::ToolDef,
    tool_middleware::ToolMiddleware,
};

/// A method that the specification does not have.
pub(crate) type Method = Arc<dyn Fn(Call) -> BoxFuture<'static, Reply> + Send + Sync>;

/// A listener for notifications from clients.
pub(crate) type Listener = Arc<dyn Fn(&ClientNotification) + Send + Sync>;

pub(crate) struct Inner {
    pub(crate) tools: Registry<ToolDef<()>>,
    pub(crate) resources: Registry<ResourceDef<()>>,
    pub(crate) prompts: Registry<PromptDef<()>>,
    pub(crate) methods: HashMap<String, Method>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) mounts: Vec<Mount>,
    extensions: Vec<Extension>,
    /// The methods of the extensions, by name.
    pub(crate) extended: HashMap<String, MethodHandler>,
    pub(crate) hub: Hub,
    /// The bridge to other replicas, if there is a change bus.
    pub(crate) replicas: Option<Replicas>,
    pub(crate) config: Config,
    description: RwLock<Arc<Description>>,
}

/// The configuration of a server.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) info: Implementation,
    pub(crate) versions: Vec<ProtocolVersion>,
    pub(crate) instructions: Option<String>,
    pub(crate) cache: CachePolicy,
    pub(crate) show_info: bool,
    pub(crate) limits: Limits,
    pub(crate) page_size: usize,
    pub(crate) timeout: Option<Duration>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) sealer: Sealer,
    pub(crate) bus: Option<ConfiguredBus>,
    pub(crate) outcomes: Option<Outcomes>,
    pub(crate) dialect: SchemaDialect,
    pub(crate) validation: Validation,
    /// Undeclared arguments are rejected.
    pub(crate) deny_unknown: bool,
    /// Definitions whose scopes a caller lacks are not listed for it.
    pub(crate) hide_forbidden: bool,
    /// Capabilities are advertised even while there is nothing.
    pub(crate) dynamic: bool,
}

/// The change bus, until the server is built.
#[derive(Clone)]
pub(crate) struct ConfiguredBus(pub(crate) Arc<dyn ChangeBus>);

impl fmt::Debug for ConfiguredBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeBus").finish_non_exhaustive()
    }
}

impl Inner {
    pub(crate) fn new(
        mut config: Config,
        methods: HashMap<String, Method>,
        middleware: Vec<Arc<dyn Middleware>>,
        listeners: Vec<Listener>,
        mounts: Vec<Mount>,
        mut extensions: Vec<Extension>,
    ) -> Self {
        let extended = extensions.iter_mut().flat_map(|e| std::mem::take(&mut e.methods)).collect();
        let hub = Hub::new();
        let replicas = config.bus.take().map(|ConfiguredBus(bus)| Replicas::new(&hub, bus));
        let nothing = Description::new(config.info.clone(), ServerCapabilities::default());
        Self {
            tools: Registry::new(),
            resources: Registry::new(),
            prompts: Registry::new(),
            methods,
            middleware,
            listeners,
            mounts,
            extensions,
            extended,
            hub,
            replicas,
            config,
            description: RwLock::new(Arc::new(nothing)),
        }
    }

    /// The current description of the server.
    pub(crate) fn description(&self) -> Arc<Description> {
        self.description.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Derives the capabilities from what is registered. A capability that was advertised stays, because clients may rely on
    /// it.
    pub(crate) fn refresh(&self) {
        let mut can = self.capabilities();
        let before = self.description();
        keep(&mut can, &before.capabilities);
        let mut merged = self.merged();
        // Checked when the server was built; a mounted proxy may declare something else later.
        for conflict in &merged.conflicts {
            tracing::warn!("{conflict}; the first declaration is used");
        }
        merged.add("an earlier declaration", &before);
        can.extensions = (!merged.settings.is_empty()).then_some(merged.settings);
        let mut description = Description::new(self.config.info.clone(), can);
        description.versions.clone_from(&self.config.versions);
        description.instructions.clone_from(&self.config.instructions);
        description.cache = self.config.cache.clone();
        description.show_info = self.config.show_info;
        description.extra_methods = self.methods.keys().cloned().collect();
        for mount in &self.mounts {
            description.extra_methods.extend(mount.service.describe().extra_methods.iter().cloned());
        }
        description.extensions = merged.specs;
        *self.description.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(description);
    }

    /// The extensions of this server and of the mounted ones.
    pub(crate) fn merged(&self) -> Merged {
        let mut own = ServerCapabilities::default();
        self.extensions.iter().for_each(|extension| extension.declare(&mut own));
        let specs: Vec<_> = self.extensions.iter().map(|extension| extension.extra.clone()).collect();
        let mut merged = Merged::default();
        merged.add_parts(&format!("the server `{}`", self.config.info.name), &specs, own.extensions.as_ref());
        for mount in &self.mounts {
            merged.add(&mount.label(), &mount.service.describe());
        }
        merged
    }

    /// Whether a list differs between callers.
    pub(crate) fn hides_some<D: Definition>(&self, set: &Set<D>) -> bool {
        self.config.hide_forbidden && set.iter().any(|definition| definition.scopes().is_some())
    }

    /// Whether a definition is listed for a caller.
    pub(crate) fn shows<D: Definition>(&self, definition: &D, call: &Call) -> bool {
        let Some(scopes) = definition.scopes().as_ref().filter(|_| self.config.hide_forbidden) else { return true };
        call.caller.as_ref().is_some_and(|caller| caller.has_scopes(&**scopes))
    }

    /// The tool middleware of the extensions, the outermost first.
    pub(crate) fn tool_middleware(&self) -> impl Iterator<Item = &ToolMiddleware> {
        self.extensions.iter().flat_map(|e| &e.middleware)
    }

    pub(crate) fn extensions(&self) -> &[Extension] {
        &self.extensions
    }

    pub(crate) fn has_extension(&self, id: &str) -> bool {
        self.extensions.iter().any(|e| e.extra.id == id)
    }

    fn capabilities(&self) -> ServerCapabilities {
        let (tools, resources, prompts) = (self.tools.get(), self.resources.get(), self.prompts.get());
        let dynamic = self.config.dynamic;
        let mut can = ServerCapabilities::default();
        if dynamic || !tools.is_empty() {
            can.tools = Some(ToolsCapability::new().list_changed(true));
        }
        if dynamic || !prompts.is_empty() {
            can.prompts = Some(PromptsCapability::new().list_changed(true));
        }
        if dynamic || !resources.is_empty() {
            let mut capability = ResourcesCapability::new().list_changed(true);
            capability.subscribe = resources.iter().any(|r| r.subscribable).then_some(true);
            can.resources = Some(capability);
        }
        let completes =
            prompts.iter().any(|p| !p.completions.is_empty()) || resources.iter().any(|r| !r.completions.is_empty());
        can.completions = completes.then(RawJson::empty_object);
        let talks = tools.iter().any(|t| t.signature.talks)
            || prompts.iter().any(|p| p.signature.talks)
            || resources.iter().any(|r| r.signature.talks);
        can.logging = talks.then(RawJson::empty_object);
        if self.config.outcomes.is_some() {
            let honoured = Map::new().with(idempotency::CAPABILITY, RawJson::empty_object());
            can.experimental = Some(honoured);
        }
        self.extensions.iter().for_each(|extension| extension.declare(&mut can));
        self.mounts.iter().for_each(|mount| keep(&mut can, &mount.service.describe().capabilities));
        can
    }
}

/// Adds capabilities that were advertised before, or by mounted servers.
fn keep(can: &mut ServerCapabilities, before: &ServerCapabilities) {
    let subscribe = |c: &ServerCapabilities| c.resources.as_ref().and_then(|r| r.subscribe);
    let subscribe = subscribe(can).or(subscribe(before));
    can.tools = can.tools.take().or_else(|| before.tools.clone());
    can.prompts = can.prompts.take().or_else(|| before.prompts.clone());
    can.resources = can.resources.take().or_else(|| before.resources.clone());
    if let Some(resources) = &mut can.resources {
        resources.subscribe = subscribe;
    }
    can.completions = can.completions.take().or_else(|| before.completions.clone());
    can.logging = can.logging.take().or_else(|| before.logging.clone());
    can.tasks = match (can.tasks.take(), before.tasks.clone()) {
        (Some(mut own), Some(more)) => {
            own.list = own.list.or(more.list);
            own.cancel = own.cancel.or(more.cancel);
            own.requests = own.requests.or(more.requests);
            Some(own)
        }
        (own, more) => own.or(more),
    };
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("info", &self.config.info).finish_non_exhaustive()
    }
}
