//! The event stream of a session, for messages that belong to no request.

use std::{sync::Arc, time::Duration};

use couplet_core::{BoxFuture, Error, ErrorKind, Source, http::headers};
use http::StatusCode;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::{
    busy::{is_busy, retry_after},
    follow::{Events, Place},
    read::Content,
    shared::Shared,
};

/// The outcome of one attempt.
enum Heard {
    /// The stream ended, or could not be reached.
    Broke,
    /// The server has no such stream.
    Nothing,
    /// The server does not know the session.
    SessionLost,
}

impl Shared {
    /// The time to wait for the response. Some servers respond only once they have something to send.
    const OPENING: Duration = Duration::from_millis(500);

    /// Opens the stream, and waits for it, so that the next request misses no message on it.
    ///
    /// It is boxed, because it is recursive: a lost session is replaced, and the new one has a stream of its own.
    pub(crate) fn listen(self: &Arc<Self>, generation: u64) -> BoxFuture<'static, ()> {
        let shared = self.clone();
        Box::pin(async move {
            let opened = Arc::new(Notify::new());
            shared.spawn(shared.clone().listen_to(generation, opened.clone()));
            let _ = timeout(Self::OPENING, opened.notified()).await;
        })
    }

    /// Reads the stream, and reopens it, for as long as the session lives.
    async fn listen_to(self: Arc<Self>, generation: u64, first: Arc<Notify>) {
        let mut place = Place::default();
        let mut opened = false;
        while self.session().generation == generation {
            match self.listen_once(&mut place, &mut opened, &first).await {
                Ok(Heard::Broke) => {}
                Ok(Heard::SessionLost) if opened => {
                    if let Err(error) = self.renew(generation).await {
                        tracing::warn!(%error, "the session is lost, and its event stream with it");
                    }
                    return;
                }
                // Most servers have no such stream.
                Ok(Heard::Nothing | Heard::SessionLost) => return,
                Err(error) if error.kind() == ErrorKind::Transport => {
                    tracing::debug!(%error, "the stream of the session broke");
                }
                Err(error) => return tracing::warn!(%error, "the stream of the session cannot be read"),
            }
            if place.fruitless >= Place::MAX_FRUITLESS {
                let what =
                    format!("the server ended its stream {} times in a row; it is given up", Place::MAX_FRUITLESS + 1);
                tracing::warn!("{what}");
                return self.router.inbound().silent(Some(Error::new(ErrorKind::Closed, what)));
            }
            sleep(place.delay()).await;
            place.fruitless += 1;
        }
    }

    async fn listen_once(
        self: &Arc<Self>,
        place: &mut Place,
        opened: &mut bool,
        first: &Notify,
    ) -> Result<Heard, Error> {
        let mut http = self.address.get(&self.address.uri);
        let has_session = self.mark(&mut http);
        if let Some(id) = &place.id {
            http.headers_mut().insert(headers::LAST_EVENT_ID, id.clone());
        }
        let response = self.address.send(http).await;
        first.notify_one();
        let (response, _) = response?;
        let status = response.status();
        if status.is_server_error() || is_busy(status) {
            place.hold = retry_after(&response);
            return Ok(Heard::Broke);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Ok(Heard::SessionLost);
        }
        if !status.is_success() || Content::of(&response) != Content::Events {
            tracing::debug!(%status, "the server has no event stream");
            return Ok(Heard::Nothing);
        }
        *opened = true;
        self.router.inbound().silent(None);
        let mut events = Events::new(response.into_body(), self.router.limits().message);
        let outcome = self.hear(&mut events, place).await;
        place.ended(&events);
        outcome.map(|()| Heard::Broke)
    }

    async fn hear(self: &Arc<Self>, events: &mut Events, place: &mut Place) -> Result<(), Error> {
        while let Some(event) = events.next().await? {
            place.note(&event);
            if event.is_message() {
                self.receive(event.data, Source::Connection)?;
            }
        }
        Ok(())
    }
}
