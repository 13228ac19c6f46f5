//! The end of a task: the result is stored, with retries if the store fails.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use couplet_core::sync::lock;
use couplet_types::RpcError;
use tokio::time::Instant;

use super::{Engine, Live, live::Departure};
use crate::{
    clock,
    record::{Change, Finished, Record},
};

/// The tasks that run in this process, across all engines: two servers may share a store.
static HERE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn here() -> MutexGuard<'static, BTreeSet<String>> {
    lock(&HERE)
}

/// Whether a task runs in this process.
pub(crate) fn runs_here(id: &str) -> bool {
    here().contains(id)
}

/// The tasks that run in this process at the moment.
pub(crate) fn running() -> BTreeSet<String> {
    here().clone()
}

/// A guard for a running task. A task whose guard is dropped before the end, by a panic, has failed.
pub(crate) struct Running {
    engine: Arc<Engine>,
    live: Arc<Live>,
    deadline: Instant,
    finished: bool,
}

impl Running {
    /// Creates the guard of a task that runs until its time to live has passed at most.
    pub(crate) fn new(engine: &Arc<Engine>, live: &Arc<Live>, ttl: Duration) -> Self {
        here().insert(live.id.clone());
        Self { engine: engine.clone(), live: live.clone(), deadline: Instant::now() + ttl, finished: false }
    }

    /// Ends the lease of the task, so that another process can run it at once.
    async fn release(self) {
        match self.engine.store.release(&self.live.id, self.live.generation).await {
            Ok(true) => tracing::info!(task = self.live.id, "task released, because of the shutdown"),
            // It has ended, or another process runs it.
            Ok(false) => {}
            Err(error) => error.log("a task cannot be released; its lease expires"),
        }
    }

    /// Stores the outcome of the task. Until that succeeds, or the time to live has passed, the outcome is held in
    /// memory.
    pub(crate) async fn finish(mut self, finished: Finished) {
        self.finished = true;
        self.live.set_ending();
        let mut pause = Duration::from_millis(100);
        while self.engine.change_by(&self.live, Change::Finished(finished.clone())).await.is_err() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::error!(
                    task = self.live.id,
                    "the result of a task could not be stored before its time to live passed, and is lost"
                );
                return;
            }
            tracing::debug!(task = self.live.id, "the result of a task is held in memory; storing it is retried");
            // Not earlier: a status that a client has seen should not be lost with the process.
            self.live.set_outcome(finished.clone());
            self.engine.announce(&self.live);
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_secs(30));
        }
        // After a jump of the clock the record has expired, and the client has had no time to fetch the result.
        if self.live.expires() <= clock::now() {
            tokio::time::sleep_until(self.deadline).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.finished, tokio::runtime::Handle::try_current()) {
            let (engine, live, deadline) = (self.engine.clone(), self.live.clone(), self.deadline);
            let ending = Self { engine, live, deadline, finished: true };
            let error = match self.live.departure() {
                Some(Departure::Released) => {
                    runtime.spawn(ending.release());
                    return;
                }
                Some(Departure::Aborted) => "the server was shut down before the task had ended",
                None => "the task ended without a result",
            };
            runtime.spawn(ending.finish(Finished::Error(RpcError::internal(error))));
            return;
        }
        here().remove(&self.live.id);
        self.engine.forget(&self.live);
    }
}

/// The failed record of a task that the store believes to be running, and that no process runs.
pub(crate) fn abandoned(mut record: Record) -> Record {
    let error = RpcError::internal("the task does not run any more, and its result was not stored");
    record.apply(None, Change::Finished(Finished::Error(error)), clock::now());
    record
}
