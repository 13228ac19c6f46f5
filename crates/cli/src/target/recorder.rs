//! Answers that are kept as they were written.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use couplet::core::{Event, Exchange, Mailbox};
use couplet_lint::Answer;

/// Answers, with the methods that they are to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<(String, Answer)>>>);

impl Recorder {
    /// The answers to a method, which are not kept any longer.
    pub(crate) fn take(&self, method: &str) -> Vec<Answer> {
        let mut all = self.all();
        let (taken, kept) = mem::take(&mut *all).into_iter().partition(|(m, _)| m == method);
        *all = kept;
        taken.into_iter().map(|(_, answer): (String, Answer)| answer).collect()
    }

    /// Everything goes on as it comes; whoever lets go of it ends the exchange behind.
    pub(super) fn follow(&self, method: &str, mut exchange: Exchange) -> Exchange {
        let (method, recorder, mailbox) = (method.to_owned(), self.clone(), Mailbox::new());
        let to = mailbox.clone();
        let passing = tokio::spawn(async move {
            loop {
                let event = exchange.next().await;
                recorder.keep(&method, &event);
                let is_last = !matches!(event, Event::Notification { .. });
                to.put(event);
                if is_last {
                    return;
                }
            }
        });
        Exchange::new(mailbox, move || passing.abort())
    }

    fn keep(&self, method: &str, event: &Event) {
        let answer = match event {
            Event::Notification { .. } => return,
            Event::Answer(Ok(result)) => Answer::Result(result.to_raw()),
            Event::Answer(Err(error)) => Answer::Error(error.clone()),
            Event::Ended => Answer::Unreadable("it ended without an answer".to_owned()),
            Event::Failed(error) => Answer::Unreadable(error.to_string()),
        };
        self.all().push((method.to_owned(), answer));
    }

    fn all(&self) -> MutexGuard<'_, Vec<(String, Answer)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
