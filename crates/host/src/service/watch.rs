//! Views follow the catalogs of their servers.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock, RwLock, Weak},
};

use couplet_core::{Change, Filter, Hub, JsonText, clock::unix_seconds, sync::lock};
use tokio::task::AbortHandle;

use crate::{
    catalog::{Catalog, List},
    host::{Config, Inner, ServerStatus, Slot},
    names::{Duplicate, Kind},
    pins::{Digest, Lock, Pins, Seen},
    profile::Profile,
    service::{
        ViewInner, hold,
        link::{Owned, ServerHooks},
        linked::Links,
        member::Member,
        seals::Seals,
        snapshot::{Snapshot, Stamp, list_of},
        tasks::Tasks,
    },
    upstream::Upstream,
};

impl Inner {
    /// Spawns the task that rebuilds views after changes.
    pub(crate) fn watch(self: &Arc<Self>) -> AbortHandle {
        // The task must not keep the host alive while it waits.
        let (host, kick) = (Arc::downgrade(self), self.kick.clone());
        let watching = tokio::spawn(async move {
            loop {
                kick.notified().await;
                let Some(host) = host.upgrade() else { return };
                host.refresh().await;
            }
        });
        watching.abort_handle()
    }

    /// Spawns the task that notes changes of a server's catalog.
    pub(crate) fn follow(self: &Arc<Self>, upstream: &Upstream) -> AbortHandle {
        let (host, mut changes) = (Arc::downgrade(self), upstream.changes());
        let following = tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(host) = host.upgrade() else { return };
                host.kick.notify_one();
            }
        });
        following.abort_handle()
    }

    /// Compares new catalogs with the lock, and rebuilds the views.
    pub(crate) async fn refresh(self: &Arc<Self>) {
        let _refreshing = self.refreshing.lock().await;
        self.update().await;
    }

    /// The same, while the lock is held.
    pub(crate) async fn update(&self) {
        let config = self.config();
        if let Some(pins) = &config.rules.pins {
            for slot in &config.slots {
                observe(slot, pins, config.rules.server(slot.upstream.id()).is_pinned).await;
            }
        }
        self.rebuild();
    }

    /// Rebuilds the views whose tables would differ.
    pub(crate) fn rebuild(&self) {
        let config = self.config();
        let views: Vec<_> = lock(&self.views).values().cloned().collect();
        for view in views {
            let name = view.profile_name();
            let profile = config.profiles.get(&name).cloned();
            // A profile that the configuration has no more shows nothing.
            let profile = profile.unwrap_or_else(|| Arc::new(Profile::new(name).only()));
            view.rebuild(&config, &profile);
        }
    }

    /// The view of a profile, which is created once.
    pub(crate) fn view(self: &Arc<Self>, profile: Arc<Profile>) -> Arc<ViewInner> {
        let config = self.config();
        let mut views = lock(&self.views);
        if let Some(view) = views.get(profile.name()) {
            return view.clone();
        }
        let view = Arc::new_cyclic(|me: &Weak<ViewInner>| ViewInner {
            host: Arc::downgrade(self),
            me: me.clone(),
            hub: Hub::new(),
            seals: Seals::new(self.sealer(), profile.name()),
            tasks: Tasks::default(),
            links: Links::default(),
            now: RwLock::new(Arc::new(Snapshot::empty(&profile, &config))),
            relayed: std::sync::Mutex::default(),
            holder: OnceLock::new(),
        });
        view.rebuild(&config, &profile);
        views.insert(profile.name().clone(), view.clone());
        view
    }

    pub(crate) fn status(&self, slot: &Slot) -> ServerStatus {
        let config = self.config();
        let lock = config.rules.pins.as_ref().map(Pins::snapshot);
        let (id, catalog) = (slot.upstream.id(), slot.upstream.catalog());
        let kinds = [Kind::Tool, Kind::Prompt, Kind::Resource, Kind::Template];
        let all = kinds.into_iter().flat_map(|kind| catalog.list(list_of(kind)).iter().map(move |item| (kind, item)));
        let blocked = all.filter(|(kind, item)| !config.rules.is_approved(lock.as_deref(), id, *kind, item));
        let mut blocked: Vec<_> = blocked.map(|(kind, item)| (kind, item.raw().clone())).collect();
        if !config.rules.approves_instructions(lock.as_deref(), id, &catalog) {
            blocked.push((Kind::Instructions, "".into()));
        }
        ServerStatus { upstream: slot.upstream.status(), blocked }
    }
}

/// The definitions of a catalog that can be pinned.
pub(crate) fn seen(catalog: &Catalog) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::new();
    for (kind, list) in [(Kind::Tool, List::Tools), (Kind::Prompt, List::Prompts), (Kind::Template, List::Templates)] {
        seen.extend(catalog.list(list).iter().filter_map(|item| Seen::new(kind, item.raw().clone(), item.text()).ok()));
    }
    if let Some(instructions) = catalog.instructions() {
        seen.extend(Seen::new(Kind::Instructions, "", &JsonText::string(instructions)).ok());
    }
    seen
}

impl Slot {
    /// The digest of the launch configuration, or of the id if none is configured.
    pub(crate) fn launch(&self) -> Digest {
        self.launch.unwrap_or_else(|| Digest::of(self.upstream.id().as_str()))
    }
}

/// Compares a catalog with the lock, once for each of its generations.
async fn observe(slot: &Slot, pins: &Pins, is_pinned: bool) {
    let catalog = slot.upstream.catalog();
    let generation = catalog.generation();
    if !is_pinned || !catalog.is_fetched() || *lock(&slot.observed) == Some(generation) {
        return;
    }
    let (id, launch, seen) = (slot.upstream.id(), slot.launch(), seen(&catalog));
    let baseline = slot.baseline.clone();
    match pins.update(|all: &mut Lock| all.observe(id, &launch, &seen, baseline, unix_seconds())).await {
        Ok(observed) => {
            *lock(&slot.observed) = Some(generation);
            for item in observed.pending.iter().chain(&observed.changed) {
                tracing::warn!(server = %id, "{item} is hidden until it is approved");
            }
        }
        Err(error) => tracing::error!(server = %id, "the lock cannot be stored, so nothing new is shown: {error}"),
    }
}

/// Logs the URIs that more than one server lists, unless they were before.
fn report_duplicates(before: &Snapshot, after: &Snapshot) {
    /// The most lines: a server can list thousands of URIs of another one.
    const LINES: usize = 10;
    let known: HashSet<&Duplicate> = before.duplicates.iter().collect();
    let profile = after.profile.name();
    let mut new = after.duplicates.iter().filter(|duplicate| !known.contains(duplicate));
    for duplicate in new.by_ref().take(LINES) {
        tracing::warn!(%profile, "{duplicate}");
    }
    let more = new.count();
    if more > 0 {
        tracing::warn!(%profile, "{more} more resources and templates are listed by more than one server");
    }
}

impl ViewInner {
    fn profile_name(&self) -> Arc<str> {
        self.snapshot().profile.name().clone()
    }

    /// Rebuilds the tables, and notifies clients of lists that differ.
    fn rebuild(&self, config: &Config, profile: &Arc<Profile>) {
        let before = self.snapshot();
        let slots = config.slots.iter().filter(|slot| profile.has(slot.upstream.id()));
        let members: Vec<_> = slots.map(|slot| self.member(slot)).collect();
        let pinned = config.rules.pins.as_ref().map(Pins::snapshot);
        let stamp = Stamp::new(config, profile, &members, pinned.as_ref());
        if before.stamp.is_same(&stamp) {
            return;
        }
        let after = Arc::new(Snapshot::new(profile, config, members, pinned.as_deref(), stamp));
        report_duplicates(&before, &after);
        self.relay(&after);
        if after.members.iter().any(|member| member.upstream.options().idle_stop.is_some()) {
            self.holder.get_or_init(|| hold::spawn(&self.me, &self.hub));
        }
        self.set(after.clone());
        // The owners of URIs may be others now: servers subscribe accordingly.
        drop(self.hub.subscribe(Filter::new()));
        let changed = |kind| !before.is_same(&after, kind);
        for (change, is_changed) in [
            (Change::Tools, changed(Kind::Tool)),
            (Change::Prompts, changed(Kind::Prompt)),
            (Change::Resources, changed(Kind::Resource) || changed(Kind::Template)),
        ] {
            if is_changed {
                self.hub.send(change);
            }
        }
    }

    fn member(&self, slot: &Slot) -> Member {
        let (upstream, server) = (slot.upstream.clone(), slot.upstream.id().clone());
        let rounds = self.seals.rounds(&server);
        let link = |defers| Arc::new(ServerHooks { view: self.me.clone(), server: server.clone(), defers });
        Member { catalog: upstream.catalog(), upstream, link: link(false), link_of_rounds: link(true), rounds }
    }

    /// Receives the changes of servers that are new in the view.
    fn relay(&self, snapshot: &Snapshot) {
        let mut relayed = lock(&self.relayed);
        relayed.retain(|known| snapshot.members.iter().any(|member| known.is_same(member.upstream.hub())));
        for member in &snapshot.members {
            let hub = member.upstream.hub();
            if !relayed.iter().any(|known| known.is_same(hub)) {
                self.hub.relay(hub, Owned { view: self.me.clone(), server: member.id().clone() });
                relayed.push(hub.clone());
            }
        }
    }
}
