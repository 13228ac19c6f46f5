//! Counts of tasks, for operators.

use std::sync::atomic::{AtomicU64, Ordering};

use couplet_types::TaskStatus;

use crate::record::Record;

/// The tasks of this process since its start.
#[derive(Debug, Default)]
pub(super) struct Counts {
    completed: AtomicU64,
    failed: AtomicU64,
    cancelled: AtomicU64,
    taken_over: AtomicU64,
}

impl Counts {
    /// Counts a change that this process has stored. A task ends once.
    pub(super) fn changed(&self, record: &Record) {
        let counter = match record.status {
            TaskStatus::Completed => &self.completed,
            TaskStatus::Failed => &self.failed,
            TaskStatus::Cancelled => &self.cancelled,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a task of another process that this one has taken over.
    pub(super) fn taken_over(&self) {
        self.taken_over.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(feature = "server")]
impl super::Engine {
    /// The numbers of tasks, for a page of metrics.
    pub(crate) fn metrics(&self) -> Vec<couplet_core::Metric> {
        use couplet_core::Metric;
        let (mut working, mut waiting, mut unstored) = (0, 0, 0);
        for live in self.lock().values() {
            unstored += u64::from(live.has_outcome());
            *(if live.is_waiting_for_input() { &mut waiting } else { &mut working }) += 1;
        }
        let running = |status, count| Metric::gauge("couplet_tasks", "running tasks", count).label("status", status);
        let finished = |status, count: &AtomicU64| {
            let count = count.load(Ordering::Relaxed);
            Metric::counter("couplet_tasks_finished_total", "tasks that have ended", count).label("status", status)
        };
        let help = "tasks of lost or stopped replicas that were taken over";
        let taken_over = self.counts.taken_over.load(Ordering::Relaxed);
        let results = "results of tasks that wait for their store";
        vec![
            self.store.metric(),
            Metric::gauge("couplet_unstored_task_results", results, unstored),
            running("working", working),
            running("input_required", waiting),
            finished("completed", &self.counts.completed),
            finished("failed", &self.counts.failed),
            finished("cancelled", &self.counts.cancelled),
            Metric::counter("couplet_tasks_taken_over_total", help, taken_over),
        ]
    }
}
