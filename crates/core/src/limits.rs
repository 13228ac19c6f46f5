//! The limits of one connection.

use crate::message::scan::Bounds;

/// Declares a struct of limits: public fields with defaults, and a chainable setter for each.
#[macro_export]
macro_rules! limits {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* $field:ident: $kind:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $kind,)*
        }

        impl $name {
            $(
                #[doc = concat!("Sets the limit [`", stringify!($field), "`](#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

limits! {
    /// The limits of one connection. The defaults are safe without configuration.
    ///
    /// ```
    /// use couplet_core::Limits;
    ///
    /// let limits = Limits::default().running(16).queue(64);
    /// assert_eq!((limits.running, limits.queue), (16, 64));
    /// ```
    pub struct Limits {
        /// The size of a received message in bytes (default: 16 MiB).
        message: usize = 16 << 20,
        /// The size of a sent message in bytes (default: `None`, the same as of a received one). A larger response
        /// becomes an error, and a larger request fails before it is sent.
        sent: Option<usize> = None,
        /// The nesting and the number of values of a message.
        bounds: Bounds = Bounds::default(),
        /// The number of requests that run concurrently (default: 64).
        running: usize = 64,
        /// The number of requests that wait to run (default: 16,384). Further ones are rejected, because a cancellation
        /// behind them must still be read.
        waiting: usize = 16_384,
        /// The bytes of the requests that wait to run (default: 16 MiB).
        waiting_bytes: usize = 16 << 20,
        /// The number of messages that wait to be sent (default: 256). Beyond it notifications wait and input is not
        /// read (backpressure); responses to requests that were read still find room.
        queue: usize = 256,
        /// The number of open requests to the client (default: 256).
        questions: usize = 256,
        /// The number of open subscriptions (default: 16).
        subscriptions: usize = 16,
        /// The number of resources of one subscription (default: 1,000).
        uris: usize = 1000,
    }
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
        // A request that waits to run must still fit.
        self.waiting_bytes = self.waiting_bytes.max(bytes);
        self
    }

    /// Returns the limit of a sent message.
    pub fn max_sent(&self) -> usize {
        self.sent.unwrap_or(self.message)
    }
}

/// The error text for a message above the limit.
pub(crate) fn too_large(what: &str, length: usize, most: usize) -> String {
    format!("{what} has {} bytes; a message may have {}", grouped(length), grouped(most))
}

/// Formats a number with thousands separators.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
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
