//! Mounted servers.
//!
//! A mounted server is called unchanged; only names are translated on the way in and out. Tools and prompts get the prefix in
//! front, `weather_today`; resources have it as the first part of their path, `weather://today` being
//! `weather://prefix/today`. URIs without a path, such as `urn:isbn:1`, stay as they are. Ids of tasks have it in front,
//! `prefix:id`.
//!
//! The extensions of a mounted server are extensions of the outer one: [`merge`] declares them, [`extended`] calls their
//! methods.

mod definitions;
mod extended;
mod list;
mod merge;
mod route;
mod tasks;

pub(crate) use merge::Merged;
pub(crate) use route::{dispatch, with_param};

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex},
};

use couplet_core::{BoxFuture, Call, Caller, Change, IntoService, Refusals, Relay, Service, sync::lock};
use couplet_types::Tool;

use self::definitions::Definitions;
use crate::{handle::ServerHandle, inner::Inner, server::Server};

impl IntoService for Server<()> {
    #[track_caller]
    fn into_service(self) -> Arc<dyn Service> {
        Arc::new(self.build())
    }
}

impl IntoService for ServerHandle {
    fn into_service(self) -> Arc<dyn Service> {
        Arc::new(self)
    }
}

/// One server inside of another.
#[derive(Clone)]
pub(crate) struct Mount {
    prefix: Arc<str>,
    pub(crate) service: Arc<dyn Service>,
    state: Arc<SharedMount>,
}

/// What is known of a mounted server.
#[derive(Default)]
struct SharedMount {
    failure: Mutex<Option<String>>,
    tools: Definitions,
}

/// The state of a mounted server: see [`ServerHandle::mounts`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MountState {
    /// The prefix of its names.
    pub prefix: String,
    /// The error because of which its items are missing from the last list that a client requested.
    pub failure: Option<String>,
}

impl ServerHandle {
    /// Returns the mounted servers in order, with the error of each that could not be listed. A server that fails is left
    /// out of lists and does not affect the others.
    pub fn mounts(&self) -> Vec<MountState> {
        self.0.mounts.iter().map(|m| MountState { prefix: m.prefix.to_string(), failure: m.failure() }).collect()
    }
}

impl Mount {
    /// # Errors
    /// If the prefix is invalid, or ambiguous beside another one.
    pub(crate) fn new(prefix: &str, service: Arc<dyn Service>, others: &[Self]) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if prefix.is_empty() || !prefix.chars().all(allowed) {
            return Err(format!("the prefix {prefix:?} must have letters, digits, `_`, `-` or `.`"));
        }
        let begins =
            |long: &str, short: &str| long.strip_prefix(short).is_some_and(|r| r.is_empty() || r.starts_with('_'));
        if let Some(other) = others.iter().find(|m| begins(&m.prefix, prefix) || begins(prefix, &m.prefix)) {
            return Err(format!(
                "the prefixes `{prefix}` and `{}` are ambiguous: neither may begin with the other",
                other.prefix
            ));
        }
        Ok(Self { prefix: prefix.into(), service, state: Arc::default() })
    }

    fn failure(&self) -> Option<String> {
        lock(&self.state.failure).clone()
    }

    pub(crate) fn set_failure(&self, failure: Option<String>) {
        *lock(&self.state.failure) = failure;
    }

    pub(crate) fn name_inside<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(&*self.prefix)?.strip_prefix('_')
    }

    pub(crate) fn name_outside(&self, name: &str) -> String {
        format!("{}_{name}", self.prefix)
    }

    pub(crate) fn uri_inside(&self, uri: &str) -> Option<String> {
        let Some((scheme, path)) = uri.split_once("://") else { return Some(uri.to_owned()) };
        let path = path.strip_prefix(&*self.prefix)?.strip_prefix('/')?;
        Some(format!("{scheme}://{path}"))
    }

    pub(crate) fn uri_outside(&self, uri: &str) -> String {
        match uri.split_once("://") {
            Some((scheme, path)) => format!("{scheme}://{}/{path}", self.prefix),
            None => uri.to_owned(),
        }
    }

    /// The prefix, as errors name the server.
    pub(crate) fn label(&self) -> String {
        format!("the mounted server `{}`", self.prefix)
    }

    /// The id of a task, where it is one of this server.
    fn task_inside<'n>(&self, id: &'n str) -> Option<&'n str> {
        id.strip_prefix(&*self.prefix)?.strip_prefix(':')
    }

    fn task_outside(&self, id: &str) -> String {
        format!("{}:{id}", self.prefix)
    }

    /// Whether the server has a method that the protocol lacks, by itself or with an extension.
    fn serves(&self, method: &str) -> bool {
        let about = self.service.describe();
        about.extra_methods.iter().any(|extra| extra == method)
            || about.extensions.iter().flat_map(|extension| &extension.methods).any(|own| own.name == method)
    }

    /// Whether there is such a resource, by its name outside.
    pub(crate) fn has_resource(&self, uri: &str) -> bool {
        self.uri_inside(uri).is_some_and(|uri| self.service.has_resource(&uri))
    }

    /// The template that serves a resource, both by their names outside.
    pub(crate) fn template_of(&self, uri: &str) -> Option<String> {
        let inside = self.uri_inside(uri)?;
        self.service.template_of(&inside).map(|template| self.uri_outside(&template))
    }

    /// Whether a caller may subscribe to a resource, by its name outside.
    pub(crate) fn may_subscribe(&self, uri: &str, caller: Option<&Caller>) -> bool {
        self.uri_inside(uri).is_some_and(|uri| self.service.may_subscribe(&uri, caller))
    }
}

/// The tool of a mounted server, by its name outside, as it is listed for the caller of a call.
pub(crate) async fn find_tool(inner: &Arc<Inner>, call: &Call, name: &str) -> Option<Arc<Tool>> {
    let at = inner.mounts.iter().position(|mount| mount.name_inside(name).is_some())?;
    inner.mounts.get(at)?.state.tools.find(inner, at, call, name).await
}

/// The work of mounted services before a subscription to these resources is acknowledged.
pub(crate) fn subscribing(mounts: &[Mount], uris: &BTreeSet<String>) -> Option<BoxFuture<'static, Refusals>> {
    let work = mounts.iter().filter_map(|mount| {
        let inside = uris.iter().filter(|uri| mount.has_resource(uri)).filter_map(|uri| mount.uri_inside(uri));
        let inside: BTreeSet<String> = inside.collect();
        let work = if inside.is_empty() { None } else { mount.service.subscribing(&inside) };
        Some((mount.clone(), work?))
    });
    let work: Vec<_> = work.collect();
    if work.is_empty() {
        return None;
    }
    Some(Box::pin(async move {
        let mut refused = Refusals::new();
        for (mount, work) in work {
            refused.extend(work.await.into_iter().map(|(uri, error)| (mount.uri_outside(&uri), error)));
        }
        refused
    }))
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// Relays changes of a mounted server to the outer one.
pub(crate) struct Outward {
    pub(crate) mount: Mount,
    /// Called when a list changes: the first tool inside makes the server outside one that has tools.
    pub(crate) refresh: Box<dyn Fn() + Send + Sync>,
}

impl Relay for Outward {
    fn outward(&self, change: &Change) -> Option<Change> {
        match change {
            Change::Updated(uri) => Some(Change::Updated(self.mount.uri_outside(uri))),
            Change::Extension(event) => Some(tasks::event(&self.mount, event).into()),
            list => {
                if let Change::Tools = list {
                    self.mount.state.tools.invalidate();
                }
                (self.refresh)();
                Some(list.clone())
            }
        }
    }

    fn inward(&self, uri: &str) -> Option<String> {
        self.mount.uri_inside(uri)
    }
}
