//! Calls with an idempotency key.
//!
//! Such a call runs in a task of its own, so that it is finished, and its outcome stored, when its connection is lost. Only
//! a client that cancels the request itself ends it.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use couplet_core::{BoxFuture, Call, Error, Reply};
use couplet_types::RpcError;
use serde_json::json;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};
use tracing::Instrument;

use super::{Begun, OutcomeKey, Outcomes, config::log_failure, digest::digest, stored};

/// Executes a call that has not been executed.
pub(crate) type Execute = Box<dyn FnOnce(Call) -> BoxFuture<'static, Reply> + Send>;

/// Runs a call with a key: executes it, or returns the outcome of the first one. `limit` is the timeout of the tool.
///
/// # Errors
/// If the parameters cannot be parsed, or if too many such calls are running.
pub(crate) fn run(
    outcomes: &Outcomes,
    call: Call,
    key: &str,
    limit: Option<Duration>,
    execute: Execute,
) -> Result<BoxFuture<'static, Reply>, RpcError> {
    let digest = digest(&call.params)?;
    let key = OutcomeKey::new(call.principal().map(Arc::from), key);
    let running = outcomes.running.begin().ok_or_else(|| {
        let what = "the call was not executed: too many calls with an idempotency key are running; try again later";
        RpcError::internal(what).with_data(json!({ "outcome": "not executed" }))
    })?;
    let attempt = Attempt { outcomes: outcomes.clone(), call, key, digest, limit };
    Ok(Box::pin(async move {
        let (sender, reply) = oneshot::channel();
        let task = async move {
            attempt.attend(sender, execute).await;
            drop(running);
        };
        tokio::spawn(task.in_current_span());
        reply.await.unwrap_or_else(|_| Reply::Error(RpcError::internal("the call ended unexpectedly")))
    }))
}

/// One call with a key, the first one or not.
struct Attempt {
    outcomes: Outcomes,
    call: Call,
    key: OutcomeKey,
    digest: [u8; 32],
    limit: Option<Duration>,
}

impl Attempt {
    /// The pauses between two looks at the outcome of the first call.
    const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

    async fn attend(self, mut reply: oneshot::Sender<Reply>, execute: Execute) {
        let (began, mut pause) = (Instant::now(), Self::PAUSES.0);
        let answer = loop {
            let begun = match self.begin().await {
                Ok(begun) => begun,
                Err(error) => {
                    log_failure(&error, "a call is refused: the store of outcomes fails");
                    break refusal("the call was not executed: the store of outcomes failed", "not executed");
                }
            };
            match begun {
                Begun::First(token) => return self.execute(token, reply, execute).await,
                Begun::Done(outcome) => break stored::decode(&outcome, &self.call),
                Begun::Running if self.limit.is_some_and(|limit| began.elapsed() >= limit) => {
                    break refusal("the first call with this idempotency key is still running", "running");
                }
                Begun::Running => {
                    // A client that is gone needs no answer.
                    if timeout(pause, reply.closed()).await.is_ok() {
                        return;
                    }
                    pause = (pause * 2).min(Self::PAUSES.1);
                }
                Begun::Unknown => {
                    let what = "the outcome of the first call with this idempotency key is not known, because the \
                                replica that executed it was lost; it was not executed again";
                    break refusal(what, "unknown");
                }
                Begun::Different => {
                    let what = "the idempotency key was used for another call: use a new one";
                    break Reply::Error(RpcError::invalid_params(what));
                }
            }
        };
        let _ = reply.send(answer);
    }

    async fn begin(&self) -> Result<Begun, Error> {
        let Outcomes { store, lease, lifetime, .. } = &self.outcomes;
        self.outcomes.in_time(store.begin(&self.key, self.digest, *lease, *lifetime)).await
    }

    /// Executes the call, stores its outcome, and answers.
    async fn execute(self, token: u64, mut reply: oneshot::Sender<Reply>, execute: Execute) {
        let version = self.call.peer.version.as_str();
        let done = self.finished(token, &mut reply, execute).await;
        let end = match &done {
            Some(done) => stored::encode(done, version, self.outcomes.max_size).map_or(End::Abandoned, End::Outcome),
            None => {
                let error = RpcError::internal("the first call with this idempotency key was cancelled by its client");
                End::Outcome(stored::failed(version, error.with_data(json!({ "outcome": "cancelled" }))))
            }
        };
        let mut stored = self.settle(token, &end).await;
        let _waits = stored.is_err().then(|| self.outcomes.unstored());
        if let Some(done) = done {
            // The answer does not wait for a store that fails.
            let _ = reply.send(done);
        }
        let mut pause = Duration::from_secs(1);
        while let Err(error) = stored {
            if pause > Duration::from_secs(32) {
                return tracing::error!(%error, "the outcome of a call is lost: the store of outcomes fails");
            }
            log_failure(&error, "the outcome of a call cannot be stored yet");
            sleep(pause).await;
            pause *= 2;
            stored = self.settle(token, &end).await;
        }
    }

    /// Waits for the end of the execution, and renews its lease meanwhile; `None` if the client cancelled it.
    async fn finished(&self, token: u64, reply: &mut oneshot::Sender<Reply>, execute: Execute) -> Option<Reply> {
        let mut work = execute(self.call.clone());
        let mut renewing = pin!(self.renew(token));
        poll_fn(|cx| {
            if let Poll::Ready(done) = work.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            let _: Poll<()> = renewing.as_mut().poll(cx);
            let is_cancelled = reply.poll_closed(cx).is_ready() && self.call.outbox.is_call_over();
            if is_cancelled { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }

    /// Renews the lease for as long as it is polled.
    async fn renew(&self, token: u64) {
        let Outcomes { store, lease, .. } = &self.outcomes;
        loop {
            sleep(*lease / 3).await;
            match self.outcomes.in_time(store.renew(&self.key, token, *lease)).await {
                Ok(true) => {}
                Ok(false) => tracing::warn!("the record of a running call is gone from the store of outcomes"),
                Err(error) => log_failure(&error, "the lease of a running call cannot be renewed"),
            }
        }
    }

    /// Stores the end of the execution.
    async fn settle(&self, token: u64, end: &End) -> Result<(), Error> {
        let Outcomes { store, lifetime, .. } = &self.outcomes;
        match end {
            End::Outcome(outcome) => {
                let stored = store.finish(&self.key, token, outcome.clone(), *lifetime);
                if !self.outcomes.in_time(stored).await? {
                    tracing::warn!("the outcome of a call came too late to be stored");
                }
                Ok(())
            }
            End::Abandoned => self.outcomes.in_time(store.abandon(&self.key, token)).await,
        }
    }
}

/// What becomes of a record.
enum End {
    Outcome(Bytes),
    /// The call is not over: its client has to answer input requests first.
    Abandoned,
}

/// The reply to a call that was not executed; `outcome` says so to programs.
fn refusal(what: &str, outcome: &str) -> Reply {
    Reply::Error(RpcError::internal(what).with_data(json!({ "outcome": outcome })))
}
