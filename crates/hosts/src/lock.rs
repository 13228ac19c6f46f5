//! File locks among the programs that use this crate.
//!
//! Hosts do not take these locks. Their concurrent changes are detected when a file is replaced.

use std::{
    fs::{File, OpenOptions},
    path::Path,
    thread,
    time::Duration,
};

use fs4::{FileExt, TryLockError};

use crate::{Env, Error, ErrorKind, backup, change::private};

/// The number of attempts to take a lock, and the pause between them: 30 s in all, where a change takes milliseconds.
const ATTEMPTS: u32 = 3_000;
const PAUSE: Duration = Duration::from_millis(10);

/// An exclusive lock on a file, released on drop or when the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    /// `None` if the state folder cannot be written to: then only the comparison before the rename protects the file.
    _file: Option<File>,
}

impl Lock {
    /// Waits for the lock of a file. The lock file is in the state folder, since a host may watch its own folder.
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
                // The file system does not support locks.
                Err(TryLockError::Error(_)) => return Ok(Self { _file: None }),
            }
        }
        let what = format!("`{}` is locked by another process", path.display());
        Err(Error::new(ErrorKind::Conflict, what)
            .with_hint("nothing was written; end the other `couplet`, then try again"))
    }
}
