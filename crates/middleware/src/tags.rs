//! Tags of tools, prompts and resources, enabled and disabled for a session.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, Weak},
};

use couplet_core::{Call, Change, Peer, Sender, Service, sync::lock};
use couplet_server::{Ctx, ServerHandle};
use couplet_types::RpcError;
use tokio::time::Instant;

use crate::visibility::Item;

/// Tags of tools, prompts and resources. A handler enables and disables them for its session.
///
/// An item is visible if all of its tags are enabled; an item without tags always is. Apply the tags with
/// [`Visibility::by_tags`](crate::Visibility::by_tags), so that lists and calls agree.
///
/// A session is that of the transport. Without sessions (2026-07-28) it is the authenticated caller, on this replica; an
/// anonymous caller cannot change tags. Clients are notified that lists have changed.
///
/// ```
/// use std::sync::Arc;
///
/// use couplet_core::Service;
/// use couplet_middleware::{Tags, Visibility};
/// use couplet_server::{Ctx, Server, tool};
/// use couplet_types::RpcError;
///
/// let tags = Tags::new().tools("admin", ["delete_all"]).disabled("admin");
/// let handle = tags.clone();
/// let unlock = tool("unlock", move |ctx: Ctx| {
///     let tags = handle.clone();
///     async move {
///         tags.enable(&ctx, "admin")?;
///         Ok::<_, RpcError>("There are more tools now.")
///     }
/// });
/// let server: Server = Server::new("app", "1.0.0").tool(unlock).tool(tool("delete_all", || "…"));
/// let service: Arc<dyn Service> = Arc::new(Visibility::by_tags(server, tags));
/// # drop(service);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tags {
    tools: HashMap<String, Vec<String>>,
    prompts: HashMap<String, Vec<String>>,
    resources: HashMap<String, Vec<String>>,
    known: HashSet<String>,
    disabled: HashSet<String>,
    sessions: Arc<Mutex<HashMap<SessionKey, Session>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SessionKey {
    Session(String),
    Principal(String),
    /// The client of a transport without session ids, by its address in memory.
    Peer(usize),
}

#[derive(Debug)]
struct Session {
    /// The client whose address is the key: another one may have the address later.
    peer: Option<Weak<Peer>>,
    changed: HashMap<String, bool>,
    used: Instant,
}

/// The maximum number of sessions with tags that are not the default. The one that was changed first gives way.
const MAX_SESSIONS: usize = 10_000;

impl Tags {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives tools a tag, by their names.
    #[must_use]
    pub fn tools(mut self, tag: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        add(&mut self.tools, tag, names);
        self.known.insert(tag.to_owned());
        self
    }

    /// Gives prompts a tag, by their names.
    #[must_use]
    pub fn prompts(mut self, tag: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        add(&mut self.prompts, tag, names);
        self.known.insert(tag.to_owned());
        self
    }

    /// Gives resources and resource templates a tag, by their URIs and URI templates.
    #[must_use]
    pub fn resources(mut self, tag: &str, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        add(&mut self.resources, tag, uris);
        self.known.insert(tag.to_owned());
        self
    }

    /// Disables a tag until a session enables it.
    #[must_use]
    pub fn disabled(mut self, tag: impl Into<String>) -> Self {
        self.disabled.insert(tag.into());
        self
    }

    /// Enables a tag for the session of a handler.
    ///
    /// # Errors
    /// If there is no such tag, or neither a session nor an authenticated caller.
    pub fn enable(&self, ctx: &Ctx, tag: &str) -> Result<(), RpcError> {
        self.set(ctx.call(), ctx.server(), tag, true)
    }

    /// Disables a tag for the session of a handler.
    ///
    /// # Errors
    /// If there is no such tag, or neither a session nor an authenticated caller.
    pub fn disable(&self, ctx: &Ctx, tag: &str) -> Result<(), RpcError> {
        self.set(ctx.call(), ctx.server(), tag, false)
    }

    fn set(&self, call: &Call, server: &ServerHandle, tag: &str, enabled: bool) -> Result<(), RpcError> {
        if !self.known.contains(tag) {
            return Err(RpcError::invalid_params(format!("there is no tag `{tag}`")));
        }
        let key = key(call).ok_or_else(|| {
            RpcError::invalid_request("tags are enabled for a session or an authenticated caller, and there is none")
        })?;
        self.store(key, call, tag, enabled);
        for (items, change) in
            [(&self.tools, Change::Tools), (&self.prompts, Change::Prompts), (&self.resources, Change::Resources)]
        {
            if items.values().flatten().any(|own| own == tag) {
                server.hub().send(change);
            }
        }
        Ok(())
    }

    fn store(&self, key: SessionKey, call: &Call, tag: &str, enabled: bool) {
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MAX_SESSIONS && !sessions.contains_key(&key) {
            sessions.retain(|_, session| session.peer.as_ref().is_none_or(|peer| peer.strong_count() > 0));
            if sessions.len() >= MAX_SESSIONS {
                let oldest = sessions.iter().min_by_key(|(_, session)| session.used).map(|(key, _)| key.clone());
                oldest.map(|oldest| sessions.remove(&oldest));
            }
        }
        let peer = matches!(key, SessionKey::Peer(_)).then(|| Arc::downgrade(&call.peer));
        let new = || Session { peer, changed: HashMap::new(), used: Instant::now() };
        let session = sessions.entry(key).or_insert_with(new);
        session.changed.insert(tag.to_owned(), enabled);
    }

    /// Returns whether an item is visible in the session of a call.
    pub(crate) fn shows(&self, call: &Call, item: Item<'_>) -> bool {
        self.shows_in(item, || key(call), |peer| Arc::ptr_eq(peer, &call.peer))
    }

    /// Returns whether an item is visible to the sender of a request.
    pub(crate) fn shows_to(&self, sender: Sender<'_>, item: Item<'_>) -> bool {
        self.shows_in(item, || sent_key(sender), |_| false)
    }

    fn shows_in(
        &self,
        item: Item<'_>,
        key: impl Fn() -> Option<SessionKey>,
        is_same: impl Fn(&Arc<Peer>) -> bool,
    ) -> bool {
        let tags = self.of(item);
        if tags.is_empty() {
            return true;
        }
        let sessions = lock(&self.sessions);
        let session = key().and_then(|key| sessions.get(&key)).filter(|session| match &session.peer {
            Some(peer) => peer.upgrade().is_some_and(|peer| is_same(&peer)),
            None => true,
        });
        let changed = |tag: &String| session.and_then(|session| session.changed.get(tag)).copied();
        tags.iter().all(|tag| changed(tag).unwrap_or(!self.disabled.contains(tag)))
    }

    /// Returns whether an item is visible without a session.
    pub(crate) fn shows_by_default(&self, item: Item<'_>) -> bool {
        self.of(item).iter().all(|tag| !self.disabled.contains(tag))
    }

    fn of(&self, item: Item<'_>) -> &[String] {
        let found = match item {
            Item::Tool(name) => self.tools.get(name),
            Item::Prompt(name) => self.prompts.get(name),
            Item::Resource(uri) | Item::ResourceTemplate(uri) => self.resources.get(uri),
        };
        found.map_or(&[], Vec::as_slice)
    }
}

fn add(items: &mut HashMap<String, Vec<String>>, tag: &str, names: impl IntoIterator<Item = impl Into<String>>) {
    for name in names {
        items.entry(name.into()).or_default().push(tag.to_owned());
    }
}

/// Returns the key of the session of a call.
fn key(call: &Call) -> Option<SessionKey> {
    let peer = || call.revision.has_sessions().then(|| SessionKey::Peer(Arc::as_ptr(&call.peer).addr()));
    sent_key(call.into()).or_else(peer)
}

/// Returns the key of the session of a sender.
fn sent_key(sender: Sender<'_>) -> Option<SessionKey> {
    match (sender.session, sender.caller) {
        (Some(session), _) => Some(SessionKey::Session(session.to_owned())),
        (None, Some(caller)) => Some(SessionKey::Principal(caller.principal().to_string())),
        (None, None) => None,
    }
}
