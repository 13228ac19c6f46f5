//! Tasks whose process is gone: they fail, or run again here.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
};

use couplet_core::sync::lock;
use couplet_types::RpcError;

use super::{Access, Engine, Live, finish::abandoned, finish::runs_here, with_outcome};
use crate::record::{Change, Finished, Record};

/// The tasks that are being taken over.
#[derive(Debug, Default)]
pub(super) struct Adopting(Mutex<BTreeSet<String>>);

impl Adopting {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        lock(&self.0)
    }

    /// Begins to take a task over; `None` if another request does so.
    fn begin<'a>(&'a self, id: &'a str) -> Option<AdoptingGuard<'a>> {
        let is_first = self.lock().insert(id.to_owned());
        is_first.then(|| AdoptingGuard(self, id))
    }
}

struct AdoptingGuard<'a>(&'a Adopting, &'a str);

impl Drop for AdoptingGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(self.1);
    }
}

impl Engine {
    /// Completes a stored record: its outcome may not be stored yet, and its process may be gone. `ran` is whether the
    /// task ran in this process before the record was read.
    pub(super) async fn seen(self: &Arc<Self>, by: &dyn Access, record: Record, ran: bool) -> Result<Record, RpcError> {
        if record.status.is_terminal() {
            return Ok(record);
        }
        if let Some(live) = self.live(&record.id) {
            // Other replicas see an outcome only when it is stored, so this one does not show it earlier.
            return Ok(if self.store.is_exclusive() { with_outcome(record, &live) } else { record });
        }
        let runs = match self.store.is_exclusive() {
            true => ran || runs_here(&record.id),
            false => record.runner.as_ref().is_some_and(|runner| runner.until > self.store.now()),
        };
        if runs { Ok(record) } else { self.adopt(by, record).await }
    }

    /// Takes over a task without a process.
    async fn adopt(self: &Arc<Self>, by: &dyn Access, record: Record) -> Result<Record, RpcError> {
        let again = record.request.is_some();
        if !again && self.store.is_exclusive() {
            return Ok(abandoned(record));
        }
        if again && !(by.can_rerun(&record) && self.has_room() && !self.draining.is_active()) {
            return Ok(record);
        }
        let id = record.id.clone();
        let Some(_adopting) = self.adopting.begin(&id).filter(|_| self.live(&id).is_none()) else { return Ok(record) };
        let begun = self.lease_from_now();
        let Some(claimed) = self.store.claim(&id, &self.node, self.limits.lease).await? else {
            // The lease was renewed, another replica was faster, or the task has ended.
            return Ok(self.store.get(&id).await?.unwrap_or(record));
        };
        let is_released = record.runner.as_ref().is_some_and(|runner| runner.until == 0);
        match is_released {
            true => tracing::info!(task = id, generation = claimed.generation(), "a released task is taken over"),
            false => {
                tracing::warn!(
                    task = id,
                    generation = claimed.generation(),
                    again,
                    "the process that ran a task is gone"
                );
            }
        }
        self.counts.taken_over();
        if again {
            let journal = Some(claimed.journal.clone());
            let live = Arc::new(Live::new(id.clone(), claimed.generation(), journal, by.on_change()));
            live.set_record(claimed.clone());
            self.lock().insert(id.clone(), live.clone());
            self.run(live.clone(), &claimed, begun, by.rerun(self, &live, &claimed));
            return Ok(claimed);
        }
        let error = RpcError::internal("the process that ran the task is gone, and the task had not ended");
        let failed = Change::Finished(Finished::Error(error));
        match self.store_change(&id, Some(claimed.generation()), failed).await? {
            Some(failed) => {
                by.notify(&failed);
                Ok(failed)
            }
            None => Ok(self.store.get(&id).await?.unwrap_or(claimed)),
        }
    }
}
