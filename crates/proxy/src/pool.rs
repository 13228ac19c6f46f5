//! The pool of connections to the server.
//!
//! A stateless server needs one connection. A server with sessions gets a connection for each downstream session, up to
//! a limit; stateless callers of a principal with the same capabilities share one until the server sends its first
//! elicitation or sampling request, and from then on each of their calls that may receive one has a connection for itself.
//! Until then, calls that may be the first to receive one do not share a connection with each other.

mod opening;
mod room;
mod slot;

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use couplet_client::ClientBuilder;
use couplet_core::{Change, Connect, Error, ErrorKind, Hub, Peer, sync::lock};
use couplet_types::{
    Notification, PromptListChanged, ResourceListChanged, ResourceUpdated, TaskStatusChanged, ToolListChanged,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout},
};

use crate::{
    abilities::{Abilities, AbilitySets},
    builder::Options,
    parked::Parked,
    quiet::Quiet,
    session::{Expects, Needs, Owner},
    subscribed::Subscribed,
    tasks::{Tasks, notify::status_changed},
    upstream::{Dialer, Upstream},
};

pub(crate) use self::slot::Lease;
use self::{opening::Opening, room::Room, slot::Slot};

pub(crate) struct Pool {
    dialer: Dialer,
    state: Mutex<State>,
    freed: Notify,
    hub: Hub,
    pub(crate) options: Options,
    asks: Arc<AtomicBool>,
    quiet: Quiet,
    pub(crate) sets: AbilitySets,
    pub(crate) parked: Parked,
    pub(crate) subscribed: Subscribed,
    pub(crate) tasks: Arc<Tasks>,
}

#[derive(Default)]
struct State {
    slots: Vec<Slot>,
    last: u64,
    /// The connections that are being opened, and for which owners.
    opening: Vec<(u64, Owner)>,
    /// Until when no further connection is tried, because the target refused one.
    alone: Option<Instant>,
    /// The reason why there is no connection.
    failure: Option<Error>,
    /// The server's name.
    name: Option<String>,
    closed: bool,
}

/// The next step for a call.
enum Take {
    Leased(Lease),
    /// Open a connection, and retire the slot that it replaces.
    Dial(Opening, Option<u64>),
    /// Wait until a connection is free, or for this time.
    Wait(Duration),
    Down(Error),
}

/// The calls that may run on the connection of a call at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// All.
    Shared,
    /// All but other trials: it may be the first call that the server sends a request about.
    Trial,
    /// None, so that requests of the server can be assigned to it.
    Exclusive,
}

impl Pool {
    /// How long no further connection is tried after the target refused one.
    const ALONE: Duration = Duration::from_secs(30);

    /// How long a trial waits for the end of another one before it opens a further connection.
    const TRIAL: Duration = Duration::from_secs(1);

    pub(crate) fn new(client: ClientBuilder, target: Box<dyn Connect>, hub: Hub, options: Options) -> Arc<Self> {
        let asks = Arc::new(AtomicBool::new(false));
        let tasks = Arc::<Tasks>::default();
        let dialer = Dialer::new(client, target, asks.clone(), tasks.clone(), options.answer);
        let parked = Parked::new(options.connections, options.answer);
        Arc::new(Self {
            dialer,
            state: Mutex::default(),
            freed: Notify::new(),
            hub,
            options,
            asks,
            quiet: Quiet::default(),
            sets: AbilitySets::default(),
            parked,
            subscribed: Subscribed::new(),
            tasks,
        })
    }

    /// Opens the first connection.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<Arc<Upstream>, Error> {
        let upstream = self.dialer.dial(Abilities::ALL).await?;
        self.sets.split(upstream.client.transport());
        match self.add(&upstream, &Owner::Free, |_| {}) {
            Some(()) => Ok(upstream),
            None => Err(Error::unsent(ErrorKind::Closed, "the proxy was closed")),
        }
    }

    /// The connection for requests that are the same for every caller.
    pub(crate) fn lead(&self) -> Result<Arc<Upstream>, Error> {
        let state = self.lock();
        state.slots.first().map(|slot| slot.upstream.clone()).ok_or_else(|| state.down())
    }

    /// A connection of the caller for a request without input requests. It does not wait for the caller's other calls.
    pub(crate) async fn shared(self: &Arc<Self>, needs: &Needs) -> Result<Arc<Upstream>, Error> {
        let own = {
            let state = self.lock();
            // If only one connection is possible, all callers share it.
            let alone = state.alone.is_some_and(|until| until > Instant::now());
            let own = state.slots.iter().find(|slot| alone || slot.owner.is(&needs.owner));
            own.map(|slot| slot.upstream.clone())
        };
        match own {
            Some(upstream) => Ok(upstream),
            None => self.lease(needs).await.map(|lease| lease.upstream.clone()),
        }
    }

    /// The connections that notifications of a client go to: its own, and those without an owner.
    pub(crate) fn of_client(&self, peer: &Arc<Peer>) -> Vec<Arc<Upstream>> {
        let state = self.lock();
        let own = state.slots.iter().filter(|slot| match &slot.owner {
            Owner::Free => true,
            Owner::Session(session) => session.is_of(peer),
            Owner::Principal(..) => false,
        });
        own.map(|slot| slot.upstream.clone()).collect()
    }

    /// A connection for a call that may receive input requests.
    pub(crate) async fn lease(self: &Arc<Self>, needs: &Needs) -> Result<Lease, Error> {
        // A connection that is being opened has the time that connecting has, whatever the queue has.
        let most = self.options.wait.saturating_add(self.options.connect);
        let leased = timeout(most, self.lease_in_turn(needs)).await;
        leased.unwrap_or_else(|_| Err(self.waited()))
    }

    /// The error of a call that has waited for a connection for too long.
    fn waited(&self) -> Error {
        let (most, opening) = (self.options.connections, self.lock().opening.len());
        let what = match (opening, self.parked.len()) {
            (0, 0) => format!("all {most} connections to the server are in use; retry later"),
            (0, open) => format!(
                "all {most} connections to the server are in use, {open} of them by calls that wait for the answer of \
                 their caller; retry later"
            ),
            _ => format!("a further connection was not open within {:?}; retry later", self.options.connect),
        };
        Error::unsent(ErrorKind::Timeout, what)
    }

    async fn lease_in_turn(self: &Arc<Self>, needs: &Needs) -> Result<Lease, Error> {
        let (began, mut left) = (Instant::now(), self.options.wait);
        loop {
            let freed = self.freed.notified();
            match self.take(needs, began) {
                Take::Leased(lease) => return Ok(lease),
                Take::Down(error) => return Err(error),
                Take::Wait(most) if self.is_opening() => drop(timeout(most, freed).await),
                Take::Wait(most) => {
                    let since = Instant::now();
                    let freed = timeout(most.min(left), freed).await;
                    left = left.saturating_sub(since.elapsed());
                    if freed.is_err() && left.is_zero() {
                        return Err(self.waited());
                    }
                }
                Take::Dial(opening, replaced) => {
                    let (done, opened) = oneshot::channel();
                    // It goes on when the caller gives up, so that the next one finds the connection.
                    let opening = self.clone().open(opening, replaced, needs.clone());
                    tokio::spawn(async move { opening.await.map(|lease| done.send(lease)) });
                    if let Ok(lease) = opened.await {
                        return Ok(lease);
                    }
                }
            }
        }
    }

    fn is_opening(&self) -> bool {
        !self.lock().opening.is_empty()
    }

    /// Opens a further connection for an owner; `None` if that fails.
    async fn open(self: Arc<Self>, opening: Opening, replaced: Option<u64>, needs: Needs) -> Option<Lease> {
        let late = |_| Err(Error::new(ErrorKind::Timeout, "it did not answer in time"));
        let lease = match timeout(self.options.connect, self.dialer.dial(opening.abilities)).await.unwrap_or_else(late)
        {
            Ok(upstream) => {
                let demand = self.demand(&needs);
                let lease = self.add(&upstream, &needs.owner, |slot| slot.lease(&self, &needs, demand))?;
                replaced.into_iter().for_each(|id| self.remove(id));
                self.close_muted();
                Some(lease)
            }
            Err(error) => {
                tracing::warn!(%error, "the server accepts no further connection; callers take turns");
                self.lock().alone = Some(Instant::now() + Self::ALONE);
                None
            }
        };
        drop(opening);
        lease
    }

    fn take(self: &Arc<Self>, needs: &Needs, began: Instant) -> Take {
        let owner = &needs.owner;
        let mut state = self.lock();
        let demand = self.demand(needs);
        if state.slots.is_empty() && state.opening.is_empty() {
            return Take::Down(state.down());
        }
        if let Some(slot) = state.slots.iter_mut().find(|slot| slot.owner.is(owner) && slot.is_open(demand)) {
            return Take::Leased(slot.lease(self, needs, demand));
        }
        let room = state.room(owner, self.options.connections);
        if let Some(slot) = state.slots.iter_mut().find(|slot| room.is_shared(slot, owner) && slot.is_open(demand)) {
            return Take::Leased(slot.lease(self, needs, demand));
        }
        let is_free = |slot: &&mut Slot| matches!(slot.owner, Owner::Free) && room.suits(slot) && !slot.leaving;
        if let Some(slot) = state.slots.iter_mut().find(is_free) {
            slot.belong_to(owner);
            return Take::Leased(slot.lease(self, needs, demand));
        }
        let grace = self.options.wait / 2;
        if demand != Demand::Exclusive && state.opening.iter().any(|(_, other)| other.is(owner)) {
            return Take::Wait(self.options.connect);
        }
        let trial = Self::TRIAL.saturating_sub(began.elapsed());
        if demand == Demand::Trial && !trial.is_zero() && state.slots.iter().any(|slot| slot.tries_for(owner)) {
            return Take::Wait(trial);
        }
        if let Some(take) = self.open_or_reassign(&mut state, &room, needs, demand) {
            return take;
        }
        // Without a further connection, a call that would be quiet is not held up by another one.
        let is_own = |slot: &Slot| slot.owner.is(owner) || room.is_shared(slot, owner);
        let shared = state.slots.iter_mut().find(|slot| is_own(slot) && slot.is_open(Demand::Shared));
        if let (Demand::Trial, Some(slot)) = (demand, shared) {
            let mut lease = slot.lease(self, needs, Demand::Shared);
            lease.is_suspect = true;
            return Take::Leased(lease);
        }
        drop(state);
        // The evicted call runs again later. Dropping it frees its connection.
        match self.parked.give_way(needs.principal.as_deref(), grace) {
            Ok(evicted) => {
                drop(evicted);
                Take::Wait(grace)
            }
            Err(left) => Take::Wait(left),
        }
    }

    /// Opens a further connection, or takes over one that is not in use; `None` if neither is possible.
    fn open_or_reassign(
        self: &Arc<Self>,
        state: &mut State,
        room: &Room,
        needs: &Needs,
        demand: Demand,
    ) -> Option<Take> {
        let owner = &needs.owner;
        let declared = if room.is_full { Abilities::ALL } else { room.can };
        match state.longest_idle(&self.tasks, (!room.may_dial).then_some(room.can)) {
            Some(slot) if room.may_dial && (slot.owner.is_gone() || !room.has_room) => {
                slot.leaving = true;
                let id = slot.id;
                Some(Take::Dial(Opening::new(self, state, owner, declared, Some(id)), Some(id)))
            }
            _ if room.may_dial && room.has_room => {
                Some(Take::Dial(Opening::new(self, state, owner, declared, None), None))
            }
            Some(slot) => {
                slot.belong_to(owner);
                Some(Take::Leased(slot.lease(self, needs, demand)))
            }
            None => None,
        }
    }

    fn demand(&self, needs: &Needs) -> Demand {
        match &needs.expects {
            Expects::Nothing => Demand::Shared,
            Expects::Requests(_) if self.asks.load(Ordering::Acquire) => Demand::Exclusive,
            Expects::Requests(name) if self.quiet.has(needs.owner.abilities(), name) => Demand::Shared,
            Expects::Requests(_) => Demand::Trial,
        }
    }

    /// Adds a connection, unless the pool was closed meanwhile: then the connection is closed with its last handle.
    fn add<T>(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        owner: &Owner,
        begin: impl FnOnce(&mut Slot) -> T,
    ) -> Option<T> {
        let mut state = self.lock();
        if state.closed {
            return None;
        }
        state.last += 1;
        let id = state.last;
        let mut slot = Slot {
            id,
            upstream: upstream.clone(),
            owner: Owner::Free,
            running: 0,
            exclusive: false,
            tries: false,
            leaving: false,
            used: Instant::now(),
        };
        slot.belong_to(owner);
        let begun = begin(&mut slot);
        state.slots.push(slot);
        state.failure = None;
        state.name = upstream.client.server().info.as_ref().map(|info| info.name.clone());
        drop(state);
        self.watch(id, upstream);
        Some(begun)
    }

    /// Forwards changes of a connection, and removes it when it ends.
    fn watch(self: &Arc<Self>, id: u64, upstream: &Arc<Upstream>) {
        let (pool, hub, mut notices) = (Arc::downgrade(self), self.hub.clone(), upstream.client.notifications());
        let (asking, revision, tasks) = (upstream.asking.clone(), upstream.client.revision(), self.tasks.clone());
        let upstream = Arc::downgrade(upstream);
        tokio::spawn(async move {
            while let Some(notice) = notices.next().await {
                match (list_change(&notice.method), asking.session()) {
                    (Some(change), _) => {
                        if change == Change::Tools {
                            tasks.supports.clear();
                        }
                        hub.send(change);
                    }
                    // Updates on the first connection, which has the subscriptions, are forwarded there.
                    (None, _) if notice.method == ResourceUpdated::METHOD => {
                        let (pool, upstream) = (pool.upgrade(), upstream.upgrade());
                        let is_lead = pool.zip(upstream).is_none_or(|(pool, upstream)| pool.is_lead(&upstream));
                        match notice.params.read_str("uri") {
                            Ok(Some(uri)) if !is_lead => hub.send(Change::Updated(uri.into_owned())),
                            _ => {}
                        }
                    }
                    (None, Some(session)) => session.notify(revision, &notice.method, &notice.params).await,
                    (None, None) if notice.method == TaskStatusChanged::METHOD => {
                        let upstream = upstream.upgrade();
                        upstream.iter().for_each(|at| status_changed(at, &hub, &tasks, &notice.params));
                    }
                    (None, None) => {}
                }
            }
            pool.upgrade().into_iter().for_each(|pool| pool.remove(id));
        });
    }

    /// Whether a connection is the one for requests that are the same for every caller.
    fn is_lead(&self, upstream: &Arc<Upstream>) -> bool {
        self.lock().slots.first().is_some_and(|slot| Arc::ptr_eq(&slot.upstream, upstream))
    }

    /// Starts no other call on a connection, unless it belongs to one session.
    fn hold(&self, slot: u64) {
        if let Some(slot) = self.lock().slots.iter_mut().find(|s| s.id == slot && s.owner.session().is_none()) {
            slot.exclusive = true;
        }
    }

    fn remove(&self, id: u64) {
        let mut state = self.lock();
        if let Some(at) = state.slots.iter().position(|slot| slot.id == id) {
            let slot = state.slots.remove(at);
            drop(state);
            slot.upstream.retired.notify_one();
            self.freed.notify_waiters();
        }
    }

    /// Closes unused connections on which requests of the server are refused, if there is another one: it would be used for
    /// all further calls, and lists should come from where calls go.
    fn close_muted(&self) {
        let muted: Vec<_> = {
            let state = self.lock();
            let is_muted = |slot: &&Slot| slot.upstream.asking.is_muted();
            let muted = state.slots.iter().filter(|slot| is_muted(slot) && slot.running == 0);
            let muted: Vec<_> = muted.map(|slot| slot.id).collect();
            if state.slots.iter().all(|slot| is_muted(&slot)) { Vec::new() } else { muted }
        };
        muted.into_iter().for_each(|id| self.remove(id));
    }

    /// Closes connections of ended sessions, and those that were unused for the idle timeout. The first one stays, and
    /// those with tasks.
    pub(crate) fn close_idle(&self) {
        let idle: Vec<_> = {
            let state = self.lock();
            let rest = state.slots.iter().skip(1).filter(|slot| slot.running == 0);
            let over = rest.filter(|slot| slot.owner.is_gone() || slot.used.elapsed() >= self.options.idle);
            let over = over.filter(|slot| !self.tasks.run_on(&slot.upstream));
            over.map(|slot| slot.id).collect()
        };
        idle.into_iter().for_each(|id| self.remove(id));
    }

    /// Sets the reason why there is no connection.
    pub(crate) fn set_failure(&self, error: Error) {
        self.lock().failure = Some(error);
    }

    pub(crate) fn failure(&self) -> Option<Error> {
        self.lock().failure.clone()
    }

    /// Closes all connections.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.parked.clear();
        let ids: Vec<_> = self.lock().slots.iter().map(|slot| slot.id).collect();
        ids.into_iter().for_each(|id| self.remove(id));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl State {
    fn down(&self) -> Error {
        let why = self.failure.as_ref().map_or_else(String::new, |error| format!(": {error}"));
        let name = self.name.as_deref().unwrap_or("?");
        Error::unsent(ErrorKind::Closed, format!("`{name}` is restarting and cannot be reached; retry later{why}"))
    }

    /// The idle slot to reassign: of an ended session, or else the least recently used, if possible one without tasks. If it
    /// cannot be replaced by a new connection, first of all one that declares these capabilities.
    fn longest_idle(&mut self, tasks: &Tasks, can: Option<Abilities>) -> Option<&mut Slot> {
        let lacks = |slot: &Slot| can.is_some_and(|can| !slot.upstream.abilities.has(can));
        let idle = self.slots.iter_mut().filter(|slot| slot.is_idle());
        idle.min_by_key(|slot| (lacks(slot), !slot.owner.is_gone(), tasks.run_on(&slot.upstream), slot.used))
    }
}

fn list_change(method: &str) -> Option<Change> {
    match method {
        ToolListChanged::METHOD => Some(Change::Tools),
        PromptListChanged::METHOD => Some(Change::Prompts),
        ResourceListChanged::METHOD => Some(Change::Resources),
        _ => None,
    }
}
