//! What a client sends requests with.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{Channel, Dialect, Error, ErrorKind, Event, Exchange, Mailbox, Outgoing};
use couplet_types::{Initialize, Request, RequestId};
use tokio::time::sleep;

use super::{
    busy::Busy,
    shared::{Answer, Shared, unless},
};

#[derive(Debug)]
pub(crate) struct HttpChannel(pub(crate) Arc<Shared>);

impl Channel for HttpChannel {
    fn next_id(&self) -> RequestId {
        self.0.next_id()
    }

    fn open(&self, request: Outgoing) -> Exchange {
        let RequestId::Number(key) = request.id else {
            return failed(Error::new(ErrorKind::Config, "the id is not from this channel"));
        };
        let revision = request.revision();
        // Whoever stands alone is cancelled by hanging up, and the handshake must not be cancelled at all.
        let told = revision.is_none() && request.method != Initialize::METHOD;
        let (mailbox, stop) = match self.0.expect(key, told) {
            Ok(waiting) => waiting,
            Err(closed) => return failed(closed),
        };
        let shared = self.0.clone();
        self.0.spawn(async move {
            match unless(&stop, shared.carry_out(request, revision, key)).await {
                Some(Ok(Some(answer))) => shared.settle(key, Event::Answer(answer)),
                Some(Err(error)) => shared.settle(key, Event::Failed(error)),
                // It comes on another stream, or nobody waits for it.
                Some(Ok::<Option<Answer>, _>(None)) | None => {}
            }
        });
        let shared = self.0.clone();
        Exchange::new(mailbox, move || shared.cancel(key))
    }

    fn notify(&self, text: Bytes) {
        self.0.notify(text);
    }

    fn agree(&self, dialect: &Dialect) {
        self.0.agree(dialect);
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

impl Drop for HttpChannel {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    /// Sends a request, and sends it again where the server was too busy for it and it may be repeated.
    async fn carry_out(
        self: &Arc<Self>,
        mut request: Outgoing,
        revision: Option<String>,
        key: i64,
    ) -> Result<Option<Answer>, Error> {
        let mut repeats = 0;
        loop {
            let outcome = match &revision {
                Some(revision) => self.alone(&request, revision, key).await.map(Some),
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

fn failed(error: Error) -> Exchange {
    let mailbox = Mailbox::new();
    mailbox.put(Event::Failed(error));
    Exchange::new(mailbox, || ())
}
