//! The bytes of all answers that were made and are not sent yet.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;

/// How many bytes wait to be sent, over all responses of an endpoint.
#[derive(Debug, Default)]
pub(crate) struct InFlight(AtomicUsize);

impl InFlight {
    /// What is smaller is not counted when it is on its way: a connection has one of them at a time.
    const LEAST: usize = 16 << 10;

    /// Whether bytes are so many that they are counted.
    pub(crate) fn counts(bytes: &Bytes) -> bool {
        bytes.len() >= Self::LEAST
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, bytes: usize) {
        self.0.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The same bytes, which count for as long as anything holds them: also when they left the body of a response and
    /// wait in the buffers of the HTTP implementation.
    pub(crate) fn hold(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        if !Self::counts(&bytes) {
            return bytes;
        }
        self.add(bytes.len());
        Bytes::from_owner(Counted { bytes, all: self.clone() })
    }
}

struct Counted {
    bytes: Bytes,
    all: Arc<InFlight>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.all.remove(self.bytes.len());
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Counted").field(&self.bytes.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::server::stream::unsent::*;

    #[test]
    fn large_bytes_count_until_the_last_part_is_dropped() {
        let all: Arc<InFlight> = Arc::default();
        let small = all.hold(Bytes::from_static(b"small"));
        assert_eq!((all.bytes(), &*small), (0, &b"small"[..]));
        let large = all.hold(vec![b'x'; 100_000].into());
        let part = large.slice(99_990..);
        drop(large);
        assert_eq!((all.bytes(), part.len()), (100_000, 10));
        drop(part);
        assert_eq!(all.bytes(), 0);
    }
}
