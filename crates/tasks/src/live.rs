//! A running task.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::{sync::watch, task::AbortHandle};

#[cfg(feature = "server")]
use crate::inputs::OpenInputs;
use crate::record::{Finished, Record};

/// A callback for every change of one task.
pub(crate) type OnChange = Box<dyn Fn(&Record, Changed) + Send + Sync>;

/// The part of a task that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Status,
    Message,
}

/// A task that runs in this process.
pub(crate) struct Live {
    pub(crate) id: String,
    pub(crate) on_change: OnChange,
    /// Counts changes, for waiters.
    pub(crate) changes: watch::Sender<u64>,
    /// The input requests of the handler.
    #[cfg(feature = "server")]
    pub(crate) inputs: OpenInputs,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    abort: Option<AbortHandle>,
    /// The record as last stored.
    record: Option<Record>,
    /// The outcome, before it is stored.
    outcome: Option<Finished>,
}

impl Live {
    pub(crate) fn new(id: String, on_change: OnChange) -> Self {
        Self {
            id,
            on_change,
            changes: watch::Sender::new(0),
            #[cfg(feature = "server")]
            inputs: OpenInputs::default(),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        self.lock().abort = Some(abort);
    }

    pub(crate) fn set_record(&self, record: Record) {
        self.lock().record = Some(record);
    }

    /// The record as last stored.
    pub(crate) fn record(&self) -> Option<Record> {
        self.lock().record.clone()
    }

    /// The expiry time, in milliseconds since 1970.
    pub(crate) fn expires(&self) -> u64 {
        self.lock().record.as_ref().map_or(u64::MAX, Record::expires)
    }

    pub(crate) fn set_outcome(&self, outcome: Finished) {
        self.lock().outcome = Some(outcome);
    }

    /// The outcome, if the task has ended.
    pub(crate) fn outcome(&self) -> Option<Finished> {
        self.lock().outcome.clone()
    }

    /// Aborts the task.
    pub(crate) fn abort(&self) {
        if let Some(abort) = self.lock().abort.take() {
            abort.abort();
        }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("id", &self.id).finish_non_exhaustive()
    }
}
