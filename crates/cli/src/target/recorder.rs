//! Recorded responses, byte for byte.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard},
};

use couplet::core::{Event, Exchange, Mailbox, sync::lock};
use couplet_lint::Answer;

/// Responses with their methods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<(String, Answer)>>>);

impl Recorder {
    /// Removes and returns the responses to a method.
    pub(crate) fn take(&self, method: &str) -> Vec<Answer> {
        let mut all = self.all();
        let (taken, kept) = mem::take(&mut *all).into_iter().partition(|(m, _)| m == method);
        *all = kept;
        taken.into_iter().map(|(_, answer): (String, Answer)| answer).collect()
    }

    /// Forwards and records the events of an exchange. Dropping the result ends the exchange.
    pub(super) fn follow(&self, method: &str, mut exchange: Exchange) -> Exchange {
        let (method, recorder, mailbox) = (method.to_owned(), self.clone(), Mailbox::new());
        let to = mailbox.clone();
        let passing = tokio::spawn(async move {
            loop {
                let event = exchange.next().await;
                recorder.record(&method, &event);
                let is_last = !matches!(event, Event::Notification { .. });
                to.put(event);
                if is_last {
                    return;
                }
            }
        });
        Exchange::new(mailbox, move || passing.abort())
    }

    fn record(&self, method: &str, event: &Event) {
        let answer = match event {
            Event::Notification { .. } => return,
            Event::Answer(Ok(result)) => Answer::Result(result.to_raw()),
            Event::Answer(Err(error)) => Answer::Error(error.clone()),
            Event::Ended => Answer::Unreadable("the exchange ended without a response".to_owned()),
            Event::Failed(error) => Answer::Unreadable(error.to_string()),
        };
        self.all().push((method.to_owned(), answer));
    }

    fn all(&self) -> MutexGuard<'_, Vec<(String, Answer)>> {
        lock(&self.0)
    }
}
