//! How a task is going, as it goes.

use couplet_client::{Change, Changes, Filter, Notifications};
use couplet_core::Error;
use couplet_types::TaskStatusChanged;

use super::{TaskHandle, TaskState};

/// How a task is going, from [`TaskHandle::updates`] on.
#[derive(Debug)]
pub struct TaskUpdates {
    task: TaskHandle,
    source: Source,
    last: Option<TaskState>,
}

/// What says that it is worth to look again before it is time.
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
            // A server that does not tell is looked at.
            task.client.listen(filter).await.map_or(Source::Silent, Source::Listen)
        };
        Self { task, source, last: None }
    }

    /// The next state that differs from the one before; `None` after the end.
    ///
    /// # Errors
    /// When the server cannot be reached, or has forgotten the task.
    pub async fn next(&mut self) -> Result<Option<TaskState>, Error> {
        if self.last.as_ref().is_some_and(|last| last.status.is_terminal()) {
            return Ok(None);
        }
        loop {
            if let Some(last) = &self.last {
                let pause = last.poll_interval;
                // Told or not, the task is looked at: what is told may be lost.
                let _ = tokio::time::timeout(pause, self.source.told(self.task.id())).await;
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
    async fn told(&mut self, id: &str) {
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
