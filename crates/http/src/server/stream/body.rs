//! The body of a response: one message, or events as they come.

use std::{
    convert::Infallible,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use couplet_core::{EncodedMessage, http::sse::KEEP_ALIVE};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use crate::server::{
    request::{access_log::Access, quota::Share},
    stateless::Driven,
    stream::{chunks::Chunks, event_queue::Reader, open_streams::Ticket, unsent::InFlight},
};

/// The body of a response: one message, with its exact size, or events as they come, without one. It never fails.
///
/// Dropping it ends the stream; a stateless call is cancelled by that. The bytes of large messages count as unsent
/// until they are dropped, wherever they are then.
///
/// ```
/// use couplet_http::server::{Endpoint, EndpointBody};
/// use couplet_server::Server;
/// use http::Request;
/// use http_body::Body;
/// use http_body_util::BodyExt;
/// use tower_service::Service;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let mut endpoint = Endpoint::new(Server::<()>::new("hello", "1.0.0").build());
/// let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned();
/// let request = Request::post("/mcp").header("host", "localhost").body(ping).unwrap();
/// let body: EndpointBody = endpoint.call(request).await.unwrap().into_body();
/// let size = body.size_hint().exact();
/// assert_eq!(size, Some(body.collect().await.unwrap().to_bytes().len() as u64));
/// # }
/// ```
pub struct EndpointBody {
    kind: Kind,
    /// Where what is large is cut into pieces.
    chunks: Option<Box<Chunks>>,
}

enum Kind {
    Full(Pieces),
    Events(Events),
}

/// Events from somewhere, with signs of life between them.
pub(crate) struct Events {
    source: Source,
    ticket: Arc<Ticket>,
    silence: Pin<Box<Sleep>>,
    keep_alive: Duration,
    in_flight: Option<Arc<InFlight>>,
    /// Written when this is dropped.
    access: Option<Box<Access>>,
    /// What the stream counts as.
    _share: Option<Share>,
}

pub(crate) enum Source {
    /// The body itself drives a connection.
    Driven(Arc<Driven>),
    /// A task drives a session's connection and gives this stream its part.
    Queue(Reader),
    /// Another replica sends it.
    #[cfg(feature = "replicas")]
    Relay(crate::server::replica::relay::Relay),
}

impl Events {
    pub(crate) fn new(source: Source, ticket: Arc<Ticket>, keep_alive: Duration) -> Self {
        let silence = Box::pin(tokio::time::sleep(keep_alive));
        Self { source, ticket, silence, keep_alive, in_flight: None, access: None, _share: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let ending = self.ticket.touch(cx);
        let next = match &mut self.source {
            Source::Driven(driven) => driven.poll(cx, ending),
            Source::Queue(reader) => reader.poll_event(cx, ending),
            #[cfg(feature = "replicas")]
            Source::Relay(relay) => relay.poll(cx, ending),
        };
        if let Poll::Ready(next) = next {
            if next.is_some() {
                self.rest();
            }
            return Poll::Ready(match &self.in_flight {
                Some(in_flight) => next.map(|bytes| in_flight.hold(bytes)),
                None => next,
            });
        }
        ready!(self.silence.as_mut().poll(cx));
        // A comment could get into the middle of an event, and the other side is gone anyway.
        #[cfg(feature = "replicas")]
        if matches!(self.source, Source::Relay(_)) {
            return Poll::Ready(None);
        }
        self.rest();
        Poll::Ready(Some(KEEP_ALIVE))
    }

    fn rest(&mut self) {
        self.silence.as_mut().reset(Instant::now() + self.keep_alive);
    }
}

/// What is left of a message.
#[derive(Default)]
struct Pieces([Bytes; 3]);

impl Pieces {
    fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn next(&mut self) -> Option<Bytes> {
        self.0.iter_mut().find(|piece| !piece.is_empty()).map(std::mem::take)
    }
}

impl EndpointBody {
    pub(crate) fn full(text: EncodedMessage) -> Self {
        Self::new(Kind::Full(Pieces(text.into_pieces())))
    }

    fn new(kind: Kind) -> Self {
        Self { kind, chunks: None }
    }

    /// Whether there is or may be something large in it.
    pub(crate) fn is_large(&self) -> bool {
        match &self.kind {
            Kind::Full(Pieces(pieces)) => pieces.iter().any(InFlight::counts),
            Kind::Events(_) => true,
        }
    }

    /// Takes out what waits in it, to be cut into pieces.
    pub(crate) fn take(&mut self) -> [Bytes; 3] {
        match &mut self.kind {
            Kind::Full(Pieces(pieces)) => std::mem::take(pieces),
            Kind::Events(_) => Default::default(),
        }
    }

    /// Cuts what is large into pieces from now on.
    pub(crate) fn cut(&mut self, chunks: Chunks) {
        self.chunks = Some(Box::new(chunks));
    }

    /// From now on everything in it counts until it is sent.
    pub(crate) fn count(&mut self, in_flight: &Arc<InFlight>) {
        match &mut self.kind {
            Kind::Full(Pieces(pieces)) => {
                let large = pieces.iter_mut().filter(|piece| InFlight::counts(piece));
                large.for_each(|piece| *piece = in_flight.hold(std::mem::take(piece)));
            }
            Kind::Events(events) => events.in_flight = Some(in_flight.clone()),
        }
    }

    /// Has a line written to the log when it is over: a message is as good as sent.
    pub(crate) fn log(&mut self, access: Box<Access>) {
        if let Kind::Events(events) = &mut self.kind {
            events.access = Some(access);
        }
    }

    /// Counts a stream until it is over.
    pub(crate) fn hold(&mut self, share: Share) {
        if let Kind::Events(events) = &mut self.kind {
            events._share = Some(share);
        }
    }

    /// How much of a message is left.
    fn len(&self) -> usize {
        let pieces = if let Kind::Full(pieces) = &self.kind { pieces.len() } else { 0 };
        pieces + self.chunks.as_ref().map_or(0, |chunks| chunks.len())
    }

    pub(crate) fn empty() -> Self {
        Self::new(Kind::Full(Pieces::default()))
    }

    pub(crate) fn events(events: Events) -> Self {
        Self::new(Kind::Events(events))
    }
}

impl Kind {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Full(pieces) => Poll::Ready(pieces.next()),
            Self::Events(events) => events.poll(cx),
        }
    }
}

impl Body for EndpointBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let Self { kind, chunks } = &mut *self;
        let next = match chunks {
            None => kind.poll(cx),
            Some(chunks) => chunks.poll(cx, |cx| kind.poll(cx)),
        };
        next.map(|bytes| bytes.map(|b| Ok(Frame::data(b))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, Kind::Full(_)) && self.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Full(_) => SizeHint::with_exact(self.len() as u64),
            Kind::Events(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for EndpointBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::Full(_) => "Full",
            Kind::Events(_) => "Events",
        };
        f.debug_tuple("EndpointBody").field(&name).finish()
    }
}
