//! One writer of a file at a time, among the programs that use this crate.
//!
//! Hosts do not know of these locks. What they write meanwhile is noticed when a file is replaced.

use std::{
    fs::{File, OpenOptions},
    path::Path,
    thread,
    time::Duration,
};

use fs4::{FileExt, TryLockError};

use crate::{Env, Error, ErrorKind, backup, change::private};

/// How often a lock is tried, and the pause between: half a minute in all, where a change takes milliseconds.
const ATTEMPTS: u32 = 3_000;
const PAUSE: Duration = Duration::from_millis(10);

/// The right to write a file, until it is dropped. A process that ends gives up its locks, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    /// `None` where the state folder cannot be written: then only comparing protects the file.
    _file: Option<File>,
}

impl Lock {
    /// Waits for the lock of a file. It stands in the state folder, since a host may watch its own.
    pub(crate) fn take(env: &Env, path: &Path) -> Result<Self, Error> {
        let Ok(lock) = backup::lock_of(env, path) else { return Ok(Self { _file: None }) };
        let mut options = OpenOptions::new();
        let Ok(file) = private(options.write(true).create(true).truncate(false)).open(lock) else {
            return Ok(Self { _file: None });
        };
        for _ in 0..ATTEMPTS {
            match FileExt::try_lock(&file) {
                Ok(()) => return Ok(Self { _file: Some(file) }),
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
                // A file system without locks.
                Err(TryLockError::Error(_)) => return Ok(Self { _file: None }),
            }
        }
        let what = format!("`{}` is locked by another process", path.display());
        Err(Error::new(ErrorKind::Conflict, what)
            .with_hint("nothing was written; end the other `couplet`, then try again"))
    }
}
