//! A running task.

use std::{
    fmt,
    sync::{Mutex, MutexGuard},
};

use couplet_core::sync::lock;
#[cfg(feature = "server")]
use couplet_types::TaskStatus;
use tokio::{sync::watch, task::AbortHandle, time::Instant};

#[cfg(feature = "server")]
use crate::inputs::OpenInputs;
use crate::record::{Entry, Finished, Record};

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
    /// The generation of the runner, which fences its writes.
    pub(crate) generation: u64,
    pub(crate) on_change: OnChange,
    /// Counts changes, for waiters.
    pub(crate) changes: watch::Sender<u64>,
    /// The end of the lease; `None` before the task is stored, and where no other process can take over.
    pub(crate) lease: watch::Sender<Option<Instant>>,
    /// The input requests of the handler.
    #[cfg(feature = "server")]
    pub(crate) inputs: OpenInputs,
    /// The journal of earlier runs; `None` if the task does not run again.
    pub(crate) journal: Option<Vec<Entry>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    abort: Abort,
    /// The record as last stored.
    record: Option<Record>,
    /// The outcome, before it is stored.
    outcome: Option<Finished>,
    /// Why a shutdown has aborted the task, if one has.
    departure: Option<Departure>,
}

/// What becomes of a task that a shutdown aborts.
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "clients have no graceful shutdown"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// Another process may run it.
    Released,
    /// It has failed.
    Aborted,
}

#[derive(Default)]
enum Abort {
    #[default]
    Starting,
    Running(AbortHandle),
    /// The task ends by itself, or was aborted before it was started.
    Ending(bool),
}

impl Live {
    pub(crate) fn new(id: String, generation: u64, journal: Option<Vec<Entry>>, on_change: OnChange) -> Self {
        Self {
            id,
            generation,
            on_change,
            changes: watch::Sender::new(0),
            lease: watch::Sender::new(None),
            #[cfg(feature = "server")]
            inputs: OpenInputs::default(),
            journal,
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Sets how the task is aborted, and aborts it if that was requested already.
    pub(crate) fn set_abort(&self, abort: AbortHandle) {
        let mut state = self.lock();
        match state.abort {
            Abort::Starting => state.abort = Abort::Running(abort),
            Abort::Ending(true) => abort.abort(),
            Abort::Running(_) | Abort::Ending(false) => {}
        }
    }

    /// Aborts the task; `false` if it is ending by itself.
    pub(crate) fn abort(&self) -> bool {
        let mut state = self.lock();
        match std::mem::replace(&mut state.abort, Abort::Ending(true)) {
            Abort::Running(abort) => abort.abort(),
            Abort::Starting | Abort::Ending(true) => {}
            Abort::Ending(false) => {
                state.abort = Abort::Ending(false);
                return false;
            }
        }
        true
    }

    /// Aborts the task because of a shutdown, if it is running.
    #[cfg_attr(not(feature = "server"), allow(dead_code, reason = "clients have no graceful shutdown"))]
    pub(crate) fn depart(&self, departure: Departure) {
        let mut state = self.lock();
        if let Abort::Running(abort) = &state.abort {
            abort.abort();
            (state.abort, state.departure) = (Abort::Ending(true), Some(departure));
        }
    }

    /// Why a shutdown has aborted the task, if one has.
    pub(crate) fn departure(&self) -> Option<Departure> {
        self.lock().departure
    }

    /// From now on the task ends by itself: its outcome is being stored.
    pub(crate) fn set_ending(&self) {
        self.lock().abort = Abort::Ending(false);
    }

    pub(crate) fn set_record(&self, record: Record) {
        self.lock().record = Some(record);
    }

    /// Replaces the record by a later one, and returns the previous one; `None` if it is not later.
    pub(crate) fn advance(&self, record: &Record) -> Option<Record> {
        let mut state = self.lock();
        let is_later = state.record.as_ref().is_some_and(|known| known.revision < record.revision);
        if is_later { state.record.replace(record.clone()) } else { None }
    }

    /// The record as last stored.
    pub(crate) fn record(&self) -> Option<Record> {
        self.lock().record.clone()
    }

    /// Whether the task waits for an answer of its client.
    #[cfg(feature = "server")]
    pub(crate) fn is_waiting_for_input(&self) -> bool {
        self.lock().record.as_ref().is_some_and(|record| record.status == TaskStatus::InputRequired)
    }

    /// The expiry time, in milliseconds since 1970.
    pub(crate) fn expires(&self) -> u64 {
        self.lock().record.as_ref().map_or(u64::MAX, Record::expires)
    }

    pub(crate) fn set_outcome(&self, outcome: Finished) {
        self.lock().outcome = Some(outcome);
    }

    /// Whether there is an outcome that is not stored yet.
    #[cfg(feature = "server")]
    pub(crate) fn has_outcome(&self) -> bool {
        self.lock().outcome.is_some()
    }

    /// The outcome, if the task has ended.
    pub(crate) fn outcome(&self) -> Option<Finished> {
        self.lock().outcome.clone()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("id", &self.id).field("generation", &self.generation).finish_non_exhaustive()
    }
}
