//! Targets: a supervised connection each, or messages that come from elsewhere.

mod passive;
mod state;
mod supervise;
mod watch;

use std::{
    fmt,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use couplet_client::Client;
use couplet_core::sync::lock;
use couplet_proxy::Proxy;
use couplet_types::ProtocolVersion;
use serde_json::value::to_raw_value;
use tokio::{sync::Notify, task::JoinHandle, time::timeout};

pub use passive::PassiveTarget;
pub(crate) use state::{Phase, TargetState, asked, asked_name};
pub(crate) use watch::Head;

use crate::{
    feed::{Feed, Happening},
    place::{Mount, Mounted, Place},
    tap::{Seen, Tap},
};

/// A target.
pub(crate) struct Target {
    pub(crate) id: Arc<str>,
    /// The server; `None` if there is only what it has said.
    pub(crate) place: Option<Arc<dyn Place>>,
    feed: Feed,
    state: Mutex<TargetState>,
    watch: Mutex<watch::Watch>,
    link: Mutex<Link>,
    changed: Notify,
}

/// The connection to a server.
#[derive(Default)]
struct Link {
    supervisor: Option<JoinHandle<()>>,
    /// The service in front of the server, while connected.
    mounted: Option<Arc<dyn Mounted>>,
    /// The connection behind it.
    proxy: Option<Proxy>,
}

impl Target {
    /// Creates a target for a server. It is not connected yet.
    pub(crate) fn new(id: &str, place: Arc<dyn Place>, feed: &Feed) -> Arc<Self> {
        let state = TargetState::new(id, place.name(), place.target(), place.kind());
        Self::with(id, Some(place), feed, state)
    }

    fn with(id: &str, place: Option<Arc<dyn Place>>, feed: &Feed, state: TargetState) -> Arc<Self> {
        Arc::new(Self {
            id: id.into(),
            place,
            feed: feed.clone(),
            state: Mutex::new(state),
            watch: Mutex::default(),
            link: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Connects, in place of the connection that there may be.
    pub(crate) fn connect(self: &Arc<Self>, revision: Option<ProtocolVersion>, mount: &Mount) {
        let Some(place) = self.place.clone() else { return };
        self.disconnect();
        *lock(&self.watch) = watch::Watch::default();
        self.change(|state| {
            state.asked = asked_name(revision);
            // Which one it will be is not known yet.
            state.revision = None;
            state.enter(Phase::Connecting, "connecting");
        });
        let supervisor = supervise::Supervisor { target: self.clone(), place, revision, mount: mount.clone() };
        // The task holds the target, and ends when it is removed.
        lock(&self.link).supervisor = Some(tokio::spawn(supervisor.run()));
    }

    /// Ends the connection, and does not make another one.
    pub(crate) fn disconnect(&self) {
        let link = std::mem::take(&mut *lock(&self.link));
        if let Some(supervisor) = link.supervisor {
            supervisor.abort();
        }
        if let Some(mounted) = link.mounted {
            mounted.shut_down();
        }
    }

    /// Returns the endpoint in front of the server; `None` while there is no connection.
    pub(crate) fn mounted(&self) -> Option<Arc<dyn Mounted>> {
        lock(&self.link).mounted.clone()
    }

    /// Returns the endpoint in front of the server, and waits for it while a connection is being opened. `None` if there is
    /// none by then.
    pub(crate) async fn mounted_soon(&self) -> Option<Arc<dyn Mounted>> {
        const WAIT: Duration = Duration::from_secs(10);
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if let Some(mounted) = self.mounted() {
                    return Some(mounted);
                }
                if lock(&self.state).phase != Phase::Connecting {
                    return None;
                }
                changed.await;
            }
        };
        timeout(WAIT, wait).await.ok().flatten()
    }

    /// Returns the client of the connection; `None` while there is none.
    pub(crate) fn client(&self) -> Option<Client> {
        lock(&self.link).proxy.as_ref().map(Proxy::client)
    }

    fn mount(&self, mount: &Mount, proxy: Option<&Proxy>) {
        let mounted = proxy.map(|proxy| mount(proxy.service()));
        let mut link = lock(&self.link);
        link.proxy = proxy.cloned();
        let before = std::mem::replace(&mut link.mounted, mounted);
        drop(link);
        before.inspect(|before| before.shut_down());
        self.changed.notify_waiters();
    }

    /// Returns the state as it is now.
    pub(crate) fn state(&self) -> TargetState {
        let mut state = lock(&self.state).clone();
        state.latency_ms = lock(&self.watch).latency_ms();
        if let Some(place) = &self.place {
            (state.headers, state.has_login) = (place.headers(), place.has_login());
        }
        state
    }

    /// Changes the state, and says so in the feed.
    pub(crate) fn change(&self, change: impl FnOnce(&mut TargetState)) {
        change(&mut lock(&self.state));
        if let Ok(state) = to_raw_value(&self.state()) {
            self.feed.add(&self.id, Happening::State(state));
        }
        self.changed.notify_waiters();
    }

    /// Returns a tap whose reports go to the feed.
    pub(crate) fn tap(self: &Arc<Self>) -> Tap {
        let target: Weak<Self> = Arc::downgrade(self);
        Tap::new(move |seen| target.upgrade().into_iter().for_each(|target| target.saw(seen.clone())))
    }

    fn saw(&self, seen: Seen) {
        match seen {
            Seen::Message(direction, text) => {
                let is_news = lock(&self.watch).message(direction, &text);
                self.feed.add(&self.id, Happening::Message(direction, text));
                if is_news {
                    self.change(|_| {});
                }
            }
            Seen::Stderr(line) => self.feed.add(&self.id, Happening::Stderr(line)),
            Seen::Http(exchange) => self.feed.add(&self.id, Happening::Http(exchange)),
            Seen::Login(_) => self.change(|state| state.enter(Phase::Login, "the server requires a login")),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("id", &self.id).finish_non_exhaustive()
    }
}
