//! Reuse of large buffers: fresh memory from the system is slow.

use std::cell::RefCell;

use bytes::Bytes;

/// The size from which a buffer is reused.
const LARGE: usize = 32 << 10;
/// The bytes that each thread caches.
const KEPT: usize = 4 << 20;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty buffer of about this capacity.
pub(crate) fn buffer(room: usize) -> Vec<u8> {
    let fits = |spare: &Vec<u8>| (room..=4 * room).contains(&spare.capacity());
    let found = (room >= LARGE).then(|| {
        SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            spare.iter().position(fits).map(|at| spare.swap_remove(at))
        })
    });
    found.and_then(|kept| kept.ok().flatten()).unwrap_or_else(|| Vec::with_capacity(room))
}

/// Freezes a buffer; it is reused once its last reference is dropped.
pub(crate) fn bytes(buffer: Vec<u8>) -> Bytes {
    if buffer.capacity() < LARGE { buffer.into() } else { Bytes::from_owner(Full(buffer)) }
}

struct Full(Vec<u8>);

impl AsRef<[u8]> for Full {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.0);
        buffer.clear();
        // At the end of a thread there is no place for it any more.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            let kept: usize = spare.iter().map(Vec::capacity).sum();
            if kept + buffer.capacity() <= KEPT {
                spare.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::message::buffers::*;

    #[test]
    fn a_large_buffer_comes_back_and_a_small_one_does_not() {
        for (size, again) in [(100 << 10, true), (100, false), (KEPT + 1, false)] {
            let text = bytes(buffer(size));
            drop(text.clone());
            assert!(SPARE.with_borrow(Vec::is_empty), "it is still referenced");
            drop(text);
            assert_eq!(SPARE.with_borrow(Vec::len), usize::from(again), "{size}");
            assert!(buffer(size).capacity() >= size);
            assert!(SPARE.with_borrow(Vec::is_empty), "it is used again");
        }
    }

    #[test]
    fn what_is_kept_is_bounded_and_not_wasted_on_small_results() {
        let many: Vec<_> = (0..10).map(|_| bytes(Vec::with_capacity(1 << 20))).collect();
        drop(many);
        assert_eq!(SPARE.with_borrow(Vec::len), KEPT >> 20);
        assert!(buffer(LARGE).capacity() < 1 << 20);
    }
}
