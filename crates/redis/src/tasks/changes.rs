//! Notifications of changes: each change is published with the name of its task.

use std::{
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use couplet_core::{Error, ErrorKind, sync::lock};
use tokio::{
    sync::broadcast::{self, Receiver, Sender, WeakSender, error::RecvError},
    time::{Instant, timeout},
};

use super::RedisTasks;
use crate::subscribe::Subscription;

/// The one subscription of a store, while there are watchers.
#[derive(Debug, Default)]
pub(super) struct TaskChanges {
    open: Mutex<Option<WeakSender<String>>>,
    /// Held by the one watcher that subscribes.
    opening: tokio::sync::Mutex<()>,
}

impl TaskChanges {
    /// The number of changes that a watcher can be behind; then it looks for itself.
    const BEHIND: usize = 256;
    /// The time after which a subscription without watchers is closed.
    const IDLE: Duration = Duration::from_secs(10);

    fn current(&self) -> Option<Receiver<String>> {
        self.open().as_ref().and_then(WeakSender::upgrade).map(|sender| sender.subscribe())
    }

    fn open(&self) -> MutexGuard<'_, Option<WeakSender<String>>> {
        lock(&self.open)
    }
}

impl RedisTasks {
    /// Waits until the revision of a task is another one, or the task is gone.
    pub(super) async fn wait_for_change(&self, id: &str, revision: u64) -> Result<(), Error> {
        let name = self.task_name(id);
        // First the subscription: a change after the look must not be missed.
        let mut changes = self.task_changes().await?;
        if self.read(&name).await?.is_none_or(|found| found.record.revision != revision) {
            return Ok(());
        }
        loop {
            match changes.recv().await {
                Ok(changed) if changed == name => return Ok(()),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => return Ok(()),
                Err(RecvError::Closed) => {
                    return Err(Error::new(ErrorKind::Closed, "the subscription to changes of tasks has ended"));
                }
            }
        }
    }

    async fn task_changes(&self) -> Result<Receiver<String>, Error> {
        if let Some(changes) = self.changes.current() {
            return Ok(changes);
        }
        let _opening = self.changes.opening.lock().await;
        if let Some(changes) = self.changes.current() {
            return Ok(changes);
        }
        let subscription = Subscription::open(&self.redis, &self.channel).await?;
        let (sender, changes) = broadcast::channel(TaskChanges::BEHIND);
        *self.changes.open() = Some(sender.downgrade());
        tokio::spawn(forward(subscription, sender));
        Ok(changes)
    }
}

/// Passes changes on to the watchers, until there are none or the connection breaks. Both drop the sender, which the
/// watchers see.
async fn forward(mut subscription: Subscription, watchers: Sender<String>) {
    let mut watched = Instant::now();
    while watched.elapsed() < TaskChanges::IDLE {
        match timeout(TaskChanges::IDLE, subscription.next()).await {
            Ok(Ok(name)) => {
                // An error means that there are no watchers at the moment.
                let _ = watchers.send(String::from_utf8_lossy(&name).into_owned());
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "changes of tasks are found by polling for now");
                return;
            }
            Err(_) => {}
        }
        if watchers.receiver_count() > 0 {
            watched = Instant::now();
        }
    }
}
