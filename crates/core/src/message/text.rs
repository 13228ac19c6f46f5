//! A message on its way out.

use bytes::{Bytes, BytesMut};

/// A message, printed. A large result is a piece of its own, so that it is not copied: a list is printed once and sent
/// many times.
///
/// ```
/// use couplet_core::EncodedMessage;
///
/// let text = EncodedMessage::from(bytes::Bytes::from_static(b"{}"));
/// assert_eq!(text.len(), 2);
/// assert_eq!(text.into_bytes(), "{}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct EncodedMessage {
    head: Bytes,
    body: Bytes,
    tail: Bytes,
}

impl EncodedMessage {
    /// From here on a result is worth a piece of its own.
    pub(crate) const LARGE: usize = 4 << 10;

    pub(crate) fn new(head: Bytes, body: Bytes, tail: Bytes) -> Self {
        Self { head, body, tail }
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.tail.len()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pieces in their order. Those at the end may be empty.
    pub fn into_pieces(self) -> [Bytes; 3] {
        [self.head, self.body, self.tail]
    }

    /// The whole message in one piece.
    pub fn into_bytes(self) -> Bytes {
        if self.body.is_empty() && self.tail.is_empty() {
            return self.head;
        }
        let mut whole = BytesMut::with_capacity(self.len());
        for piece in self.into_pieces() {
            whole.extend_from_slice(&piece);
        }
        whole.freeze()
    }
}

impl From<Bytes> for EncodedMessage {
    fn from(head: Bytes) -> Self {
        Self { head, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use crate::message::text::*;

    #[test]
    fn pieces_make_a_whole() {
        let text = EncodedMessage::new("[".into(), "1,2".into(), "]".into());
        assert_eq!(text.len(), 5);
        assert_eq!(text.clone().into_pieces().concat(), b"[1,2]");
        assert_eq!(text.into_bytes(), "[1,2]");
    }
}
