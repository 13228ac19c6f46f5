//! What one connection may cost.

use crate::json::Bounds;

/// The limits of one connection. Each has a default that is safe without configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size of one message in bytes: 16 MiB.
    pub message: usize,
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

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 16 << 20,
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
