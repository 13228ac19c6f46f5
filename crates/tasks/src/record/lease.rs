//! The lease of the process that runs a task.

use std::{sync::Arc, time::Duration};

use super::{Record, Runner};
use crate::clock::millis;

/// Leases: stores call these functions, atomically, with the time of their own clock.
impl Record {
    /// Starts the lease of the first runner, for [`Store::insert`](crate::Store::insert).
    pub fn start_lease(&mut self, now: u64, lease: Duration) {
        if let Some(runner) = &mut self.runner {
            runner.until = now.saturating_add(millis(lease));
        }
    }

    /// Makes `node` the runner, for [`Store::claim`](crate::Store::claim): if the lease of the present runner has
    /// expired, if there is none, or if it is `node` itself. `false` if nothing changed.
    pub fn claim(&mut self, node: &str, now: u64, lease: Duration) -> bool {
        let taken = |runner: &Runner| runner.until > now && *runner.node != *node;
        if self.status.is_terminal() || self.runner.as_ref().is_some_and(taken) {
            return false;
        }
        let until = now.saturating_add(millis(lease));
        self.runner = Some(Runner { node: Arc::from(node), generation: self.generation() + 1, until });
        self.revision += 1;
        true
    }

    /// Extends the lease of a runner, for [`Store::renew`](crate::Store::renew). `false` if it is not the runner (any
    /// more) or has released the task, or if the task has ended.
    pub fn renew(&mut self, generation: u64, now: u64, lease: Duration) -> bool {
        let Some(runner) = self.held_by(generation) else { return false };
        runner.until = runner.until.max(now.saturating_add(millis(lease)));
        true
    }

    /// Ends the lease of a runner, for [`Store::release`](crate::Store::release). `false` if it is not the runner (any
    /// more) or has released the task before, or if the task has ended.
    pub fn release(&mut self, generation: u64) -> bool {
        let Some(runner) = self.held_by(generation) else { return false };
        runner.until = 0;
        self.released += 1;
        self.revision += 1;
        true
    }

    /// The runner with this generation, unless it has released the task.
    fn held_by(&mut self, generation: u64) -> Option<&mut Runner> {
        let is_over = self.status.is_terminal();
        self.runner.as_mut().filter(|runner| !is_over && runner.generation == generation && runner.until > 0)
    }
}
