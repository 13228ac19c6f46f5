//! The channel of an HTTP connection.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{BoxFuture, Cancellation, Channel, Dialect, Driver, Error, Event, Exchange, Outgoing};
use couplet_types::RequestId;
use tokio::{sync::Notify, time::sleep};

use super::{
    busy::Busy,
    shared::{Answer, Shared, unless},
};

#[derive(Debug)]
pub(crate) struct HttpChannel(pub(crate) Arc<Shared>);

impl Channel for HttpChannel {
    fn next_id(&self) -> RequestId {
        self.0.router.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        let mut exchange = self.open_driven(request);
        exchange.detach();
        exchange
    }

    fn open_driven(&self, request: Outgoing) -> Exchange {
        let revision = request.revision();
        let by = if revision.is_some() { Cancellation::Disconnect } else { Cancellation::Notification };
        let (key, mailbox) = match self.0.router.open(&request.id, request.method, by) {
            Ok(opened) => opened,
            Err(error) => return Exchange::failed(error),
        };
        let shared = self.0.clone();
        let work = Box::pin(async move { shared.answer(request, revision, key).await });
        Exchange::driven(mailbox, work, self.0.clone(), key)
    }

    fn notify(&self, text: Bytes) {
        self.0.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.0.router.agree(dialect);
        self.0.learn_greeting();
        self.0.ready.send_replace(!dialect.has_sessions());
    }

    fn is_held_up(&self) -> bool {
        self.0.address.client.is_held_up()
    }

    fn transport(&self) -> Option<&'static str> {
        Some("tcp")
    }

    fn close(&self) {
        self.0.end(Ok(()));
    }
}

impl Driver for Shared {
    fn cancel(self: Arc<Self>, key: i64) {
        Self::cancel(&self, key);
    }

    fn detach(self: Arc<Self>, key: i64, work: BoxFuture<'static, ()>) -> Box<dyn FnOnce() + Send> {
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        self.spawn(async move {
            unless(&stopped, work).await;
        });
        Box::new(move || {
            stop.notify_one();
            Self::cancel(&self, key);
        })
    }
}

impl Drop for HttpChannel {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Sends a request, and puts its answer into its mailbox, unless that comes on another stream.
    async fn answer(self: &Arc<Self>, request: Outgoing, revision: Option<&'static str>, key: i64) {
        match self.carry_out(request, revision, key).await {
            Ok(Some(answer)) => self.router.settle(key, Event::Answer(answer)),
            Err(error) => self.router.settle(key, Event::Failed(error)),
            Ok(None) => {}
        }
    }

    /// Sends a request, and sends it again where the server was too busy for it and it may be repeated.
    async fn carry_out(
        self: &Arc<Self>,
        mut request: Outgoing,
        revision: Option<&'static str>,
        key: i64,
    ) -> Result<Option<Answer>, Error> {
        let mut repeats = 0;
        loop {
            let outcome = match revision {
                Some(revision) => self.stateless(&request, revision, key).await.map(Some),
                None => self.in_session(&request, key).await,
            };
            let pause = match &outcome {
                Err(error) if repeats < Busy::REPEATS => Busy::of(error).and_then(|busy| busy.pause(&request)),
                _ => None,
            };
            let Some(pause) = pause else { return outcome };
            tracing::debug!(method = request.method, ?pause, "the server is too busy; a request is sent again");
            repeats += 1;
            sleep(pause).await;
            request = self.again(&request, key);
        }
    }
}
