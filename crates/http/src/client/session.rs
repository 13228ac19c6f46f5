//! Sessions: opened by a handshake, carried on by a header, and ended.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use couplet_core::{
    Error, ErrorKind, Outgoing, Source,
    http::headers,
    message::{self, Frame, Message},
};
use couplet_types::{CallTool, Initialize, Initialized, Notification, Request, code};
use http::{HeaderValue, Response, StatusCode, Uri};
use tokio::time::{sleep, timeout};

use super::{
    busy::{Busy, pause, retry_after},
    eras::Greeting,
    fetch::Body,
    headers::{PROTOCOL_VERSION, SESSION, fixed},
    read::{Reading, closed, is_unknown_transport, refused},
    settings::Settings,
    shared::{Answer, Shared},
};

#[derive(Debug, Default)]
pub(crate) struct Session {
    /// The id that the server gave it, if it did.
    pub(crate) id: Option<HeaderValue>,
    /// The number of sessions before it.
    pub(crate) generation: u64,
    /// The handshake that opened it.
    pub(crate) hello: Option<Outgoing>,
    /// The endpoint for messages, if the answers come on a stream of their own.
    pub(crate) endpoint: Option<Uri>,
    /// The cached way to open a session.
    remembered: Option<Greeting>,
    /// Whether the server does not know the probe.
    pub(crate) must_be_greeted: bool,
    pub(crate) settings: Settings,
}

impl Shared {
    /// The timeout for a message that has no answer. The messages behind it wait.
    const SEND_TIMEOUT: Duration = Duration::from_secs(30);

    /// Sends a request of a session; `None` if the answer comes on another stream.
    pub(crate) async fn in_session(self: &Arc<Self>, request: &Outgoing, key: i64) -> Result<Option<Answer>, Error> {
        let greets = request.method == Initialize::METHOD;
        if !greets {
            // It only fails when there is no connection left to wait for.
            let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
        }
        let endpoint = self.session().endpoint.clone();
        match endpoint {
            Some(endpoint) => Box::pin(self.post_to_endpoint(&endpoint, request)).await,
            None if greets => Box::pin(self.greet(request)).await,
            None => self.ask_or_renew(request, key).await.map(Some),
        }
    }

    /// Opens a session.
    async fn greet(self: &Arc<Self>, request: &Outgoing) -> Result<Option<Answer>, Error> {
        let remembered = self.session().remembered;
        if remembered == Some(Greeting::Stream) {
            return self.open_stream(request).await.map_err(changed);
        }
        match self.hello(request).await? {
            Reading::Answer(Err(error)) if remembered.is_some() => Err(changed(error.into())),
            Reading::Answer(answer) => Ok(Some(answer)),
            Reading::Refused(status) if !is_unknown_transport(status) => Err(refused(status)),
            Reading::Refused(status) if remembered.is_some() => Err(changed(refused(status))),
            Reading::Refused(status) => self.fall_back(request, status).await,
            Reading::NoSession | Reading::SessionLost => {
                Err(closed("the server lost the session before it was open", None))
            }
        }
    }

    /// Takes the cached way to open a session; whether there is one, so that the server need not be probed.
    pub(crate) fn recall_greeting(&self) -> bool {
        if self.router.dialect().is_some() {
            return false;
        }
        let greeting = self.address.eras.take(&self.address.uri);
        let mut session = self.session();
        session.remembered = greeting;
        session.must_be_greeted = greeting.is_some();
        session.must_be_greeted
    }

    /// Caches the way in which the session was opened, if the server needs one. That this client wanted one says nothing
    /// about others.
    pub(crate) fn learn_greeting(&self) {
        let session = self.session();
        if session.must_be_greeted {
            let greeting = if session.endpoint.is_some() { Greeting::Stream } else { Greeting::Message };
            self.address.eras.put(&self.address.uri, greeting);
        }
    }

    /// Sends a handshake, and stores the session that it opens.
    pub(crate) async fn hello(self: &Arc<Self>, request: &Outgoing) -> Result<Reading, Error> {
        let http = self.address.post(&self.address.uri, request.message());
        let (response, _) = self.address.send(http).await?;
        if response.status().is_success() {
            let id = session_id(&response)?;
            let mut session = self.session();
            session.id = id;
            session.hello = Some(request.clone());
        }
        self.read(response, Source::SessionResponse { sent: &request.id }, &request.id).await
    }

    async fn ask_or_renew(self: &Arc<Self>, request: &Outgoing, key: i64) -> Result<Answer, Error> {
        let generation = self.session().generation;
        let reading = self.ask_once(request).await?;
        let lost_at_work = match reading {
            Reading::Answer(answer) => return Ok(answer),
            Reading::Refused(status) => return Err(refused(status)),
            Reading::NoSession => false,
            Reading::SessionLost => true,
        };
        Box::pin(self.renew(generation)).await?;
        if lost_at_work && request.method == CallTool::METHOD {
            let what = "the server lost the session, and a new one was opened; \
                        whether the tool was called is not known";
            return Err(closed(what, None));
        }
        let again = self.again(request, key);
        match self.ask_once(&again).await? {
            Reading::Answer(answer) => Ok(answer),
            Reading::Refused(status) => Err(refused(status)),
            Reading::NoSession | Reading::SessionLost => Err(closed("the server loses every session", None)),
        }
    }

    /// Sends a request once, and stores the setting that it changed.
    pub(crate) async fn ask_once(self: &Arc<Self>, request: &Outgoing) -> Result<Reading, Error> {
        let (id, message) = (self.session().id.clone(), request.message());
        let build = || {
            let mut http = self.address.post(&self.address.uri, message.clone());
            self.mark_for(id.as_ref(), &mut http);
            http
        };
        let response = self.address.send_built(build).await?;
        let gone = id.is_some() && response.status() == StatusCode::NOT_FOUND;
        match self.read(response, Source::SessionResponse { sent: &request.id }, &request.id).await? {
            Reading::Answer(Err(error)) if gone && error.code == code::METHOD_NOT_FOUND => {
                Ok(Reading::Answer(Err(error)))
            }
            _ if gone => Ok(Reading::NoSession),
            Reading::Answer(Ok(result)) => {
                self.session().settings.note(request);
                Ok(Reading::Answer(Ok(result)))
            }
            reading => Ok(reading),
        }
    }

    /// Adds the headers of every message after the handshake; true if there is a session to be lost.
    pub(crate) fn mark(&self, http: &mut http::Request<Bytes>) -> bool {
        let id = self.session().id.clone();
        self.mark_for(id.as_ref(), http);
        id.is_some()
    }

    fn mark_for(&self, id: Option<&HeaderValue>, http: &mut http::Request<Bytes>) {
        if let Some(dialect) = self.router.dialect()
            && let Ok(version) = fixed("the revision", dialect.revision().version().as_str())
        {
            http.headers_mut().insert(PROTOCOL_VERSION, version);
        }
        if let Some(id) = id {
            http.headers_mut().insert(SESSION, id.clone());
        }
    }

    /// Sends the notifications that wait, one after the other.
    pub(crate) async fn send_notes(self: Arc<Self>) {
        while let Some(text) = self.next_note() {
            let opens = opens_session(&text);
            self.send_message(text).await;
            if opens {
                let (generation, listens) = {
                    let session = self.session();
                    (session.generation, session.endpoint.is_none())
                };
                if listens {
                    self.listen(generation).await;
                }
                self.ready.send_replace(true);
            }
        }
    }

    /// Sends a message that has no answer. It is retried, because it does no harm if the server gets it twice.
    pub(crate) async fn send_message(&self, text: Bytes) {
        match timeout(Self::SEND_TIMEOUT, self.send_with_retries(text)).await {
            Ok(Ok(status)) if status.is_success() => {}
            Ok(Ok(status)) => tracing::warn!(%status, "the server refused a message"),
            Ok(Err(error)) => tracing::warn!(%error, "a message could not be sent"),
            Err(_) => tracing::warn!("the server did not take a message in time"),
        }
    }

    async fn send_with_retries(&self, text: Bytes) -> Result<StatusCode, Error> {
        let mut repeats = 0;
        loop {
            let endpoint = self.session().endpoint.clone();
            let http = match endpoint {
                Some(endpoint) => self.address.post(&endpoint, text.clone()),
                None => {
                    let mut http = self.address.post(&self.address.uri, text.clone());
                    self.mark(&mut http);
                    http
                }
            };
            let (response, _) = self.address.send(http).await?;
            let after = retry_after(&response).filter(|after| *after <= Busy::LONGEST && repeats < Busy::REPEATS);
            let Some(after) = after else { return Ok(response.status()) };
            repeats += 1;
            sleep(pause(after)).await;
        }
    }

    /// Ends the session on the server, if it has an id.
    pub(crate) async fn leave(&self) {
        let mut http = self.address.delete(&self.address.uri);
        if self.mark(&mut http)
            && let Err(error) = self.address.send(http).await
        {
            tracing::debug!(%error, "the session could not be ended");
        }
    }
}

/// The id of the session that a response opens.
fn session_id(response: &Response<Body>) -> Result<Option<HeaderValue>, Error> {
    let Some(id) = response.headers().get(headers::SESSION) else { return Ok(None) };
    if id.is_empty() || !id.as_bytes().iter().all(|b| matches!(b, 0x21..=0x7e)) {
        return Err(Error::new(ErrorKind::Protocol, "the server's session id has characters that it must not have"));
    }
    let mut id = id.clone();
    id.set_sensitive(true);
    Ok(Some(id))
}

/// The error for a server that does not open sessions in the cached way any more.
fn changed(why: Error) -> Error {
    Error::outdated(ErrorKind::Transport, format!("the server does not open sessions as it did before: {why}"), why)
}

fn opens_session(text: &Bytes) -> bool {
    let read = message::read(text.clone(), couplet_core::Bounds::default());
    matches!(read, Ok(Frame::Single(Message { body: message::Body::Notification { method, .. }, .. }))
        if method == Initialized::METHOD)
}
