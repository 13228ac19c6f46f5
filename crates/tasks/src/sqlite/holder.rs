//! The process that has a database file open.

use std::path::Path;

use crate::store::StoreError;

/// The error for a file that is in use.
pub(super) fn taken(path: &Path) -> StoreError {
    let who = match holder(path) {
        Some(pid) if pid == std::process::id() => "this process".to_owned(),
        Some(pid) => format!("another process (pid {pid})"),
        None => "another process".to_owned(),
    };
    StoreError::new(format!("{who} has `{}` open; use a separate file for each process", path.display()))
}

/// The process that holds a lock on a file.
#[cfg(target_os = "linux")]
fn holder(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    let inode = std::fs::metadata(path).ok()?.ino().to_string();
    // A line is: number, kind, mode, access, process, device:device:inode, begin, end.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(4);
        let (pid, file) = (words.next()?, words.next()?);
        (file.rsplit(':').next() == Some(&*inode)).then(|| pid.parse().ok()).flatten()
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &Path) -> Option<u32> {
    None
}
