//! An HTTP client that reports what passes: messages of the protocol, and the steps of a login.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

use bytes::{Bytes, BytesMut};
use couplet::{
    Error,
    core::{BoxFuture, http::sse::Parser},
    http::client::{Body, HttpClient},
};
use couplet_inspector::{Direction, HttpExchange, LoginStep, Seen, Tap};
use futures_core::Stream;
use http::{Method, Request, Response, header};
use serde::Deserialize;

use super::{
    login::{LoginLog, about, challenge, redirect},
    mask,
};

/// A client in front of another one.
pub(super) struct TappedClient {
    inner: Arc<dyn HttpClient>,
    tap: Tap,
    login: Arc<LoginLog>,
    /// The size up to which messages are reported.
    limit: usize,
}

impl TappedClient {
    pub(super) fn new(inner: Arc<dyn HttpClient>, tap: &Tap, login: &Arc<LoginLog>, limit: usize) -> Self {
        Self { inner, tap: tap.clone(), login: login.clone(), limit }
    }
}

impl HttpClient for TappedClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        let (method, uri, sent) = (request.method().clone(), request.uri().clone(), request.body().clone());
        let is_protocol = is_protocol(&request);
        let (tap, login, limit) = (self.tap.clone(), self.login.clone(), self.limit);
        if is_protocol {
            login.sends(request.headers().get(header::AUTHORIZATION));
        }
        if is_protocol && method == Method::POST {
            tap.message(Direction::Out, sent.clone());
        }
        let asked_headers = mask::headers(request.headers());
        let sent_body = (!is_protocol).then(|| mask::body(&sent)).flatten();
        if let Some(returned) = sent_body.as_ref().and_then(redirect) {
            login.add(returned);
        }
        let (begun, sending) = (Instant::now(), self.inner.send(request));
        Box::pin(async move {
            let outcome = sending.await;
            let status = outcome.as_ref().map_or(0, |response| response.status().as_u16());
            let (url, millis) = (mask::url(&uri.to_string()), begun.elapsed().as_secs_f64() * 1e3);
            let answered_headers = outcome.as_ref().map_or(Vec::new(), |response| mask::headers(response.headers()));
            let exchange = HttpExchange::new(method.as_str(), url.clone(), status, millis);
            let exchange = exchange.headers(asked_headers, answered_headers);
            let is_message = is_protocol && method == Method::POST;
            let exchange = if is_message { exchange.sent(sent) } else { exchange };
            // After the step, so that a page that reads the steps now has it.
            let report = || tap.report(Seen::Http(exchange.clone()));
            let response = outcome.inspect_err(|_| report())?;
            if is_protocol {
                if let Some(step) = challenge(&url, &response) {
                    login.add(step);
                }
                report();
                return Ok(tapped(response, tap, limit));
            }
            let (title, note) = about(uri.path(), sent_body.as_ref());
            let (head, body) = response.into_parts();
            let body = body.read(LARGEST).await.inspect_err(|_| report())?;
            if sent_body.as_ref().is_some_and(|sent| sent.get("grant_type").is_some()) {
                login.is_over();
            }
            login.add(LoginStep {
                title: title.to_owned(),
                url,
                status: Some(status),
                sent: sent_body,
                body: mask::body(&body),
                note: note.to_owned(),
            });
            report();
            Ok(Response::from_parts(head, body.into()))
        })
    }

    fn is_held_up(&self) -> bool {
        self.inner.is_held_up()
    }
}

/// The largest document of a login.
const LARGEST: usize = 1 << 20;

/// Whether a request is one of the protocol, and not of a login: a message, or a stream of events.
fn is_protocol(request: &Request<Bytes>) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        #[expect(dead_code, reason = "it only has to be there")]
        jsonrpc: String,
    }
    let accepts_events = || {
        let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
        accept.is_some_and(|accept| accept.contains("text/event-stream"))
    };
    match *request.method() {
        Method::POST => {
            let body = request.body();
            let is_batch = body.first() == Some(&b'[') && accepts_events();
            is_batch || serde_json::from_slice::<Marked>(body).is_ok()
        }
        Method::GET => accepts_events(),
        Method::DELETE => true,
        _ => false,
    }
}

/// The same response, whose messages are reported as they are read.
fn tapped(response: Response<Body>, tap: Tap, limit: usize) -> Response<Body> {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let reader = match kind.split(';').next().unwrap_or_default().trim() {
        kind if kind.eq_ignore_ascii_case("text/event-stream") => Reader::Events(Box::new(Parser::new(limit))),
        _ => Reader::Whole(BytesMut::new()),
    };
    response.map(|body| Body::new(Passing { state: State::Idle(Some(body)), reader, tap, limit }))
}

/// The messages of a body.
enum Reader {
    Events(Box<Parser>),
    Whole(BytesMut),
}

/// A body that is reported while it passes.
struct Passing {
    state: State,
    reader: Reader,
    tap: Tap,
    limit: usize,
}

enum State {
    Idle(Option<Body>),
    Reading(BoxFuture<'static, (Body, Result<Option<Bytes>, Error>)>),
}

impl Passing {
    fn passed(&mut self, piece: &Bytes) {
        match &mut self.reader {
            Reader::Events(parser) => {
                parser.push(piece);
                // An event above the limit ends the connection elsewhere.
                while let Ok(Some(event)) = parser.next() {
                    if event.is_message() {
                        self.tap.message(Direction::In, event.data);
                    }
                }
            }
            Reader::Whole(text) if text.len() + piece.len() <= self.limit => text.extend_from_slice(piece),
            Reader::Whole(_) => {}
        }
    }

    fn ended(&mut self) {
        if let Reader::Whole(text) = &mut self.reader
            && !text.is_empty()
        {
            self.tap.message(Direction::In, std::mem::take(text).freeze());
        }
    }
}

impl Stream for Passing {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match &mut self.state {
                State::Idle(body) => {
                    let Some(mut body) = body.take() else { return Poll::Ready(None) };
                    self.state = State::Reading(Box::pin(async move {
                        let piece = body.next().await;
                        (body, piece)
                    }));
                }
                State::Reading(reading) => {
                    let (body, piece) = ready!(reading.as_mut().poll(cx));
                    return Poll::Ready(match piece {
                        Ok(Some(piece)) => {
                            self.state = State::Idle(Some(body));
                            self.passed(&piece);
                            Some(Ok(piece))
                        }
                        Ok(None) => {
                            self.state = State::Idle(None);
                            self.ended();
                            None
                        }
                        Err(error) => {
                            self.state = State::Idle(None);
                            Some(Err(error))
                        }
                    });
                }
            }
        }
    }
}
