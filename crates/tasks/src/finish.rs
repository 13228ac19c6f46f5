//! The end of a task: its result is stored, however long that takes.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use couplet_types::RpcError;
use tokio::time::Instant;

use crate::{
    clock,
    engine::Engine,
    live::Live,
    record::{Change, Finished, Record},
};

/// The tasks that run in this process, of all engines: two servers may share a store.
static HERE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn here() -> MutexGuard<'static, BTreeSet<String>> {
    HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a task runs in this process.
pub(crate) fn runs_here(id: &str) -> bool {
    here().contains(id)
}

/// All tasks that run in this process at the moment.
pub(crate) fn running() -> BTreeSet<String> {
    here().clone()
}

/// A task that runs, until this is dropped. One that is dropped before its end, by a panic, has failed.
pub(crate) struct Running {
    engine: Arc<Engine>,
    live: Arc<Live>,
    deadline: Instant,
    finished: bool,
}

impl Running {
    /// A task that runs for so long at most.
    pub(crate) fn new(engine: &Arc<Engine>, live: &Arc<Live>, ttl: Duration) -> Self {
        here().insert(live.id.clone());
        Self { engine: engine.clone(), live: live.clone(), deadline: Instant::now() + ttl, finished: false }
    }

    /// Stores how the task ended. Until that is done, or the task's time to live is over, the result is kept in memory.
    pub(crate) async fn finish(mut self, finished: Finished) {
        self.finished = true;
        let mut pause = Duration::from_millis(100);
        while self.engine.change(&self.live.id, Change::Finished(finished.clone())).await.is_err() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                tracing::error!(task = self.live.id, "the result of a task could not be stored and is lost");
                return;
            }
            tracing::error!(task = self.live.id, "the result of a task cannot be stored; it is kept in memory");
            // Only now: a status that a client has seen must not be lost with the process, where there is a choice.
            self.live.set_outcome(finished.clone());
            self.engine.announce(&self.live);
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 2).min(Duration::from_secs(30));
        }
        // Where the clock was put forward, the record has expired, and the client has not had its time to look.
        if self.live.expires() <= clock::now() {
            tokio::time::sleep_until(self.deadline).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let (false, Ok(runtime)) = (self.finished, tokio::runtime::Handle::try_current()) {
            let (engine, live, deadline) = (self.engine.clone(), self.live.clone(), self.deadline);
            let failed = Self { engine, live, deadline, finished: true };
            let error = RpcError::internal("the task ended without a result");
            runtime.spawn(failed.finish(Finished::Error(error)));
            return;
        }
        here().remove(&self.live.id);
        self.engine.forget(&self.live);
    }
}

/// The record of a task that does not run any more, though the store says that it does.
pub(crate) fn abandoned(mut record: Record) -> Record {
    let error = RpcError::internal("the task does not run any more, and its result was not stored");
    record.apply(Change::Finished(Finished::Error(error)), clock::now());
    record
}
