//! Sessions: opened by a handshake, carried on by a header, opened anew when the server has lost them.

use std::sync::Arc;

use bytes::Bytes;
use couplet_core::{
    Error, ErrorKind, Outgoing,
    http::headers,
    message::{self, Frame, Message, Params},
};
use couplet_types::{CallTool, Initialize, Initialized, Notification, NotificationParams, Request, code};
use http::{HeaderValue, Response, StatusCode, Uri};

use super::{
    fetch::Body,
    headers::value,
    read::{Reading, closed, is_another_tongue, refused},
    route::Source,
    shared::{Answer, Shared},
};

#[derive(Debug, Default)]
pub(crate) struct Session {
    /// What the server calls it, if it does.
    pub(crate) id: Option<HeaderValue>,
    /// How many came before it.
    pub(crate) generation: u64,
    /// How it was opened.
    hello: Option<Outgoing>,
    /// Where messages go, if the answers come on a stream of their own.
    pub(crate) endpoint: Option<Uri>,
}

impl Shared {
    /// Sends a request of a session; `None` if the answer comes on another stream.
    pub(crate) async fn in_session(self: &Arc<Self>, request: &Outgoing, key: i64) -> Result<Option<Answer>, Error> {
        let greets = request.method == Initialize::METHOD;
        if !greets {
            // It only fails when there is no connection left to wait for.
            let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
        }
        let endpoint = self.session().endpoint.clone();
        match endpoint {
            Some(endpoint) => self.post_to_endpoint(&endpoint, request).await,
            None if greets => self.greet(request).await,
            None => self.ask_or_renew(request, key).await.map(Some),
        }
    }

    /// Opens a session.
    async fn greet(self: &Arc<Self>, request: &Outgoing) -> Result<Option<Answer>, Error> {
        match self.hello(request).await? {
            Reading::Answer(answer) => Ok(Some(answer)),
            Reading::Refused(status) if is_another_tongue(status) => self.fall_back(request, status).await,
            Reading::Refused(status) => Err(refused(status)),
            Reading::SessionLost => Err(closed("the server lost the session before it was open", None)),
        }
    }

    /// Sends a handshake, and takes the session that comes of it.
    async fn hello(self: &Arc<Self>, request: &Outgoing) -> Result<Reading, Error> {
        let http = self.address.post(&self.address.uri, request.message());
        let (response, _) = self.address.send(http).await?;
        if response.status().is_success() {
            let id = session_id(&response)?;
            let mut session = self.session();
            session.id = id;
            session.hello = Some(request.clone());
        }
        self.read(response, Source::Request { sent: &request.id }, &request.id).await
    }

    async fn ask_or_renew(self: &Arc<Self>, request: &Outgoing, key: i64) -> Result<Answer, Error> {
        let generation = self.session().generation;
        let status = match self.ask_once(request).await? {
            Reading::Answer(answer) => return Ok(answer),
            Reading::Refused(status) => return Err(refused(status)),
            Reading::SessionLost => StatusCode::NOT_FOUND,
        };
        self.renew(generation).await?;
        if request.method == CallTool::METHOD {
            let what = "the server lost the session, and a new one was opened; \
                        whether the tool was called is not known";
            return Err(closed(what, None));
        }
        let mut again = request.clone();
        again.id = self.next_id();
        self.sent_as(key, &again.id);
        match self.ask_once(&again).await? {
            Reading::Answer(answer) => Ok(answer),
            Reading::Refused(status) => Err(refused(status)),
            Reading::SessionLost => Err(closed(&format!("the server loses every session ({status})"), None)),
        }
    }

    async fn ask_once(self: &Arc<Self>, request: &Outgoing) -> Result<Reading, Error> {
        let mut http = self.address.post(&self.address.uri, request.message());
        let has_session = self.mark(&mut http);
        let (response, _) = self.address.send(http).await?;
        let gone = has_session && response.status() == StatusCode::NOT_FOUND;
        match self.read(response, Source::Request { sent: &request.id }, &request.id).await? {
            Reading::Answer(Err(error)) if gone && error.code == code::METHOD_NOT_FOUND => {
                Ok(Reading::Answer(Err(error)))
            }
            _ if gone => Ok(Reading::SessionLost),
            reading => Ok(reading),
        }
    }

    /// Opens a new session as the lost one was opened, unless somebody else has done so.
    pub(crate) async fn renew(self: &Arc<Self>, lost: u64) -> Result<(), Error> {
        let _turn = self.renewal.lock().await;
        let (generation, hello) = {
            let session = self.session();
            (session.generation, session.hello.clone())
        };
        let (Some(mut hello), Some(dialect)) = (hello, self.dialect()) else {
            return Err(closed("the server does not know the session", None));
        };
        if generation != lost {
            return Ok(());
        }
        hello.id = self.next_id();
        let failed = |why: Error| closed("the server lost the session, and a new one could not be opened", Some(why));
        let answer = match self.hello(&hello).await.map_err(failed)? {
            Reading::Answer(answer) => answer.map_err(|e| failed(e.into()))?,
            Reading::Refused(status) => return Err(failed(refused(status))),
            Reading::SessionLost => return Err(closed("the server loses every session", None)),
        };
        let spoken: Option<String> =
            Params::from_text(answer).ok().and_then(|a| a.read_opt("protocolVersion").ok().flatten());
        if spoken.as_deref() != Some(dialect.shape().version().as_str()) {
            return Err(failed(Error::new(
                ErrorKind::Version,
                "the server speaks another revision now; connect again",
            )));
        }
        self.tell(dialect.notification(Initialized::METHOD, &NotificationParams::new())).await;
        self.session().generation += 1;
        tracing::info!("the server lost the session, and a new one was opened");
        self.listen(lost + 1).await;
        Ok(())
    }

    /// Adds what every message after the handshake carries; true if there is a session to be lost.
    pub(crate) fn mark(&self, http: &mut http::Request<Bytes>) -> bool {
        if let Some(dialect) = self.dialect()
            && let Ok(version) = value("the revision", dialect.shape().version().as_str())
        {
            http.headers_mut().insert(headers::PROTOCOL_VERSION, version);
        }
        let id = self.session().id.clone();
        id.map(|id| http.headers_mut().insert(headers::SESSION, id)).is_some()
    }

    /// Sends the notifications that wait, one after the other.
    pub(crate) async fn send_notes(self: Arc<Self>) {
        while let Some(text) = self.next_note() {
            let opens = opens_session(&text);
            self.tell(text).await;
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

    /// Sends a message that has no answer.
    pub(crate) async fn tell(&self, text: Bytes) {
        let endpoint = self.session().endpoint.clone();
        let http = match endpoint {
            Some(endpoint) => self.address.post(&endpoint, text),
            None => {
                let mut http = self.address.post(&self.address.uri, text);
                self.mark(&mut http);
                http
            }
        };
        match self.address.send(http).await {
            Ok((response, _)) if response.status().is_success() => {}
            Ok((response, _)) => tracing::warn!(status = %response.status(), "the server refused a message"),
            Err(error) => tracing::warn!(%error, "a message could not be sent"),
        }
    }

    /// Ends the session, if the server wants to know.
    pub(crate) async fn leave(&self) {
        let mut http = self.address.delete(&self.address.uri);
        if self.mark(&mut http)
            && let Err(error) = self.address.send(http).await
        {
            tracing::debug!(%error, "the session could not be ended");
        }
    }
}

/// The session that a response opens.
fn session_id(response: &Response<Body>) -> Result<Option<HeaderValue>, Error> {
    let Some(id) = response.headers().get(headers::SESSION) else { return Ok(None) };
    if id.is_empty() || !id.as_bytes().iter().all(|b| matches!(b, 0x21..=0x7e)) {
        return Err(Error::new(ErrorKind::Protocol, "the server's session id has characters that it must not have"));
    }
    let mut id = id.clone();
    id.set_sensitive(true);
    Ok(Some(id))
}

fn opens_session(text: &Bytes) -> bool {
    let read = message::read(text.clone(), couplet_core::Bounds::default());
    matches!(read, Ok(Frame::Single(Message { body: message::Body::Notification { method, .. }, .. }))
        if method == Initialized::METHOD)
}
