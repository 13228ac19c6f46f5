//! Results of calls that the server did not run as tasks.
//!
//! A caller of 2025-11-25 that requests a task gets one, whatever a server with the extension decides. If the server
//! responds with the result, the result is held here as a task that has ended, for a limited time.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use couplet_core::{Call, JsonText, clock, sync::lock};
use couplet_types::{RawJson, RpcError, Task, TaskStatus};
use tokio::time::Instant;

use super::owner::TaskOwner;
use crate::random;

/// The limits of all results that are held.
const MOST: usize = 256;
const BYTES: usize = 16 << 20;

/// The maximum time for which a result is held.
const TTL: Duration = Duration::from_secs(300);

/// The prefix of ids, which no task of a server is likely to have.
const PREFIX: &str = "dev.couplet.held.";

#[derive(Default)]
pub(crate) struct HeldResults(Mutex<VecDeque<HeldResult>>);

#[derive(Clone)]
struct HeldResult {
    task: Task,
    owner: TaskOwner,
    result: JsonText,
    until: Instant,
}

impl HeldResults {
    /// Whether an id is one of a held result, here or at a replica.
    pub(crate) fn is_held(id: &str) -> bool {
        id.starts_with(PREFIX)
    }

    /// Holds a result, and returns its task. The oldest results give way.
    pub(crate) fn put(
        &self,
        owner: TaskOwner,
        result: JsonText,
        is_error: bool,
        ttl: Option<u64>,
    ) -> Result<Task, RpcError> {
        let id = random().ok_or_else(|| RpcError::internal("the system has no source of randomness"))?;
        let ttl = ttl.map_or(TTL, Duration::from_millis).min(TTL);
        let status = if is_error { TaskStatus::Failed } else { TaskStatus::Completed };
        let task = Task::new(format!("{PREFIX}{id}"), status, clock::iso(clock::unix_millis()))
            .ttl(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        let now = Instant::now();
        let entry = HeldResult { task: task.clone(), owner, result: result.detached(), until: now + ttl };
        let mut held = lock(&self.0);
        held.retain(|entry| entry.until > now);
        held.push_back(entry);
        let size = |held: &VecDeque<HeldResult>| held.iter().map(|entry| entry.result.as_bytes().len()).sum::<usize>();
        while held.len() > 1 && (held.len() > MOST || size(&held) > BYTES) {
            held.pop_front();
        }
        Ok(task)
    }

    /// The ids of the tasks in the list of a caller.
    pub(crate) fn own(&self, call: &Call) -> Vec<String> {
        let (now, held) = (Instant::now(), lock(&self.0));
        let own = held.iter().filter(|entry| entry.until > now && entry.owner.lists_for(call));
        own.map(|entry| entry.task.task_id.clone()).collect()
    }

    /// The task and its result, if it is one of this principal.
    pub(crate) fn get(&self, principal: Option<&str>, id: &str) -> Option<(Task, RawJson)> {
        let held = lock(&self.0);
        let is_it =
            |entry: &&HeldResult| entry.task.task_id == id && entry.owner.is(principal) && entry.until > Instant::now();
        held.iter().find(is_it).map(|entry| (entry.task.clone(), entry.result.to_raw()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(bytes: usize) -> JsonText {
        JsonText::new(format!(r#"{{"content":"{}"}}"#, "x".repeat(bytes))).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn results_are_held_for_their_principal_and_a_time() {
        let held = HeldResults::default();
        let task = held.put(TaskOwner::named("ann"), result(1), false, Some(60_000)).unwrap();
        assert!(HeldResults::is_held(&task.task_id));
        assert!(held.get(Some("ann"), &task.task_id).is_some());
        assert!(held.get(Some("bob"), &task.task_id).is_none());
        assert!(held.get(None, &task.task_id).is_none());
        tokio::time::sleep(Duration::from_secs(61)).await;
        assert!(held.get(Some("ann"), &task.task_id).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_results_give_way() {
        let held = HeldResults::default();
        let first = held.put(TaskOwner::anonymous(), result(1), false, None).unwrap();
        for _ in 0..MOST {
            held.put(TaskOwner::anonymous(), result(1), false, None).unwrap();
        }
        assert!(held.get(None, &first.task_id).is_none());
        let large = held.put(TaskOwner::anonymous(), result(BYTES), true, None).unwrap();
        assert_eq!(lock(&held.0).len(), 1);
        assert_eq!(held.get(None, &large.task_id).unwrap().0.status, TaskStatus::Failed);
    }
}
