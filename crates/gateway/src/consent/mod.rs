//! Consent of a person on this machine: calls wait in a bounded queue until they are answered.
//!
//! This module must not know sockets or terminals.

mod queue;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Call};
use couplet_host::consent::{Answer, Consent, Elicited, Question};

use crate::{Error, Gateway};

pub(crate) use queue::Queue;
pub use queue::WaitingQuestion;

/// The name of the answer among the steps of a call.
const STEP: &str = "dev.couplet/consent-local";

/// Asks a person on this machine: the call waits in the queue.
pub(crate) struct Local {
    pub(crate) queue: Arc<Queue>,
    pub(crate) timeout: Duration,
}

impl Consent for Local {
    fn ask<'a>(&'a self, question: &'a Question, call: &'a Call) -> BoxFuture<'a, Answer> {
        // A stateless call runs again when its caller has answered a request of the server.
        let asked = call.inputs.step(STEP, || self.queue.ask(question, self.timeout));
        Box::pin(async move { asked.await.unwrap_or(Answer::Deny) })
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
