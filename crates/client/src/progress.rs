//! Progress of requests that continue after their response, such as tasks.

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

type Callback = Box<dyn FnMut(ProgressParams) + Send>;

/// A subscription to progress notifications with its own token; made by [`Client::subscribe_progress`].
///
/// It ends when the last clone of the `Arc` is dropped.
pub struct ProgressSubscription {
    token: ProgressToken,
    all: Arc<Mutex<Table>>,
    callback: Mutex<Callback>,
}

type Table = HashMap<ProgressToken, Weak<ProgressSubscription>>;

/// All progress subscriptions of one client.
#[derive(Default)]
pub(crate) struct ProgressSubscriptions {
    last: AtomicU64,
    all: Arc<Mutex<Table>>,
}

impl Client {
    /// Subscribes to progress notifications with a new token, for requests that continue after their response, such as
    /// those of extensions.
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// let subscription = client.subscribe_progress(|progress| tracing::info!(progress.progress, "so far"));
    /// let outcome = client.call_outcome("build", ()).meta(subscription.meta()).await?;
    /// // Progress is reported until `subscription` is dropped.
    /// # drop((outcome, subscription));
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe_progress(
        &self,
        callback: impl FnMut(ProgressParams) + Send + 'static,
    ) -> Arc<ProgressSubscription> {
        self.incoming().progress.add(Box::new(callback))
    }
}

impl ProgressSubscription {
    /// Returns the `_meta` map for a request that reports progress to this subscription.
    pub fn meta(&self) -> Meta {
        Meta::new().with("progressToken", serde_json::json!(self.token))
    }
}

impl ProgressSubscriptions {
    fn add(&self, callback: Callback) -> Arc<ProgressSubscription> {
        // The tokens of other requests are numbers.
        let token = ProgressToken::from(format!("couplet-{}", self.last.fetch_add(1, Ordering::Relaxed)));
        let subscription = Arc::new(ProgressSubscription {
            token: token.clone(),
            all: self.all.clone(),
            callback: Mutex::new(callback),
        });
        lock(&self.all).insert(token, Arc::downgrade(&subscription));
        subscription
    }

    /// Delivers a progress notification. Returns `false` if its token belongs to no subscription.
    pub(crate) fn deliver(&self, notice: &Notice) -> bool {
        let Some(progress) = notice.read::<Progress>() else { return false };
        let subscription = lock(&self.all).get(&progress.progress_token).and_then(Weak::upgrade);
        let Some(subscription) = subscription else { return false };
        if catch_unwind(AssertUnwindSafe(|| lock(&subscription.callback)(progress))).is_err() {
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
        f.debug_struct("ProgressSubscription").field("token", &self.token).finish_non_exhaustive()
    }
}
