//! The configuration of a server.

use std::{sync::Arc, time::Duration};

use couplet_core::{CachePolicy, ChangeBus, Limits, Observer, Sealer};
use couplet_types::{CacheScope, Implementation, ProtocolVersion};

use super::{Server, or_panic};
use crate::{checks::Validation, inner::ConfiguredBus, outcomes::Outcomes, schema::SchemaDialect};

/// # Configuration
impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Sets the instructions: how to use the server, for the model.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.config.instructions = Some(instructions.into());
        self
    }

    /// Sets the display name that hosts show to users.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.config.info.title = Some(title.into());
        self
    }

    /// Sets name, version and everything else of the server's `Implementation`. An earlier [`title`](Server::title) stays
    /// if `info` has none.
    ///
    /// ```
    /// use couplet_server::Server;
    /// use couplet_types::Implementation;
    ///
    /// let mut info = Implementation::new("calc", "1.0.0");
    /// info.website_url = Some("https://example.com/calc".to_owned());
    /// let server: Server = Server::new("calc", "1.0.0").title("Calculator").info(info);
    /// ```
    pub fn info(mut self, mut info: Implementation) -> Self {
        info.title = info.title.or(self.config.info.title);
        self.config.info = info;
        self
    }

    /// Omits the server's name and version from results (2026-07-28; `initialize` of older revisions requires them).
    pub fn hide_info(mut self) -> Self {
        self.config.show_info = false;
        self
    }

    /// Sets the supported protocol revisions, preferred one first. The default is all of them, newest first.
    ///
    /// ```
    /// use couplet_server::Server;
    /// use couplet_types::ProtocolVersion;
    ///
    /// // Without the revisions that have no structured content.
    /// let server: Server = Server::new("modern", "1.0.0")
    ///     .versions([ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25, ProtocolVersion::V2025_06_18]);
    /// ```
    pub fn versions(mut self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.config.versions = versions.into_iter().collect();
        self
    }

    /// Advertises the capabilities for tools, resources and prompts even while there are none: for servers that register
    /// them at run time, with [`ServerHandle::add_tool`](crate::ServerHandle::add_tool) and its siblings.
    pub fn advertise_empty_lists(mut self) -> Self {
        self.config.dynamic = true;
        self
    }

    /// Lists tools, resources and prompts with [scopes](crate::ToolBuilder::scopes) only for callers that have them. A
    /// forbidden one is still refused by name, with the scopes that it needs. Clients cache such lists for one caller
    /// only.
    ///
    /// ```
    /// use couplet_server::{Server, tool};
    ///
    /// let server: Server = Server::new("tickets", "1.0.0")
    ///     .hide_forbidden()
    ///     .tool(tool("list", || "none"))
    ///     .tool(tool("purge", || "purged").scopes(["tickets:admin"]));
    /// ```
    pub fn hide_forbidden(mut self) -> Self {
        self.config.hide_forbidden = true;
        self
    }

    /// Lists schemas as plain JSON Schema 2020-12, with references, instead of the portable form that every host
    /// accepts. It applies to all tools, before and after this call.
    #[track_caller]
    pub fn plain_schemas(mut self) -> Self {
        self.config.dialect = SchemaDialect::Plain;
        self.rechecked()
    }

    /// Sets how thoroughly arguments and structured output are validated against the schemas. It applies to all tools,
    /// before and after this call.
    ///
    /// # Panics
    /// If the complete validator cannot compile a schema.
    #[track_caller]
    pub fn validation(mut self, validation: Validation) -> Self {
        self.config.validation = validation;
        self.rechecked()
    }

    /// Rejects arguments that a tool does not declare, as `#[serde(deny_unknown_fields)]` would. It applies to all tools
    /// whose arguments are a Rust type, before and after this call; their schemas get `"additionalProperties": false`.
    ///
    /// By default an unknown argument is ignored, as serde does, and mentioned only if another one is wrong.
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

    /// Sets how long clients may cache lists and resources, and for whom (2026-07-28). By default they may not.
    ///
    /// A notification of a change invalidates the cache of clients that are subscribed; the others see a change when the
    /// time is over. [`CacheScope::Public`] is for answers that are the same for every caller.
    ///
    /// ```
    /// use std::time::Duration;
    /// use couplet_server::Server;
    /// use couplet_types::CacheScope;
    ///
    /// let server: Server = Server::new("manual", "1.0.0").cache(Duration::from_secs(300), CacheScope::Public);
    /// ```
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        self.config.cache = CachePolicy { ttl_ms, scope };
        self
    }

    /// Sets the limits of each connection: message size, concurrent calls, queue lengths.
    ///
    /// ```
    /// use couplet_core::Limits;
    /// use couplet_server::Server;
    ///
    /// let server: Server = Server::new("small", "1.0.0").limits(Limits::default().running(8).max_message(1 << 20));
    /// ```
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Sets the maximum number of entries on a page of a list (default: 500).
    pub fn page_size(mut self, entries: usize) -> Self {
        self.config.page_size = entries.max(1);
        self
    }

    /// Sets the timeout of calls (default: 60 s); `None` for no timeout. The time that a call waits for the client's
    /// answer does not count. A tool can have [its own](crate::ToolBuilder::timeout).
    ///
    /// A call that times out is cancelled, and answered with an internal error.
    ///
    /// ```
    /// use std::time::Duration;
    /// use couplet_server::{Server, tool};
    ///
    /// let server: Server = Server::new("jobs", "1.0.0")
    ///     .timeout(Duration::from_secs(5))
    ///     .tool(tool("wait", || "done").timeout(None));
    /// ```
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.config.timeout = timeout.into();
        self
    }

    /// Sets the key that signs the state of multi-round-trip requests: 32 secret bytes, or a [`Sealer`] with its own
    /// lifetime, size limit and [previous keys](Sealer::also_opens). All replicas of a server behind a load balancer must
    /// share the key. By default each process has a random one.
    ///
    /// ```
    /// use couplet_core::Sealer;
    /// use couplet_server::Server;
    ///
    /// # let key = [7; 32];
    /// let server: Server = Server::new("replica", "1.0.0").request_state_key(key);
    /// let server: Server = Server::new("replica", "1.0.0").request_state_key(Sealer::new(key).lifetime(60));
    /// ```
    pub fn request_state_key(mut self, key: impl Into<Sealer>) -> Self {
        self.config.sealer = key.into();
        self
    }

    /// Sets the bus that carries changes between the replicas of this server: clients that subscribed on one replica are
    /// notified of changes on all of them. By default they are notified of the changes on their own.
    ///
    /// A change is a hint to list or read again: each replica lists the tools, resources and prompts that are registered
    /// there.
    ///
    /// ```
    /// use couplet_core::MemoryBus;
    /// use couplet_server::{Server, tool};
    ///
    /// let bus = MemoryBus::new(); // One for several processes is in `couplet-redis`.
    /// let replica = || Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).change_bus(bus.clone()).build();
    /// let (first, second) = (replica(), replica());
    /// # let _ = (first, second);
    /// ```
    pub fn change_bus(mut self, bus: impl ChangeBus) -> Self {
        self.config.bus = Some(ConfiguredBus(Arc::new(bus)));
        self
    }

    /// Honours idempotency keys: a tool call that a client repeats with the same key, because its connection was lost, is
    /// executed once. The repeated call waits for the first one and gets its outcome, a result or an error. All replicas
    /// of a server must share the store; it can be given as [`Outcomes`], with a lifetime and a size limit.
    ///
    /// The key is `_meta["io.couplet/idempotencyKey"]`, 1 to 128 visible ASCII characters. Clients of this library send
    /// it with `idempotent()`; the experimental capability `io.couplet/idempotency` says that the server honours it. Keys
    /// belong to the principal of the caller. Without authentication, a key is all that protects an outcome: clients must
    /// choose random ones.
    ///
    /// * A call with a key runs to its end, within its timeout, also if its connection is lost. A client that cancels the
    ///   request (`notifications/cancelled`) ends it.
    /// * A call whose replica was lost is not executed again: a repeated call fails, and says that the outcome is unknown.
    /// * The same key with other arguments is an error (-32602).
    /// * A round that ends with input requests (2026-07-28) has no outcome yet: the next round continues the call.
    ///
    /// ```
    /// use couplet_server::{Server, outcomes::MemoryOutcomes, tool};
    ///
    /// let server: Server =
    ///     Server::new("shop", "1.0.0").tool(tool("order", || "ordered")).outcomes(MemoryOutcomes::new());
    /// ```
    pub fn outcomes(mut self, outcomes: impl Into<Outcomes>) -> Self {
        self.config.outcomes = Some(outcomes.into());
        self
    }

    /// Sets the observer of calls, for traces and metrics: it can make a call part of the trace that its client names.
    /// Spans for [`tracing`] exist without one.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.config.observer = Some(Arc::new(observer));
        self
    }
}
