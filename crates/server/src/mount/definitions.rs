//! The definitions of a mounted server's tools, cached for middleware of the outer one.
//!
//! Middleware that needs the definition of a tool requests the list once. It is requested again after the server has
//! notified of a change, or after a while for servers that notify of none. If that fails, the definitions from before are
//! used. Without such middleware, nothing here runs.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use couplet_core::{Call, Revision, message::Params, sync::lock};
use couplet_types::{ProtocolVersion, RequestMethod, RpcError, Tool};
use tokio::time::{Instant, timeout};

use super::list::{self, Listed};
use crate::inner::Inner;

/// The time after which a list is requested again, for servers that notify of no change.
const MAX_AGE: Duration = Duration::from_secs(300);

/// The time after which a list is requested again that could not be read.
const RETRY: Duration = Duration::from_secs(10);

/// The timeout of a list.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most tools of one list, and the most callers whose lists are stored.
const MAX_TOOLS: usize = 10_000;
const MAX_CALLERS: usize = 1_000;

/// The most definitions of all callers together.
const MAX_DEFINITIONS: usize = 100_000;

/// The definitions of a mounted server's tools.
#[derive(Default)]
pub(super) struct Definitions {
    /// Increases when the list changes.
    generation: AtomicU64,
    cached: Mutex<Cached>,
}

#[derive(Default)]
struct Cached {
    /// Whether each caller has its own list. Otherwise there is one, under the empty key.
    is_private: bool,
    lists: HashMap<String, Arc<CachedList>>,
}

/// The list of one caller, or of all.
#[derive(Default)]
struct CachedList {
    /// Held while the list is requested, so that calls at the same time request it once.
    requesting: tokio::sync::Mutex<()>,
    state: Mutex<CachedTools>,
}

#[derive(Default)]
struct CachedTools {
    tools: HashMap<String, Arc<Tool>>,
    /// The generation of the tools, and the time until which they are used.
    valid: Option<(u64, Instant)>,
}

impl Definitions {
    /// Takes note of a change of the list.
    pub(super) fn invalidate(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns a tool of the mounted server at this place, by its name outside, as it is listed for the caller.
    pub(super) async fn find(&self, inner: &Arc<Inner>, at: usize, call: &Call, name: &str) -> Option<Arc<Tool>> {
        loop {
            let list = self.list(call);
            if list.is_valid(self.generation()) {
                return list.find(name);
            }
            let _requesting = list.requesting.lock().await;
            // Another call may have requested it meanwhile, or found that each caller has its own.
            if Arc::ptr_eq(&list, &self.list(call)) && !list.is_valid(self.generation()) {
                return self.request(inner, at, call, &list).await.find(name);
            }
        }
    }

    /// Requests the list, and returns where it is stored.
    async fn request(&self, inner: &Arc<Inner>, at: usize, call: &Call, before: &Arc<CachedList>) -> Arc<CachedList> {
        let (generation, list_call) = (self.generation(), list_call(call));
        let mut listed = pin!(list::all(inner, at, &list_call, Listed::TOOLS));
        let late = || Err(RpcError::internal("the list was not received in time"));
        // The list of a server in this process needs no timer.
        let listed = match poll_fn(|cx| Poll::Ready(listed.as_mut().poll(cx))).await {
            Poll::Ready(listed) => listed,
            Poll::Pending => timeout(TIMEOUT, listed).await.unwrap_or_else(|_| late()),
        };
        match listed {
            Ok(page) => {
                lock(&self.cached).is_private = page.is_private;
                let tools = page.entries.iter().filter_map(|entry| serde_json::to_vec(entry).ok());
                let tools = tools.filter_map(|text| serde_json::from_slice::<Tool>(&text).ok()).take(MAX_TOOLS);
                let tools = tools.map(|tool| (tool.name.clone(), Arc::new(tool))).collect();
                let list = self.list(call);
                list.set(CachedTools { tools, valid: Some((generation, Instant::now() + MAX_AGE)) });
                lock(&self.cached).make_room(&list);
                list
            }
            Err(error) => {
                let mount = inner.mounts.get(at);
                tracing::warn!(?mount, %error, "middleware does not know the tools of a mounted server");
                lock(&before.state).valid = Some((generation, Instant::now() + RETRY));
                before.clone()
            }
        }
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The list of a caller, which may be empty yet.
    fn list(&self, call: &Call) -> Arc<CachedList> {
        let mut cached = lock(&self.cached);
        let key = if cached.is_private { caller(call) } else { String::new() };
        if let Some(list) = cached.lists.get(&key) {
            return list.clone();
        }
        let new = Arc::new(CachedList::default());
        cached.lists.insert(key, new.clone());
        cached.make_room(&new);
        new
    }
}

impl Cached {
    /// Removes lists of other callers while there are too many: first those that expire first.
    fn make_room(&mut self, current: &Arc<CachedList>) {
        if !self.is_private {
            self.lists.retain(|_, list| Arc::ptr_eq(list, current));
        }
        let mut definitions: usize = self.lists.values().map(|list| list.len()).sum();
        while self.lists.len() > MAX_CALLERS || definitions > MAX_DEFINITIONS {
            let others = self.lists.iter().filter(|(_, list)| !Arc::ptr_eq(list, current));
            let first = others.min_by_key(|(_, list)| list.expires()).map(|(key, _)| key.clone());
            let Some(removed) = first.and_then(|key| self.lists.remove(&key)) else { return };
            definitions = definitions.saturating_sub(removed.len());
        }
    }
}

impl CachedList {
    fn is_valid(&self, generation: u64) -> bool {
        lock(&self.state).valid.is_some_and(|(of, until)| of == generation && Instant::now() < until)
    }

    fn find(&self, name: &str) -> Option<Arc<Tool>> {
        lock(&self.state).tools.get(name).cloned()
    }

    fn set(&self, state: CachedTools) {
        *lock(&self.state) = state;
    }

    fn len(&self) -> usize {
        lock(&self.state).tools.len()
    }

    fn expires(&self) -> Option<Instant> {
        lock(&self.state).valid.map(|(_, until)| until)
    }
}

/// The name of the caller of a call: its principal, else its session, else nothing.
fn caller(call: &Call) -> String {
    match (call.principal(), call.session_id()) {
        (Some(principal), _) => format!("principal {principal}"),
        (None, Some(session)) => format!("session {session}"),
        (None, None) => String::new(),
    }
}

/// The request of a list for the caller of a call, in the newest revision of its era: older ones lack annotations.
fn list_call(call: &Call) -> Call {
    let mut newest = ProtocolVersion::ALL.iter().rev().map(|version| Revision::of(*version));
    let mut list = call.with_params(Params::default());
    list.method = RequestMethod::ListTools.as_str().into();
    list.revision = newest.find(|it| it.has_sessions() == call.revision.has_sessions()).unwrap_or(call.revision);
    list
}
