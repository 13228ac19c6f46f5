//! A server that is ready: what it has registered, and how it is configured.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use couplet_core::{
    BoxFuture, CachePolicy, Call, ClientNotification, Description, Hub, Limits, Observer, Reply, Sealer,
};
use couplet_types::{
    Implementation, PromptsCapability, ProtocolVersion, RawJson, ResourcesCapability, ServerCapabilities,
    ToolsCapability,
};

use crate::{
    checks::Validation,
    extension::{Extension, MethodHandler},
    middleware::Middleware,
    mount::Mount,
    prompt::PromptDef,
    registry::Registry,
    resource::ResourceDef,
    schema::SchemaDialect,
    tool::ToolDef,
    tool_middleware::ToolMiddleware,
};

/// A method beyond the specification.
pub(crate) type Method = Arc<dyn Fn(Call) -> BoxFuture<'static, Reply> + Send + Sync>;

/// Somebody who hears of a client's notifications.
pub(crate) type Listener = Arc<dyn Fn(&ClientNotification) + Send + Sync>;

pub(crate) struct Inner {
    pub(crate) tools: Registry<ToolDef<()>>,
    pub(crate) resources: Registry<ResourceDef<()>>,
    pub(crate) prompts: Registry<PromptDef<()>>,
    pub(crate) methods: HashMap<String, Method>,
    pub(crate) middleware: Vec<Middleware>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) mounts: Vec<Mount>,
    extensions: Vec<Extension>,
    /// What the extensions answer, by method.
    pub(crate) extended: HashMap<String, MethodHandler>,
    pub(crate) hub: Hub,
    pub(crate) config: Config,
    description: RwLock<Arc<Description>>,
}

/// How a server is configured.
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
    pub(crate) dialect: SchemaDialect,
    pub(crate) validation: Validation,
    /// Arguments that a type does not know are refused.
    pub(crate) deny_unknown: bool,
    /// Tools that are forbidden to a caller are not listed for it.
    pub(crate) hide_forbidden: bool,
    /// Lists are served even while they are empty.
    pub(crate) dynamic: bool,
}

impl Inner {
    pub(crate) fn new(
        config: Config,
        methods: HashMap<String, Method>,
        middleware: Vec<Middleware>,
        listeners: Vec<Listener>,
        mounts: Vec<Mount>,
        mut extensions: Vec<Extension>,
    ) -> Self {
        let extended = extensions.iter_mut().flat_map(|e| std::mem::take(&mut e.methods)).collect();
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
            hub: Hub::new(),
            config,
            description: RwLock::new(Arc::new(nothing)),
        }
    }

    /// What the server says about itself now.
    pub(crate) fn description(&self) -> Arc<Description> {
        self.description.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks again at what is registered: capabilities follow from it. What was declared once stays, because there may
    /// be clients that were told.
    pub(crate) fn refresh(&self) {
        let mut can = self.capabilities();
        keep(&mut can, &self.description().capabilities);
        let mut description = Description::new(self.config.info.clone(), can);
        description.versions.clone_from(&self.config.versions);
        description.instructions.clone_from(&self.config.instructions);
        description.cache = self.config.cache.clone();
        description.show_info = self.config.show_info;
        description.extra_methods = self.methods.keys().cloned().collect();
        for mount in &self.mounts {
            description.extra_methods.extend(mount.service.describe().extra_methods.iter().cloned());
        }
        description.extensions = self.extensions.iter().map(|e| e.extra.clone()).collect();
        *self.description.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(description);
    }

    /// Whether the list of tools differs from caller to caller.
    pub(crate) fn hides_tools(&self) -> bool {
        self.config.hide_forbidden && self.tools.get().iter().any(|tool| tool.required.is_some())
    }

    /// Whether a caller is told that a tool exists.
    pub(crate) fn shows(&self, tool: &ToolDef<()>, call: &Call) -> bool {
        let Some(scopes) = tool.required.as_ref().filter(|_| self.config.hide_forbidden) else { return true };
        call.caller.as_ref().is_some_and(|caller| caller.has_scopes(&**scopes))
    }

    /// What the extensions put around the calls of tools, the first one outermost.
    pub(crate) fn tool_middleware(&self) -> impl Iterator<Item = &ToolMiddleware> {
        self.extensions.iter().flat_map(|e| &e.middleware)
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
        self.mounts.iter().for_each(|mount| keep(&mut can, &mount.service.describe().capabilities));
        self.extensions.iter().for_each(|extension| extension.declare(&mut can));
        can
    }
}

/// Adds what was declared before, or is by others.
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
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("info", &self.config.info).finish_non_exhaustive()
    }
}
