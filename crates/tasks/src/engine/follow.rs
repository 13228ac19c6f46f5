//! Changes of running tasks, made here or by another replica.

use std::sync::Arc;

use couplet_types::RpcError;
use tokio::{sync::watch, task::JoinHandle};

use super::{Changed, Engine, Live};
use crate::{
    record::{Change, Record},
    store::StoreError,
};

impl Engine {
    /// Makes a change that does not come from the runner.
    pub(crate) async fn change(&self, id: &str, change: Change) -> Result<Option<Record>, RpcError> {
        let record = self.store_change(id, None, change).await?;
        if let (Some(record), Some(live)) = (&record, self.live(id)) {
            self.observe(&live, record);
        }
        Ok(record)
    }

    /// Makes a change of the runner; `None` if nothing changed.
    pub(crate) async fn change_by(&self, live: &Live, change: Change) -> Result<Option<Record>, RpcError> {
        let record = self.store_change(&live.id, Some(live.generation), change).await?;
        if let Some(record) = &record {
            self.observe(live, record);
        }
        Ok(record)
    }

    /// Stores a change, and counts it.
    pub(super) async fn store_change(
        &self,
        id: &str,
        fence: Option<u64>,
        change: Change,
    ) -> Result<Option<Record>, StoreError> {
        let changed = self.store.change(id, fence, change).await?;
        if let Some(record) = &changed {
            self.counts.changed(record);
        }
        Ok(changed)
    }

    /// Reads a running task from the store; `false` if it has ended, or has another runner.
    pub(crate) async fn read_again(&self, live: &Live) -> Result<bool, StoreError> {
        let Some(record) = self.store.get(&live.id).await? else {
            tracing::warn!(task = live.id, "a running task is no longer in the store; it is aborted");
            self.drop_work(live);
            return Ok(false);
        };
        self.observe(live, &record);
        Ok(!record.status.is_terminal() && record.generation() == live.generation)
    }

    /// Reacts to a later version of a running task.
    pub(super) fn observe(&self, live: &Live, record: &Record) {
        let Some(before) = live.advance(record) else { return };
        if !record.status.is_terminal() && record.generation() != live.generation {
            tracing::warn!(task = live.id, "another process has taken over a task; it is aborted here");
            return self.drop_work(live);
        }
        #[cfg(feature = "server")]
        live.inputs.deliver(&record.answers);
        if (&before.status, &before.asks) != (&record.status, &record.asks) {
            (live.on_change)(record, Changed::Status);
        } else if before.message != record.message {
            (live.on_change)(record, Changed::Message);
        }
        live.changes.send_modify(|count| *count += 1);
        if record.status.is_terminal() {
            self.drop_work(live);
        }
    }

    /// Drops the work of a task, unless it ends by itself.
    fn drop_work(&self, live: &Live) {
        if live.abort() {
            self.forget(live);
        }
    }

    /// Follows the changes that other replicas make to a task that runs here.
    pub(super) fn follow(self: &Arc<Self>, live: &Arc<Live>) -> Following {
        let (engine, live, pause) = (self.clone(), live.clone(), self.limits.poll_interval);
        Following(tokio::spawn(async move {
            while let Some(seen) = live.record() {
                engine.store.watch(&live.id, seen.revision, pause).await;
                match engine.read_again(&live).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        tracing::debug!(%error, task = live.id, "a running task cannot be read");
                        tokio::time::sleep(pause).await;
                    }
                }
            }
        }))
    }

    /// Subscribes to the changes of a task, if it runs here.
    pub(crate) fn subscribe(&self, id: &str) -> Option<watch::Receiver<u64>> {
        self.live(id).map(|live| live.changes.subscribe())
    }

    /// Waits for a change of a task: after it was subscribed to, or of the record that was read then.
    pub(crate) async fn changed(&self, changes: Option<watch::Receiver<u64>>, record: &Record) {
        match changes {
            // A dropped sender means that the task has ended.
            Some(mut changes) => drop(changes.changed().await),
            None => self.store.watch(&record.id, record.revision, self.limits.poll_interval).await,
        }
    }
}

/// Ends with the task that it follows.
pub(super) struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}
