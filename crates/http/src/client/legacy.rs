//! The HTTP+SSE transport of the first revision: one stream for every message of the server, and an endpoint that it
//! names for every message of the client.

use std::sync::Arc;

use couplet_core::{Error, ErrorKind, Outgoing, Source};
use http::{StatusCode, Uri};

use super::{
    follow::Events,
    read::{Content, Reading, closed, refusal, refused},
    shared::{Answer, Shared},
    uri,
};

impl Shared {
    /// Tries this transport after the other one was refused.
    pub(crate) async fn fall_back(
        self: &Arc<Self>,
        request: &Outgoing,
        status: StatusCode,
    ) -> Result<Option<Answer>, Error> {
        self.open_stream(request).await.map_err(|error| match error.kind() {
            ErrorKind::Transport => {
                let what = format!("nothing at this address speaks the protocol: it answers {status} to a message");
                Error::new(ErrorKind::Transport, format!("{what}, and {error}")).with_source(error)
            }
            _ => error,
        })
    }

    /// Opens the stream, and sends the first message to the endpoint that it names.
    pub(crate) async fn open_stream(self: &Arc<Self>, request: &Outgoing) -> Result<Option<Answer>, Error> {
        let (response, from) = self.address.send(self.address.get(&self.address.uri)).await?;
        if !response.status().is_success() || Content::of(&response) != Content::Events {
            let what = format!("it answers {} to a GET, without a stream", response.status());
            return Err(Error::new(ErrorKind::Transport, what));
        }
        let mut events = Events::new(response.into_body(), self.router.limits().message);
        let endpoint = endpoint(&mut events, &from).await?;
        self.session().endpoint = Some(endpoint.clone());
        let shared = self.clone();
        self.spawn(async move {
            let why = shared.hear_all(events).await.err();
            shared.end(Err(closed("the server ended the stream", why)));
        });
        self.post_to_endpoint(&endpoint, request).await
    }

    async fn hear_all(self: &Arc<Self>, mut events: Events) -> Result<(), Error> {
        while let Some(event) = events.next().await? {
            if event.is_message() {
                self.receive(event.data, Source::Connection)?;
            }
        }
        Ok(())
    }

    /// Sends a request; its answer comes on the stream.
    pub(crate) async fn post_to_endpoint(
        self: &Arc<Self>,
        endpoint: &Uri,
        request: &Outgoing,
    ) -> Result<Option<Answer>, Error> {
        let (response, _) = self.address.send(self.address.post(endpoint, request.message())).await?;
        if response.status().is_success() {
            return Ok(None);
        }
        match refusal(response, &request.id, self.router.limits().bounds).await? {
            Reading::Answer(Err(error)) => Err(error.into()),
            Reading::Refused(status) => Err(refused(status)),
            _ => Err(closed("the server does not know the session", None)),
        }
    }
}

/// Waits for the endpoint, which must be at the server's own origin.
async fn endpoint(events: &mut Events, from: &Uri) -> Result<Uri, Error> {
    while let Some(event) = events.next().await? {
        if event.event.as_deref() != Some("endpoint") {
            continue;
        }
        let reference = String::from_utf8_lossy(&event.data);
        let endpoint = uri::resolve(from, &reference).filter(|to| uri::same_origin(from, to));
        return endpoint.ok_or_else(|| {
            Error::new(ErrorKind::Protocol, "the server names an endpoint that is not at its own address")
        });
    }
    Err(closed("the stream ended before the server named its endpoint", None))
}
