//! A connection whose answers are kept as they were written.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use couplet::{
    Error,
    core::{BoxFuture, Channel, Connect, Connected, Dialect, Event, Exchange, Inbound, Limits, Mailbox, Outgoing},
    types::RequestId,
};
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

    fn keep(&self, method: &str, event: &Event) {
        let answer = match event {
            Event::Notification { .. } => return,
            Event::Answer(Ok(result)) => Answer::Result(result.to_raw()),
            Event::Answer(Err(error)) => Answer::Error(error.clone()),
            Event::Ended => Answer::Nothing("it ended without an answer".to_owned()),
            Event::Failed(error) => Answer::Nothing(error.to_string()),
        };
        self.all().push((method.to_owned(), answer));
    }

    fn all(&self) -> MutexGuard<'_, Vec<(String, Answer)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place to connect to, with somebody who keeps the answers.
pub(crate) struct Recorded<C> {
    pub(crate) inner: C,
    pub(crate) recorder: Recorder,
}

impl<C: Connect> Connect for Recorded<C> {
    fn connect(&mut self, inbound: Arc<dyn Inbound>, limits: Limits) -> BoxFuture<'_, Result<Connected, Error>> {
        let recorder = self.recorder.clone();
        let connecting = self.inner.connect(inbound, limits);
        Box::pin(async move {
            let Connected { channel, driver } = connecting.await?;
            Ok(Connected { channel: Arc::new(Line { channel, recorder }), driver })
        })
    }

    fn server(&self) -> Option<String> {
        self.inner.server()
    }
}

struct Line {
    channel: Arc<dyn Channel>,
    recorder: Recorder,
}

impl Channel for Line {
    fn next_id(&self) -> RequestId {
        self.channel.next_id()
    }

    /// Everything goes on as it comes; whoever lets go of it ends the exchange behind.
    fn open(&self, request: Outgoing) -> Exchange {
        let (method, recorder) = (request.method.to_owned(), self.recorder.clone());
        let mut exchange = self.channel.open(request);
        let mailbox = Mailbox::new();
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

    fn notify(&self, text: Bytes) {
        self.channel.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.channel.agree(dialect);
    }

    fn close(&self) {
        self.channel.close();
    }

    fn is_held_up(&self) -> bool {
        self.channel.is_held_up()
    }

    fn transport(&self) -> Option<&'static str> {
        self.channel.transport()
    }
}
