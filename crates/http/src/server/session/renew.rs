//! The leases of this replica's sessions: how they are renewed and released.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{runtime::Handle, task::JoinSet, time::Instant};

use crate::server::{
    endpoint::{Config, Endpoint},
    lock,
    request::admit::Admitted,
    session::{
        driver::remember,
        lease::Lease,
        live::LiveSession,
        store_timeout::{SharedStore, Written, log_failure},
    },
};

/// The number of sessions in one call of the store.
const BATCH: usize = 512;
/// The number of concurrent calls of the store at the end.
const CONCURRENT: usize = 32;
/// The time between two looks at sessions in which something runs.
const PAUSE: Duration = Duration::from_millis(50);

/// The time for which all leases are still valid.
fn shortest(sessions: &[Arc<LiveSession>]) -> Duration {
    sessions.iter().filter_map(|live| live.lease.as_ref()).map(Lease::left).min().unwrap_or(Duration::MAX)
}

impl Endpoint {
    /// Starts the task that renews leases, for as long as there are sessions in a store.
    pub(crate) fn renew_leases(&self) {
        let Some(shared) = self.config.shared.clone() else { return };
        if self.state.renews.swap(true, Ordering::SeqCst) {
            return;
        }
        let (config, state) = (self.config.clone(), Arc::downgrade(&self.state));
        let lease = config.limits.session_lease;
        tokio::spawn(async move {
            let mut pause = lease / 3;
            loop {
                tokio::time::sleep(pause.max(Duration::from_millis(1))).await;
                let Some(state) = state.upgrade() else { return };
                let here = Self { config: config.clone(), state };
                pause = here.renew_all(&shared).await;
                if here.state.sessions.len() == 0 {
                    here.state.renews.store(false, Ordering::SeqCst);
                    // A session may have been opened meanwhile, and have found the task running.
                    if here.state.sessions.len() == 0 || here.state.renews.swap(true, Ordering::SeqCst) {
                        return;
                    }
                }
            }
        });
    }

    /// Renews all leases, and ends the sessions whose leases could not be renewed in time. Returns the time after which
    /// that has to be done again.
    async fn renew_all(&self, shared: &SharedStore) -> Duration {
        let mut sessions = self.state.sessions.all();
        sessions.retain(|live| live.lease.as_ref().is_some_and(|lease| !lease.has_ended()));
        let mut renewed = true;
        for batch in sessions.chunks(BATCH) {
            renewed &= self.renew_batch(shared, batch).await;
        }
        let (expired, owned): (Vec<_>, Vec<_>) = sessions.into_iter().partition(|live| !live.is_owned());
        let mut lost = 0;
        for live in expired.iter().filter(|live| live.lease.as_ref().is_some_and(|lease| !lease.has_ended())) {
            self.abandon(live);
            lost += 1;
        }
        if lost > 0 {
            tracing::warn!(sessions = lost, "the leases of sessions have expired, and the sessions end here");
        }
        if renewed && shared.node.url.is_none() {
            self.release_unused().await;
        }
        let lease = self.config.limits.session_lease;
        if renewed { lease / 3 } else { shortest(&owned).min(lease / 12) }
    }

    async fn renew_batch(&self, shared: &SharedStore, batch: &[Arc<LiveSession>]) -> bool {
        let (asked, lease) = (Instant::now(), self.config.limits.session_lease);
        let owned: Vec<_> = batch.iter().map(|live| (live.id.clone(), live.generation())).collect();
        let renewed = match self.config.renew(shared, &owned, shortest(batch)).await {
            Ok(renewed) => renewed,
            Err(error) => {
                log_failure(&error, "the leases of sessions cannot be renewed");
                return false;
            }
        };
        for live in batch {
            if renewed.lost.contains(&live.id) {
                tracing::debug!("a session was removed or taken over elsewhere");
                self.abandon(live);
                continue;
            }
            if let Some(own) = &live.lease {
                own.extend(asked, lease);
            }
            #[cfg(feature = "replicas")]
            if renewed.with_messages.contains(&live.id) {
                self.collect(shared, live).await;
            }
        }
        self.store_unstored(batch).await;
        true
    }

    /// Stores the settings that could not be stored before.
    async fn store_unstored(&self, batch: &[Arc<LiveSession>]) {
        for live in batch.iter().filter(|live| live.is_owned()) {
            let Some(memory) = lock(&live.state).unstored.clone() else { continue };
            match remember(live, memory, &self.config).await {
                Written::Stored => {}
                Written::Failed => return,
                Written::Fenced => self.abandon(live),
            }
        }
    }

    /// Releases sessions that were not used for the time of a lease. Without a URL other replicas cannot forward requests
    /// to this one, so a client whose requests go to another replica by now would wait until the session is idle.
    ///
    /// They stay in the table, without a connection: they still count.
    async fn release_unused(&self) {
        let lease = self.config.limits.session_lease;
        let unused = self.state.sessions.all().into_iter().filter(|live| live.rest(lease)).collect();
        self.at_once(unused, |config, live: Arc<LiveSession>| async move {
            match &config.shared {
                Some(shared) => config.release(shared, &live.id, live.generation()).await,
                None => true,
            }
        })
        .await;
    }

    /// Releases the sessions in which nothing runs; returns whether any are left.
    async fn release_idle(&self) -> bool {
        let is_unused = |live: &Arc<LiveSession>| lock(&live.state).is_unused();
        let unused: Vec<_> = self.state.sessions.all().into_iter().filter(is_unused).collect();
        self.release(unused).await;
        self.state.sessions.len() > 0
    }

    /// Releases sessions when nothing runs in them any more, until there are none: the server shuts down. Until then messages
    /// for the others are taken from the store, and answers of clients for the time `answers`.
    pub(crate) fn release_when_idle(&self, answers: Duration) {
        let (Ok(runtime), Some(shared)) = (Handle::try_current(), self.config.shared.clone()) else {
            return self.state.sessions.cancel_client_requests();
        };
        let (here, began) = (self.clone(), Instant::now());
        runtime.spawn(async move {
            while here.release_idle().await {
                if began.elapsed() >= answers {
                    here.state.sessions.cancel_client_requests();
                }
                tokio::time::sleep(here.look_for_messages(&shared).await).await;
            }
        });
    }

    /// Takes the messages for sessions, if other replicas store any. Returns the time until the next look: it is a call of the
    /// store.
    async fn look_for_messages(&self, shared: &SharedStore) -> Duration {
        /// The share of each session in the time between two looks.
        const EACH: Duration = Duration::from_micros(100);
        if !self.takes_messages() {
            return PAUSE;
        }
        let owned: Vec<_> = self.state.sessions.all().into_iter().filter(|live| live.is_owned()).collect();
        for batch in owned.chunks(BATCH) {
            self.renew_batch(shared, batch).await;
        }
        PAUSE.max(EACH * u32::try_from(owned.len()).unwrap_or(u32::MAX))
    }

    /// Whether other replicas store messages for the owner of a session that they cannot reach.
    pub(crate) fn takes_messages(&self) -> bool {
        #[cfg(feature = "replicas")]
        return self.config.shared.is_some() && self.config.replicas.is_some();
        #[cfg(not(feature = "replicas"))]
        return false;
    }

    /// Releases a session for the replica that has forwarded a request, if this one shuts down and nothing runs in the session;
    /// returns whether it did. The request is not handled. Its handler might send a request to the client here, whose answer
    /// would come too late.
    #[cfg(feature = "replicas")]
    pub(crate) async fn hand_over(&self, live: &Arc<LiveSession>, admitted: &Admitted) -> bool {
        let hands_over = self.is_draining() && admitted.forwarded.is_some() && lock(&live.state).runs_nothing();
        if hands_over {
            self.release(vec![live.clone()]).await;
        }
        hands_over
    }

    #[cfg(not(feature = "replicas"))]
    #[expect(clippy::unused_async, reason = "requests are not forwarded")]
    pub(crate) async fn hand_over(&self, _: &Arc<LiveSession>, _: &Admitted) -> bool {
        false
    }

    /// Waits until no call runs in a session that another replica can take over. A client that lost its connection resumes
    /// the stream of a call there, and finds the answer if the call has finished.
    #[cfg(feature = "listen")]
    pub(crate) async fn finish_calls(&self) {
        let is_busy = |live: &Arc<LiveSession>| lock(&live.state).has_calls();
        while self.config.shared.is_some() && self.state.sessions.all().iter().any(is_busy) {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Ends all sessions here and releases them, so that other replicas can take them over at once. Calls that still run
    /// are cancelled. Without a session store the sessions are over.
    ///
    /// It is the last step of a shutdown, after [`Endpoint::shut_down`] and the time that running calls have to finish;
    /// [`listen`](crate::server) does so by itself.
    ///
    /// Up to 32 sessions are released at a time. When a store call takes longer than
    /// [`HttpLimits::store_time`](crate::server::HttpLimits::store_time) the rest is left to expire. Dropping the
    /// future leaves the sessions that are not released yet to their leases.
    pub async fn release_sessions(&self) {
        self.release(self.state.sessions.all()).await;
    }

    /// Releases sessions, one call at a time: the last one of a shutdown does not return before the others have, whose
    /// sessions are out of the table already.
    pub(crate) async fn release(&self, sessions: Vec<Arc<LiveSession>>) {
        let _turn = self.state.releasing.lock().await;
        let gone = sessions.into_iter().filter(|live| self.state.sessions.remove_this(live));
        let end = |live: Arc<LiveSession>| {
            let is_owned = live.is_owned();
            live.fence();
            (live, is_owned)
        };
        self.at_once(gone.map(end).collect(), |config, (live, is_owned)| async move {
            match &config.shared {
                Some(shared) if is_owned => config.release(shared, &live.id, live.generation()).await,
                Some(_) => true,
                None => config.give_up(&[live], |_| true).await,
            }
        })
        .await;
    }

    /// Does something for each session, for several at a time, until the store does not answer in time once: what is left
    /// has to expire.
    async fn at_once<T, F>(&self, sessions: Vec<T>, work: impl Fn(Arc<Config>, T) -> F)
    where
        F: Future<Output = bool> + Send + 'static,
    {
        let mut calls = JoinSet::new();
        for live in sessions {
            if calls.len() >= CONCURRENT && !matches!(calls.join_next().await, Some(Ok(true))) {
                return;
            }
            calls.spawn(work(self.config.clone(), live));
        }
        while calls.join_next().await.is_some() {}
    }
}
