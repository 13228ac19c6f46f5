//! Locks that are not poisoned by a panic elsewhere, for transports and other crates on this one.
//!
//! Wakers are woken after the lock is released: a waker may run code that locks again.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A holder that panicked left the data whole, because every critical section here is short and plain.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
