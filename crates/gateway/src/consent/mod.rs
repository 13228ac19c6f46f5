//! Consent of a person on this machine: calls wait in a bounded queue until they are answered.
//!
//! This module must not know sockets or terminals.

mod queue;
#[cfg(test)]
mod tests;

use std::{future::pending, sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call};
use couplet_host::consent::{Answer, Consent, Elicited, Question};
use tokio::time::sleep;

use crate::{Error, Gateway};

pub(crate) use queue::Queue;
pub use queue::WaitingQuestion;

/// The name of the answer among the steps of a call.
const STEP: &str = "dev.couplet/consent-local";

/// The interval of progress notifications while a call waits. The shortest timeouts of clients are about 30 seconds.
const REPORTS: Duration = Duration::from_secs(10);
/// The progress between two notifications: it has to grow, and must stay below what the server reports later.
const REPORT: f64 = 1e-9;

/// Asks a person on this machine: the call waits in the queue.
pub(crate) struct Local {
    pub(crate) queue: Arc<Queue>,
    pub(crate) timeout: Duration,
}

impl Consent for Local {
    fn ask<'a>(&'a self, question: &'a Question, call: &'a Call) -> BoxFuture<'a, Answer> {
        // A stateless call runs again when its caller has answered a request of the server.
        let asked = call.inputs.step(STEP, || self.queue.ask(question, self.timeout));
        Box::pin(async move {
            tokio::select! {
                biased;
                answer = asked => answer.unwrap_or(Answer::Deny),
                () = report(call) => Answer::Deny,
            }
        })
    }
}

/// Reports to the caller that its call waits, which extends timeouts that progress extends. It does not end.
async fn report(call: &Call) {
    if !call.outbox.wants_progress() {
        return pending().await;
    }
    let mut progress = 0.0;
    loop {
        progress += REPORT;
        let message = "the call waits for consent: `couplet gateway consent` on the machine of the gateway";
        call.outbox.progress(progress, None, Some(message.to_owned())).await;
        sleep(REPORTS).await;
    }
}

/// Asks the caller by form elicitation if it supports that, otherwise a person on this machine.
pub(crate) struct ElicitOrLocal(pub(crate) Local);

impl Consent for ElicitOrLocal {
    fn ask<'a>(&'a self, question: &'a Question, call: &'a Call) -> BoxFuture<'a, Answer> {
        // A caller that declines has answered.
        if call.can_elicit() { Elicited.ask(question, call) } else { self.0.ask(question, call) }
    }
}

impl Gateway {
    /// Returns the calls that wait for the consent of a person on this machine, the oldest first. There are none unless the
    /// configuration has `"consent": "local"` or `"elicit-or-local"`.
    #[must_use]
    pub fn questions(&self) -> Vec<WaitingQuestion> {
        self.queue().waiting()
    }

    /// Answers a question. The first answer counts.
    ///
    /// # Errors
    /// If the question does not wait any more, or the answer is none of [`Question::answers`]; it then goes on waiting.
    pub fn answer(&self, id: u64, answer: Answer) -> Result<(), Error> {
        self.queue().answer(id, answer)
    }
}
