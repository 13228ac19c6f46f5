//! A view of the host as a service.
//!
//! | file | subject |
//! |---|---|
//! | `snapshot`, `item`, `matchers`, `member` | the tables of a view, rebuilt when a catalog changes |
//! | `list` | lists and cursors |
//! | `route` | which server a call goes to |
//! | `run` | one call at its server: rounds, seals |
//! | `gate`, `rules` | decisions, consent, audit |
//! | `hidden` | definitions that the view does not show |
//! | `hold` | servers with subscribers are not stopped |
//! | `link` | messages of a server to its caller, changes of resources |
//! | `requested` | decisions about requests of a server to its caller, and the consent to them |
//! | `linked` | links to resources of other servers |
//! | `subscribe` | subscriptions to resources, confirmed by their servers |
//! | `watch` | changes of catalogs |
//! | `tasks`, `task_list` | tasks by sealed ids |
//! | `describe` | capabilities and instructions |

mod describe;
mod gate;
mod hidden;
mod hold;
mod item;
mod link;
mod linked;
mod list;
mod matchers;
mod member;
mod reports;
mod requested;
mod route;
pub(crate) mod rules;
mod run;
mod seals;
mod snapshot;
mod subscribe;
mod task_list;
mod tasks;
pub(crate) mod watch;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak},
};

use couplet_core::{
    BoxFuture, Call, Caller, ClientNotification, Description, Hub, Refusals, Reply, Service, http::headers::ParamHeader,
};
use couplet_types::{RequestMethod, RpcError};
use tokio::task::AbortHandle;

use crate::{
    host::Inner,
    names::{Collision, Duplicate, Kind, ServerId},
    profile::Profile,
    service::{linked::Links, seals::Seals, snapshot::Snapshot, tasks::Tasks},
};

/// A view of a host: the servers, tools, prompts and resources that a [`Profile`] selects, as one [`Service`]. Clones are
/// the same view; made by [`Host::view`](crate::Host::view).
///
/// The view exists for as long as it is served or a clone exists. ViewLists come from catalogs, never from a server on the way
/// of a request.
#[derive(Clone)]
pub struct View {
    inner: Arc<ViewInner>,
    /// The host, which lives for as long as the view; `None` for the host's own client.
    _host: Option<Arc<Inner>>,
}

pub(crate) struct ViewInner {
    host: Weak<Inner>,
    me: Weak<ViewInner>,
    hub: Hub,
    seals: Seals,
    tasks: Tasks,
    links: Links,
    now: RwLock<Arc<Snapshot>>,
    /// The hubs whose changes the view receives.
    relayed: Mutex<Vec<Hub>>,
    /// The task that holds servers, if any of them stops when it is idle.
    holder: OnceLock<AbortHandle>,
}

impl Drop for ViewInner {
    fn drop(&mut self) {
        self.holder.get().inspect(|holder| holder.abort());
    }
}

impl View {
    pub(crate) fn new(inner: Arc<ViewInner>, host: Option<Arc<Inner>>) -> Self {
        Self { inner, _host: host }
    }

    /// Returns the profile as it is now.
    pub fn profile(&self) -> Arc<Profile> {
        self.snapshot().profile.clone()
    }

    /// Returns the view as a service, to serve, to mount, or to connect a client to.
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::new(self.clone())
    }

    /// Returns the names that more than one tool or prompt claims. All claimants are hidden.
    pub fn collisions(&self) -> Vec<Collision> {
        self.snapshot().collisions().cloned().collect()
    }

    /// Returns the resources and templates that more than one server lists. The first server of the configuration owns each.
    pub fn duplicates(&self) -> Vec<Duplicate> {
        self.snapshot().duplicates.clone()
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.inner.snapshot()
    }

    pub(crate) fn seals(&self) -> &Seals {
        &self.inner.seals
    }

    pub(crate) fn inner(&self) -> &ViewInner {
        &self.inner
    }
}

impl ViewInner {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.now.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the tables.
    pub(crate) fn set(&self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        std::mem::replace(&mut *self.now.write().unwrap_or_else(PoisonError::into_inner), snapshot)
    }

    /// Whether a URI is one of a server's resources.
    pub(crate) fn owns(&self, server: &ServerId, uri: &str) -> bool {
        let snapshot = self.snapshot();
        snapshot.owner(uri).is_some_and(|at| snapshot.members[at].id() == server)
    }

    /// Whether clients see the ids of servers.
    pub(crate) fn shows_ids(&self) -> bool {
        let snapshot = self.snapshot();
        !snapshot.profile.is_bare() || snapshot.members.len() > 1
    }
}

impl Service for View {
    fn describe(&self) -> Arc<Description> {
        let snapshot = self.snapshot();
        snapshot.about.get_or_init(|| Arc::new(describe::describe(&self.inner, &snapshot))).clone()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        use RequestMethod as M;
        let view = self.clone();
        match call.known() {
            Some(M::ListTools) => view.listed(call, Kind::Tool),
            Some(M::ListPrompts) => view.listed(call, Kind::Prompt),
            Some(M::ListResources) => view.listed(call, Kind::Resource),
            Some(M::ListResourceTemplates) => view.listed(call, Kind::Template),
            Some(M::CallTool) => Box::pin(view.named(call, Kind::Tool)),
            Some(M::GetPrompt) => Box::pin(view.named(call, Kind::Prompt)),
            Some(M::ReadResource) => Box::pin(view.read(call)),
            Some(M::Complete) => Box::pin(view.complete(call)),
            Some(M::GetTask | M::GetTaskPayload | M::CancelTask) => Box::pin(view.task(call)),
            Some(M::ListTasks) => Box::pin(view.list_tasks(call)),
            Some(_) => refused(&call),
            None => Box::pin(view.extension(call)),
        }
    }

    fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    fn notified(&self, note: ClientNotification) {
        let snapshot = self.snapshot();
        for proxy in snapshot.members.iter().filter_map(|member| member.upstream.running()) {
            proxy.notified(note.clone());
        }
    }

    fn header_params(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let snapshot = self.snapshot();
        snapshot.tools.get(tool)?.value.header_params()
    }

    fn has_resource(&self, uri: &str) -> bool {
        self.snapshot().owner(uri).is_some()
    }

    fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.decides_subscription(uri, caller)
    }

    fn subscribing(&self, uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
        Some(Box::pin(subscribe::confirm(self.snapshot(), uris.clone())))
    }
}

fn refused(call: &Call) -> BoxFuture<'static, Reply> {
    let error = RpcError::method_not_found(&call.method);
    Box::pin(std::future::ready(error.into()))
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("View").field("profile", self.snapshot().profile.name()).finish_non_exhaustive()
    }
}
