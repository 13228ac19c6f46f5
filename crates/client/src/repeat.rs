//! Repeated calls: a call with an idempotency key whose connection was lost is sent again.

use std::time::Duration;

use couplet_core::{Error, ErrorKind, JsonText, Outgoing, idempotency};
use couplet_types::{CallTool, RawJson};
use tokio::runtime::Handle;

use crate::{Backoff, client::Client, pending::PendingRequest, request::RequestBuilder, timeout::RequestTimer};

impl<T> RequestBuilder<CallTool, T> {
    /// Sends the call with a random idempotency key: see [`RequestBuilder::idempotency_key`].
    ///
    /// ```
    /// # async fn example(client: couplet_client::Client) -> Result<(), couplet_core::Error> {
    /// use serde_json::json;
    ///
    /// let receipt = client.call("pay", json!({ "amount": 10 })).idempotent().await?;
    /// # drop(receipt);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the system has no source of randomness.
    pub fn idempotent(self) -> Self {
        self.idempotency_key(idempotency::random())
    }

    /// Sends the call with an idempotency key, 1 to 128 visible ASCII characters: a server that honours such keys executes
    /// calls with the same key once. Choose one that cannot be guessed, store it before the call, and a program that
    /// crashed can repeat the call after its restart.
    ///
    /// If the server declares that it honours keys, the client itself repeats a call whose connection was lost, up to 10
    /// times within the [timeout](RequestBuilder::timeout). It needs a tokio runtime for that, and a target that connects
    /// again: a URL, or [`Reconnecting`](crate::Reconnecting). With another server, the call is sent once.
    ///
    /// It fails without being sent if the key is invalid.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        let key = key.into();
        if idempotency::is_valid(&key) {
            self.set_idempotency_key(key);
        } else {
            let what = "an idempotency key must have 1 to 128 visible ASCII characters";
            self.fail(Error::new(ErrorKind::Config, what));
        }
        self
    }
}

impl Client {
    /// Returns whether the server declares that it honours idempotency keys.
    pub fn honours_idempotency_keys(&self) -> bool {
        let experimental = self.server().capabilities.experimental.as_ref();
        experimental.and_then(|all| all.get(idempotency::CAPABILITY)).is_some_and(RawJson::is_object)
    }

    /// Returns whether calls with an idempotency key are repeated.
    pub(crate) fn repeats_calls(&self) -> bool {
        self.honours_idempotency_keys() && Handle::try_current().is_ok()
    }
}

impl PendingRequest {
    /// Repeats a request that failed with `error`, for as long as its connection is lost.
    pub(crate) async fn repeat(
        &mut self,
        sent: &Outgoing,
        mut error: Error,
        timer: &mut RequestTimer,
    ) -> Result<JsonText, Error> {
        let backoff = Backoff::new().initial(Duration::from_millis(100)).max(Duration::from_secs(5));
        for failures in 1.. {
            let Some(delay) = backoff.delay(failures).filter(|_| is_cut(&error) && !self.client.is_closed()) else {
                break;
            };
            tracing::debug!(%error, method = self.method, "a call with an idempotency key is repeated");
            timer.wait(self.method, self.client.channel(), tokio::time::sleep(delay)).await?;
            let progress = self.options.progress.is_some();
            let repeated = self.dialect.repeated(sent, self.client.channel().next_id(), progress)?;
            let mut exchange = self.client.channel().open(repeated);
            match self.answer(&mut exchange, timer).await {
                Ok(text) => return Ok(text),
                Err(again) => error = again,
            }
        }
        Err(error)
    }
}

/// Whether the request may not have reached the server, or its response not the client.
fn is_cut(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Closed | ErrorKind::Transport)
}
