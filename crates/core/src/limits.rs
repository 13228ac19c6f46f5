//! What one connection may cost.

use crate::message::scan::Bounds;

/// The limits of one connection. Each has a default that is safe without configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size of one message that is received, in bytes: 16 MiB.
    pub message: usize,
    /// The size of one message that is sent, in bytes; `None` is the same as of one that is received. An answer that is
    /// larger becomes an error, and a request that is larger fails before it is sent.
    pub sent: Option<usize>,
    /// The nesting and the number of values of one message.
    pub bounds: Bounds,
    /// How many requests run at the same time: 64.
    pub running: usize,
    /// How many more may wait for their turn: 16,384. Further ones are refused, because a cancellation behind them
    /// must still be read.
    pub waiting: usize,
    /// How many bytes those that wait may have: 16 MiB.
    pub waiting_bytes: usize,
    /// How many messages may wait to be sent: 256. After that notifications wait and no input is read; answers to
    /// what was already read still find room.
    pub queue: usize,
    /// How many questions to the client may be open: 256.
    pub questions: usize,
    /// How many subscriptions may be open: 16.
    pub subscriptions: usize,
    /// How many resources one subscription may name: 1,000.
    pub uris: usize,
}

impl Limits {
    /// Sets the size of one message in bytes, in both directions.
    ///
    /// ```
    /// use couplet_core::Limits;
    ///
    /// let limits = Limits::default().max_message(64 << 20);
    /// assert_eq!((limits.message, limits.max_sent()), (64 << 20, 64 << 20));
    /// ```
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        (self.message, self.sent) = (bytes, None);
        // One that has to wait must still find room.
        self.waiting_bytes = self.waiting_bytes.max(bytes);
        self
    }

    /// The size that a message may have which is sent.
    pub fn max_sent(&self) -> usize {
        self.sent.unwrap_or(self.message)
    }
}

/// Says that something is too large, in numbers.
pub(crate) fn too_large(what: &str, length: usize, most: usize) -> String {
    format!("{what} has {} bytes; a message may have {}", grouped(length), grouped(most))
}

/// A number that is easy to read.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 16 << 20,
            sent: None,
            bounds: Bounds::default(),
            running: 64,
            waiting: 16_384,
            waiting_bytes: 16 << 20,
            queue: 256,
            questions: 256,
            subscriptions: 16,
            uris: 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_easy_to_read() {
        assert_eq!(too_large("it", 17_825_792, 16 << 20), "it has 17,825,792 bytes; a message may have 16,777,216");
        assert_eq!(too_large("it", 1000, 12), "it has 1,000 bytes; a message may have 12");
    }
}
