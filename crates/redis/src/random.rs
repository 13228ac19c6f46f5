//! Random numbers, for tokens.

use couplet_core::{Error, ErrorKind};

/// A number that no other process has.
pub(crate) fn number() -> Result<u64, Error> {
    getrandom::u64().map_err(|_| Error::new(ErrorKind::Other, "the system has no source of randomness"))
}
