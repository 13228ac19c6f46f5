//! The journal of a task that may run again: completed steps and answered input requests.

use std::time::Duration;

use couplet_core::{BoxFuture, Journal};
use couplet_types::{InputRequest, RawJson, RpcError};

use crate::{
    engine::{Engine, Live},
    inputs::Back,
    record::{Change, Entry, Record, Response},
};

/// The maximum size of a journal in bytes. A step stores all of it again.
const MOST: usize = 1024 * 1024;

impl Journal for Back {
    fn find(&self, name: &str) -> Option<RawJson> {
        self.live.journal.iter().flatten().find_map(|entry| match entry {
            Entry::Step(step, value) if step == name => Some(value.clone()),
            _ => None,
        })
    }

    fn record(&self, name: String, value: RawJson) -> BoxFuture<'_, Result<(), RpcError>> {
        Box::pin(async move {
            let size = self.live.record().map_or(0, |record| record.journal_size());
            if size.saturating_add(value.get().len()) > MOST {
                let message = format!("the journal of the task has {size} bytes; step `{name}` exceeds {MOST} bytes");
                return Err(RpcError::internal(message));
            }
            self.engine.persist(&self.live, Change::Step(name, value)).await;
            Ok(())
        })
    }
}

impl Engine {
    /// Makes a change of the runner that must not be lost, with retries. It does not return if the task has ended, or has
    /// another runner: the work is dropped.
    pub(crate) async fn persist(&self, live: &Live, change: Change) {
        let mut pause = Duration::from_millis(100);
        loop {
            match self.change_by(live, change.clone()).await {
                Ok(Some(_)) => return,
                Ok(None) => match self.read_again(live).await {
                    // An earlier attempt succeeded after its timeout.
                    Ok(true) => return,
                    Ok(false) => std::future::pending().await,
                    Err(error) => tracing::debug!(%error, task = live.id, "a running task cannot be read"),
                },
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(30));
        }
    }
}

impl Live {
    /// The response to an input request in an earlier run.
    ///
    /// # Errors
    /// If the earlier run made another request under this key.
    pub(crate) fn replayed(&self, key: &str, ask: &InputRequest) -> Result<Option<&Response>, RpcError> {
        let known = self.journal.iter().flatten().find_map(|entry| match entry {
            Entry::Input(answer) if answer.key == key => Some(answer),
            _ => None,
        });
        let record = self.record().filter(|_| self.generation > 1);
        let then = known.map(|answer| &answer.ask).or_else(|| record.as_ref()?.input(key));
        if then.is_some_and(|then| then != ask) {
            let message =
                format!("`{key}` was another input request in an earlier run: put what changes into a `step`");
            return Err(RpcError::internal(message));
        }
        Ok(known.map(|answer| &answer.response))
    }
}

impl Record {
    fn journal_size(&self) -> usize {
        let size = |entry: &Entry| match entry {
            Entry::Step(_, value) => value.get().len(),
            Entry::Input(answer) => match &answer.response {
                Response::Result(result) => result.get().len(),
                Response::Error(error) => error.message.len(),
            },
        };
        self.journal.iter().map(size).sum()
    }
}
