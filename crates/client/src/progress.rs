//! Progress of requests that go on after their answer.

use std::{
    collections::HashMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use couplet_types::{Meta, Progress, ProgressParams, ProgressToken};

use crate::{client::Client, notify::Notice, sync::lock};

type Tell = Box<dyn FnMut(ProgressParams) + Send>;

/// Somebody who hears of progress under a token, for as long as this is kept; made by [`Client::subscribe_progress`].
pub struct ProgressSubscription {
    token: ProgressToken,
    all: Arc<Mutex<Table>>,
    tell: Mutex<Tell>,
}

type Table = HashMap<ProgressToken, Weak<ProgressSubscription>>;

/// All of one client's.
#[derive(Default)]
pub(crate) struct Hearings {
    last: AtomicU64,
    all: Arc<Mutex<Table>>,
}

impl Client {
    /// Hears of progress under a token that no request of the client has: for extensions whose requests go on after
    /// their answer.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// let heard = client.subscribe_progress(|progress| tracing::info!(progress.progress, "so far"));
    /// let answer = client.call_outcome("build", ()).meta(heard.meta()).await?;
    /// // What comes later is heard, too, until `heard` is dropped.
    /// # drop((answer, heard));
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe_progress(&self, tell: impl FnMut(ProgressParams) + Send + 'static) -> Arc<ProgressSubscription> {
        self.inbox().hearings.add(Box::new(tell))
    }
}

impl ProgressSubscription {
    /// The map of a request that asks for progress under the token.
    pub fn meta(&self) -> Meta {
        Meta::new().with("progressToken", serde_json::json!(self.token))
    }
}

impl Hearings {
    fn add(&self, tell: Tell) -> Arc<ProgressSubscription> {
        // Tokens of requests that end with their answer are numbers.
        let token = ProgressToken::from(format!("couplet-{}", self.last.fetch_add(1, Ordering::Relaxed)));
        let hearing =
            Arc::new(ProgressSubscription { token: token.clone(), all: self.all.clone(), tell: Mutex::new(tell) });
        lock(&self.all).insert(token, Arc::downgrade(&hearing));
        hearing
    }

    /// Tells whoever hears of this progress; false if nobody does.
    pub(crate) fn hear(&self, notice: &Notice) -> bool {
        let Some(progress) = notice.read::<Progress>() else { return false };
        let hearing = lock(&self.all).get(&progress.progress_token).and_then(Weak::upgrade);
        let Some(hearing) = hearing else { return false };
        if catch_unwind(AssertUnwindSafe(|| lock(&hearing.tell)(progress))).is_err() {
            tracing::error!("the callback for progress panicked");
        }
        true
    }
}

impl Drop for ProgressSubscription {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.token);
    }
}

impl fmt::Debug for ProgressSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearing").field("token", &self.token).finish_non_exhaustive()
    }
}
