//! Watching files for changes, by their metadata.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// The interval at which files are looked at.
pub(crate) const INTERVAL: Duration = Duration::from_millis(500);

/// Files that are watched.
#[derive(Debug)]
pub(crate) struct Watch {
    files: Vec<(PathBuf, Option<Stamp>)>,
    /// What was seen last time, if it differs from what was reported.
    unsettled: Option<Vec<Option<Stamp>>>,
}

/// What tells two contents of a file apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    /// A file that is replaced by renaming is another one.
    file: u64,
}

impl Watch {
    pub(crate) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let files = paths.into_iter().map(|path| {
            let stamp = stamp(&path);
            (path, stamp)
        });
        Self { files: files.collect(), unsettled: None }
    }

    /// Looks at the files, and returns whether one has changed and was the same twice in a row: an editor may not be done
    /// writing.
    pub(crate) fn has_changed(&mut self) -> bool {
        let now: Vec<_> = self.files.iter().map(|(path, _)| stamp(path)).collect();
        if self.files.iter().map(|(_, seen)| seen).eq(&now) {
            self.unsettled = None;
            return false;
        }
        if self.unsettled.as_ref() != Some(&now) {
            self.unsettled = Some(now);
            return false;
        }
        self.unsettled = None;
        for ((_, seen), now) in self.files.iter_mut().zip(now) {
            *seen = now;
        }
        true
    }
}

fn stamp(path: &PathBuf) -> Option<Stamp> {
    let meta = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let file = 0;
    Some(Stamp { modified: meta.modified().ok(), length: meta.len(), file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_when_it_has_settled() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("a");
        fs::write(&path, "1").expect("it can be written");
        let mut watch = Watch::new([path.clone()]);
        assert!(!watch.has_changed());
        fs::write(&path, "12").expect("it can be written");
        assert!(!watch.has_changed(), "it may not be written to its end");
        fs::write(&path, "123").expect("it can be written");
        assert!(!watch.has_changed(), "it has changed again");
        assert!(watch.has_changed());
        assert!(!watch.has_changed());
        fs::remove_file(&path).expect("it is there");
        assert!(!watch.has_changed());
        assert!(watch.has_changed(), "a file that is gone has changed, too");
    }
}
