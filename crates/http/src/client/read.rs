//! Reading responses.

use std::{sync::Arc, time::Duration};

use couplet_core::{
    Error, ErrorKind, Source,
    http::headers,
    message::{self, Frame, Message},
};
use couplet_types::RequestId;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use tokio::time::{sleep, timeout};

use super::{
    busy::{Busy, is_busy, retry_after},
    fetch::Body,
    follow::{Events, Place},
    shared::{Answer, Shared},
};

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Its answer.
    Answer(Answer),
    /// A status of 400 and above without a JSON-RPC error.
    Refused(StatusCode),
    /// The server does not know the session, and did nothing.
    NoSession,
    /// The server lost the session while it was at work.
    SessionLost,
}

/// The content type of a response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Events,
    Nothing,
    Other(String),
}

impl Content {
    pub(crate) fn of(response: &Response<Body>) -> Self {
        let value = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        match essence {
            b"" => Self::Nothing,
            kind if kind.eq_ignore_ascii_case(b"application/json") => Self::Json,
            kind if kind.eq_ignore_ascii_case(b"text/event-stream") => Self::Events,
            other => Self::Other(String::from_utf8_lossy(other).to_ascii_lowercase()),
        }
    }
}

impl Shared {
    /// The size of an error body that is read.
    const EXPLANATION: usize = 1 << 20;
    /// The time that a stream may go on after its answer before the connection is closed.
    const REST: Duration = Duration::from_secs(1);

    /// Reads the response to a request. Futures of what is rare are boxed: they would make that of each request larger, and it
    /// is copied when it is created.
    pub(crate) async fn read(
        self: &Arc<Self>,
        response: Response<Body>,
        source: Source<'_>,
        sent: &RequestId,
    ) -> Result<Reading, Error> {
        let status = response.status();
        if !status.is_success() {
            return Box::pin(refusal(response, sent, self.router.limits().bounds)).await;
        }
        match Content::of(&response) {
            Content::Json => {
                let length = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
                let (limit, expected) = (self.router.limits().message, length.unwrap_or_default());
                let text = response.into_body().read_sized(limit, expected).await?;
                match self.receive(text, source)? {
                    Some(answer) => Ok(Reading::Answer(answer)),
                    None => Err(protocol("the server's response is not an answer to the request")),
                }
            }
            Content::Events => Box::pin(self.read_events(response.into_body(), source)).await,
            Content::Nothing => Err(protocol(&format!("the server sent no answer, only the status {status}"))),
            Content::Other(kind) => {
                let kind: String = kind.chars().take(100).collect();
                let kind = kind.escape_debug();
                Err(protocol(&format!("the server answers with `{kind}`, neither JSON nor a stream of events")))
            }
        }
    }

    /// Reads a stream up to the answer, and resumes it where the server supports that.
    async fn read_events(self: &Arc<Self>, body: Body, source: Source<'_>) -> Result<Reading, Error> {
        let mut events = Events::new(body, self.router.limits().message);
        let mut place = Place::default();
        loop {
            let broken = match self.up_to_answer(&mut events, &mut place, source).await {
                Ok(Some(answer)) => {
                    self.spawn(async move { drop(timeout(Self::REST, events.drain()).await) });
                    return Ok(Reading::Answer(answer));
                }
                Ok(None) => None,
                Err(error) if error.kind() == ErrorKind::Transport => Some(error),
                Err(error) => return Err(error),
            };
            place.ended(&events);
            // Without a session nothing can be resumed.
            if source.is_stateless() || place.id.is_none() {
                return Err(closed("the stream ended before the answer; the outcome is not known", broken));
            }
            match self.resume(&mut place).await? {
                Some(next) => events = next,
                None => return Ok(Reading::SessionLost),
            }
        }
    }

    async fn up_to_answer(
        self: &Arc<Self>,
        events: &mut Events,
        place: &mut Place,
        source: Source<'_>,
    ) -> Result<Option<Answer>, Error> {
        while let Some(event) = events.next().await? {
            place.note(&event);
            if event.is_message()
                && let Some(answer) = self.receive(event.data, source)?
            {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// Resumes a stream after the last event; `None` if the session is gone.
    async fn resume(self: &Arc<Self>, place: &mut Place) -> Result<Option<Events>, Error> {
        loop {
            if place.fruitless >= Place::MAX_FRUITLESS {
                return Err(closed("the stream broke and could not be taken up again; the outcome is not known", None));
            }
            sleep(place.delay()).await;
            place.fruitless += 1;
            let mut request = self.address.get(&self.address.uri);
            let has_session = self.mark(&mut request);
            if let Some(id) = &place.id {
                request.headers_mut().insert(headers::LAST_EVENT_ID, id.clone());
            }
            let response = match self.address.send(request).await {
                Ok((response, _)) => response,
                Err(error) if error.kind() == ErrorKind::Transport => {
                    tracing::debug!(%error, "a stream could not be taken up again yet");
                    continue;
                }
                Err(error) => return Err(error),
            };
            let status = response.status();
            match Content::of(&response) {
                Content::Events if status.is_success() => {
                    return Ok(Some(Events::new(response.into_body(), self.router.limits().message)));
                }
                _ if status == StatusCode::NOT_FOUND && has_session => return Ok(None),
                _ if status.is_server_error() || is_busy(status) => place.hold = retry_after(&response),
                _ => {
                    let what = format!(
                        "the stream broke and the server does not let it be taken up again ({status}); \
                         the outcome is not known"
                    );
                    return Err(closed(&what, None));
                }
            }
        }
    }
}

/// Interprets a status of failure: an answer, if the server gave one.
pub(crate) async fn refusal(
    response: Response<Body>,
    sent: &RequestId,
    bounds: couplet_core::Bounds,
) -> Result<Reading, Error> {
    let status = response.status();
    let failed = || Error::new(ErrorKind::Transport, format!("the server failed with the status {status}"));
    if !status.is_client_error() && !is_busy(status) {
        return Err(failed());
    }
    let after = retry_after(&response);
    // A body that cannot be read is ignored.
    let text = response.into_body().read(Shared::EXPLANATION).await.unwrap_or_default();
    let said = match message::read(text, bounds) {
        Ok(Frame::Single(Message { body: message::Body::Response { id, outcome: Err(error) }, .. }))
            if id.is_none() || id.as_ref() == Some(sent) =>
        {
            Some(error)
        }
        _ => None,
    };
    if let Some(busy) = Busy::read(status, after, said.as_ref()) {
        return Err(busy.into());
    }
    match said {
        _ if !status.is_client_error() => Err(failed()),
        Some(error) => Ok(Reading::Answer(Err(error))),
        None => Ok(Reading::Refused(status)),
    }
}

/// Whether a status may mean that the server does not know this transport at all.
pub(crate) fn is_unknown_transport(status: StatusCode) -> bool {
    // Too large, too often, too slow, the wrong host: a server that says so has understood the request.
    status.is_client_error() && !matches!(status.as_u16(), 407 | 408 | 413 | 421 | 425 | 429 | 431)
}

/// The error for a status without a JSON-RPC error.
pub(crate) fn refused(status: StatusCode) -> Error {
    let what = match status.as_u16() {
        413 => "the request is too large for the server (413)".to_owned(),
        429 => "the server has had too many requests (429)".to_owned(),
        431 => "the headers of the request are too large for the server (431)".to_owned(),
        _ => format!("the server refused the request with the status {status}"),
    };
    Error::new(ErrorKind::Transport, what)
}

fn protocol(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, what)
}

pub(crate) fn closed(what: &str, source: Option<Error>) -> Error {
    let error = Error::new(ErrorKind::Closed, what);
    match source {
        Some(source) => error.with_source(source),
        None => error,
    }
}
