//! What the programs of the interop suite share: the server that every client of the suite knows.
//!
//! This crate knows the public API of `couplet`. It must not know the programs of other SDKs.

pub mod ledger;
pub mod tools;
mod waiting;

use std::fmt::Debug;

/// Compares what arrived with what the suite sends.
///
/// # Errors
/// Both, if they differ.
pub fn expect<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?}, not {expected:?}")) }
}
