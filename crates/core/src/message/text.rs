//! Encoded messages.

use bytes::{Bytes, BytesMut};

/// A serialized message. A large result is a piece of its own and not copied: a list is serialized once and sent many
/// times.
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
    /// The size from which a result is a piece of its own.
    pub(crate) const LARGE: usize = 4 << 10;

    pub(crate) fn new(head: Bytes, body: Bytes, tail: Bytes) -> Self {
        Self { head, body, tail }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.tail.len()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the pieces in their order. The last ones may be empty.
    pub fn into_pieces(self) -> [Bytes; 3] {
        [self.head, self.body, self.tail]
    }

    /// Returns the message in one piece.
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
