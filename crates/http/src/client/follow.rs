//! Streams of events, and their resumption after they broke.

use std::time::Duration;

use couplet_core::{
    Error, ErrorKind,
    http::sse::{Event, Parser},
};
use http::HeaderValue;
use tokio::time::Instant;

use super::{
    busy::{jitter, pause},
    fetch::Body,
};

/// The events of a body.
#[derive(Debug)]
pub(crate) struct Events {
    body: Body,
    parser: Parser,
    limit: usize,
    opened: Instant,
}

impl Events {
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self { body, parser: Parser::new(limit), limit, opened: Instant::now() }
    }

    /// Waits for the next event; `None` at the end.
    ///
    /// An error of kind `Transport` means that the stream broke off; any other, that it makes no sense to go on.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            let event = self.parser.next().map_err(|_| {
                let what = format!("an event of the server is longer than {} bytes", self.limit);
                Error::new(ErrorKind::Protocol, what)
            })?;
            if event.is_some() {
                return Ok(event);
            }
            match self.body.next().await? {
                Some(piece) => self.parser.push(&piece),
                None => return Ok(None),
            }
        }
    }

    /// Reads what is left, so that the connection can be used again.
    pub(crate) async fn drain(mut self) {
        let mut read = 0;
        while let Ok(Some(piece)) = self.body.next().await {
            read += piece.len();
            if read > 64 << 10 {
                return;
            }
        }
    }
}

/// The position in a stream, and the delay before it is resumed.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The last event.
    pub(crate) id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// The `Retry-After` of a busy server.
    pub(crate) hold: Option<Duration>,
    /// The number of streams in a row that ended at once, or could not be opened.
    pub(crate) fruitless: u32,
}

impl Place {
    /// The number of streams in a row that may end at once.
    pub(crate) const MAX_FRUITLESS: u32 = 8;
    /// A stream that went on for this long was worth it, even if nothing came on it.
    const LASTED: Duration = Duration::from_secs(10);
    /// The shortest delay, whatever the server says.
    const FLOOR: Duration = Duration::from_millis(500);
    /// The longest delay that a server can ask for.
    const CEILING: Duration = Duration::from_secs(300);
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);

    /// Updates the position from an event.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Some(id) = &event.id {
            self.id = Some(id).filter(|id| !id.is_empty()).and_then(|id| id.parse().ok());
        }
        self.retry = event.retry.map(Duration::from_millis).or(self.retry);
        // A server that lets its clients poll, and says how often, may end streams at once.
        if event.is_message() || self.retry.is_some_and(|retry| retry >= Self::FLOOR) {
            self.fruitless = 0;
        }
    }

    /// Takes note of the end of a stream.
    pub(crate) fn ended(&mut self, events: &Events) {
        if events.opened.elapsed() >= Self::LASTED {
            self.fruitless = 0;
        }
    }

    /// Returns the delay: the server's `retry`, and an exponential backoff with jitter while nothing comes.
    pub(crate) fn delay(&mut self) -> Duration {
        let least = self.retry.unwrap_or_default().clamp(Self::FLOOR, Self::CEILING);
        let first = if self.retry.is_some() { least } else { Self::FIRST };
        let grown = first.saturating_mul(1 << self.fruitless.min(10)).min(Self::LONGEST).max(least);
        let hold = self.hold.take().map(|hold| pause(hold.min(Self::CEILING)));
        (least + jitter(grown - least)).max(hold.unwrap_or_default())
    }
}
