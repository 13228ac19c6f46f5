//! State changes of a task.

use couplet_client::{Change, Changes, Filter, Notifications};
use couplet_core::Error;
use couplet_types::TaskStatusChanged;

use super::{TaskHandle, TaskState};

/// A stream of a task's states, created by [`TaskHandle::updates`].
#[derive(Debug)]
pub struct TaskUpdates {
    task: TaskHandle,
    source: Source,
    last: Option<TaskState>,
}

/// The source of hints to poll before the interval has passed.
#[derive(Debug)]
enum Source {
    Session(Notifications),
    Listen(Changes),
    Silent,
}

impl TaskUpdates {
    pub(super) async fn new(task: TaskHandle) -> Self {
        let source = if task.client.revision().has_sessions() {
            Source::Session(task.client.notifications())
        } else {
            let filter = Filter::new().topic("taskIds", task.id());
            // Without notifications, polling alone has to do.
            task.client.listen(filter).await.map_or(Source::Silent, Source::Listen)
        };
        Self { task, source, last: None }
    }

    /// Waits for the next state that differs from the previous one; `None` after the task has ended.
    ///
    /// Cancel safe: a dropped call loses at most the hint to poll early.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or no longer has the task.
    pub async fn next(&mut self) -> Result<Option<TaskState>, Error> {
        if self.last.as_ref().is_some_and(|last| last.status.is_terminal()) {
            return Ok(None);
        }
        loop {
            if let Some(last) = &self.last {
                let pause = last.poll_interval;
                // Polled with or without a notification: notifications may be lost.
                let _ = tokio::time::timeout(pause, self.source.notified(self.task.id())).await;
            }
            let state = self.task.state().await?;
            if self.last.as_ref() != Some(&state) {
                self.last = Some(state.clone());
                return Ok(Some(state));
            }
        }
    }
}

impl Source {
    async fn notified(&mut self, id: &str) {
        loop {
            match self {
                Self::Session(notices) => match notices.next().await {
                    Some(notice) if notice.read::<TaskStatusChanged>().is_some_and(|task| task.task_id == id) => return,
                    Some(_) => {}
                    None => *self = Self::Silent,
                },
                Self::Listen(changes) => match changes.next().await {
                    Some(Change::Extension(_)) => return,
                    Some(_) => {}
                    None => *self = Self::Silent,
                },
                Self::Silent => std::future::pending().await,
            }
        }
    }
}
