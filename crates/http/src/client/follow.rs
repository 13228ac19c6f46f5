//! Streams of events, and taking one up again where it broke.

use std::time::Duration;

use couplet_core::{
    Error, ErrorKind,
    http::sse::{Event, Parser},
};
use http::HeaderValue;

use super::fetch::Body;

/// The events of a body.
#[derive(Debug)]
pub(crate) struct Events {
    body: Body,
    parser: Parser,
    limit: usize,
}

impl Events {
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self { body, parser: Parser::new(limit), limit }
    }

    /// The next event; `None` at the end.
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

/// How far a stream was read, and how long to wait before it is taken up again.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The last event.
    pub(crate) id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// How many connections in a row brought nothing.
    pub(crate) fruitless: u32,
}

impl Place {
    /// How many connections in a row may bring nothing.
    pub(crate) const PATIENCE: u32 = 8;
    const FIRST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(30);

    /// Remembers what an event says about the stream.
    pub(crate) fn note(&mut self, event: &Event) {
        self.fruitless = 0;
        if let Some(id) = &event.id {
            self.id = Some(id).filter(|id| !id.is_empty()).and_then(|id| id.parse().ok());
        }
        self.retry = event.retry.map(Duration::from_millis).or(self.retry);
    }

    /// How long to wait: what the server says, and longer each time that nothing comes.
    pub(crate) fn delay(&self) -> Duration {
        let first = self.retry.unwrap_or(Self::FIRST);
        let grown = first.saturating_mul(1 << self.fruitless.min(10));
        grown.min(Self::LONGEST).max(first)
    }
}
