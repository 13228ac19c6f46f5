//! Large answers over HTTP/2, in small pieces.
//!
//! A client can hold up one stream of a connection and keep the connection alive, so a write never fails. What the HTTP
//! implementation has taken cannot be taken back: so it gets copies of small pieces, one when there is room for it, and
//! the rest is let go if nothing is asked for any more.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};

use crate::server::{
    lock,
    stream::open_streams::{Held, Ticket},
};

/// The size of a piece: that of the largest frame unless a client wants larger ones.
const PIECE: usize = 16 << 10;

/// What waits to be sent; nothing once it was let go.
pub(crate) struct Waiting(Mutex<Option<VecDeque<Bytes>>>);

impl Waiting {
    pub(crate) fn new(all: impl IntoIterator<Item = Bytes>) -> Self {
        Self(Mutex::new(Some(all.into_iter().filter(|bytes| !bytes.is_empty()).collect())))
    }

    fn len(&self) -> usize {
        lock(&self.0).iter().flatten().map(Bytes::len).sum()
    }

    /// The next piece.
    fn next(&self) -> Option<Bytes> {
        let mut all = lock(&self.0);
        let waiting = all.as_mut()?;
        let first = waiting.front_mut()?;
        if first.len() <= PIECE {
            return waiting.pop_front();
        }
        let piece = Bytes::copy_from_slice(&first[..PIECE]);
        first.advance(PIECE);
        Some(piece)
    }

    /// Adds something; false if it was let go.
    fn put(&self, bytes: Bytes) -> bool {
        lock(&self.0).as_mut().map(|waiting| waiting.push_back(bytes)).is_some()
    }
}

impl Held for Waiting {
    fn let_go(&self) {
        *lock(&self.0) = None;
    }
}

/// The reading end of what waits.
pub(crate) struct Chunks {
    waiting: Arc<Waiting>,
    ticket: Arc<Ticket>,
}

impl Chunks {
    pub(crate) fn new(waiting: Arc<Waiting>, ticket: Arc<Ticket>) -> Self {
        Self { waiting, ticket }
    }

    /// How much is left.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next piece; `more` gives what comes when nothing waits.
    pub(crate) fn poll(
        &self,
        cx: &mut Context<'_>,
        more: impl FnOnce(&mut Context<'_>) -> Poll<Option<Bytes>>,
    ) -> Poll<Option<Bytes>> {
        self.ticket.touch(cx);
        if let Some(piece) = self.waiting.next() {
            return Poll::Ready(Some(piece));
        }
        more(cx).map(|next| next.filter(|bytes| self.waiting.put(bytes.clone())).and_then(|_| self.waiting.next()))
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiting").field(&self.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::stream::chunks::*;

    #[test]
    fn what_is_large_comes_in_pieces_until_it_is_let_go() {
        let large: Bytes = (0..50_000).map(|n| u8::try_from(n % 251).expect("it is small")).collect::<Vec<_>>().into();
        let waiting = Waiting::new([Bytes::from_static(b"small"), Bytes::new(), large.clone()]);
        assert_eq!(waiting.len(), 50_005);
        let all: Vec<Bytes> = std::iter::from_fn(|| waiting.next()).collect();
        assert_eq!(all.iter().map(Bytes::len).collect::<Vec<_>>(), [5, PIECE, PIECE, PIECE, 50_000 - 3 * PIECE]);
        assert_eq!(all[1..].concat(), large);
        assert!(waiting.put(large.clone()));
        waiting.let_go();
        assert!(!waiting.put(large) && waiting.next().is_none() && waiting.len() == 0);
    }
}
