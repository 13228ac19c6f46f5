//! Reuse of large buffers: fresh memory from the system is slow, because it is cleared page by page as it is written to.
//!
//! Each thread keeps a few. It knows nothing about what is in them.

use std::cell::RefCell;

use bytes::{Bytes, BytesMut};

/// The size from which a buffer is reused.
const LARGE: usize = 32 << 10;
/// The bytes that each thread caches.
const KEPT: usize = 4 << 20;
/// A buffer has at most so many times the room that is needed.
pub(crate) const SPACIOUS: usize = 4;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Returns an empty buffer of about this capacity.
pub(crate) fn buffer(room: usize) -> Vec<u8> {
    let kept = if room < LARGE { None } else { take(|spare| spare.iter().position(|spare| fits(spare, room))) };
    kept.unwrap_or_else(|| Vec::with_capacity(room))
}

/// Freezes a buffer; it is reused once its last reference is dropped.
pub(crate) fn bytes(buffer: Vec<u8>) -> Bytes {
    if buffer.capacity() < LARGE { buffer.into() } else { Bytes::from_owner(Full(buffer)) }
}

/// Returns an empty buffer of about this capacity, for bytes from a peer. Large ones are reused: see [`freeze`].
///
/// ```
/// use couplet_core::message::buffers;
///
/// let mut body = buffers::with_room(1 << 20);
/// body.extend_from_slice(&[b'x'; 1 << 20]);
/// assert_eq!(buffers::freeze(body).len(), 1 << 20);
/// ```
pub fn with_room(room: usize) -> BytesMut {
    Bytes::from(buffer(room)).into()
}

/// Makes room for at least so many bytes more in a buffer that may have to grow further. A large one continues in the
/// largest that is kept.
pub fn grow(buffer: &mut BytesMut, room: usize) {
    let (length, wanted) = (buffer.len(), buffer.len() + room);
    if length < LARGE || buffer.try_reclaim(room) {
        return buffer.reserve(room);
    }
    let largest = take(|spare| {
        let (at, largest) = spare.iter().enumerate().max_by_key(|(_, spare)| spare.capacity())?;
        (largest.capacity() >= wanted).then_some(at)
    });
    match largest {
        Some(mut larger) => {
            larger.extend_from_slice(buffer);
            *buffer = Bytes::from(larger).into();
        }
        None => buffer.reserve(room),
    }
}

/// Freezes a buffer. If it is large, it is reused once the last reference to it is dropped.
pub fn freeze(buffer: BytesMut) -> Bytes {
    if buffer.capacity() < LARGE { buffer.freeze() } else { Bytes::from_owner(Grown(buffer)) }
}

/// Whether a buffer is not too large for what it is to hold: as long as that is referenced, it is not reused.
pub(crate) fn fits(buffer: &Vec<u8>, room: usize) -> bool {
    (room..=SPACIOUS * room).contains(&buffer.capacity())
}

/// Takes one of the buffers that are kept.
fn take(choose: impl FnOnce(&[Vec<u8>]) -> Option<usize>) -> Option<Vec<u8>> {
    let taken = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        choose(&spare).map(|at| spare.swap_remove(at))
    });
    // At the end of a thread there are none any more.
    taken.ok().flatten()
}

/// Keeps a buffer, if there is room for it.
fn keep(mut buffer: Vec<u8>) {
    buffer.clear();
    // At the end of a thread there is no place for it any more.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        let kept: usize = spare.iter().map(Vec::capacity).sum();
        if buffer.capacity() >= LARGE && kept + buffer.capacity() <= KEPT {
            spare.push(buffer);
        }
    });
}

struct Full(Vec<u8>);

impl AsRef<[u8]> for Full {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        keep(std::mem::take(&mut self.0));
    }
}

struct Grown(BytesMut);

impl AsRef<[u8]> for Grown {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.0);
        // Nothing is copied then, and if another part of the buffer is referenced, there is nothing to keep.
        buffer.clear();
        keep(buffer.into());
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
    #[test]
    fn a_buffer_that_grew_comes_back_and_the_next_one_grows_into_it() {
        let mut first = BytesMut::new();
        for _ in 0..16 {
            grow(&mut first, LARGE);
            first.extend_from_slice(&[b'x'; LARGE]);
        }
        let (capacity, text) = (first.capacity(), freeze(first));
        drop(text.slice(..10));
        assert!(SPARE.with_borrow(Vec::is_empty), "it is still referenced");
        drop(text);
        assert_eq!(SPARE.with_borrow(|spare| spare.iter().map(Vec::capacity).collect::<Vec<_>>()), [capacity]);
        let mut next = BytesMut::from("small");
        grow(&mut next, LARGE);
        assert!(next.capacity() < capacity, "what is small does not use what is large");
        next.extend_from_slice(&[b'y'; LARGE]);
        grow(&mut next, LARGE);
        assert_eq!((next.capacity(), next.len(), &next[..6]), (capacity, LARGE + 5, &b"smally"[..]));
        assert!(SPARE.with_borrow(Vec::is_empty), "it is used again");
        // What was split off is not kept: the other part is still used.
        let rest = next.split_off(10);
        drop(freeze(next));
        assert!(SPARE.with_borrow(Vec::is_empty) && rest.len() == LARGE - 5);
    }

    #[test]
    fn a_buffer_of_known_size_comes_back() {
        let mut body = with_room(1 << 20);
        body.extend_from_slice(b"text");
        let place = body.as_ptr();
        drop(freeze(body));
        assert_eq!((with_room(1 << 20).as_ptr(), with_room(100).len()), (place, 0));
    }
}
