//! Logins in a private file.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use couplet_core::{BoxFuture, Error, ErrorKind, sync::lock};
use fs4::{FileExt, TryLockError};
use zeroize::Zeroizing;

use super::{Store, StoreLock};
use crate::Secret;

/// A [`Store`] in a JSON file, created with mode `0600`. A file that others can read is rejected.
///
/// Writes are atomic: a crash leaves the old or the new content. Several processes can share the file; they lock the
/// files `<name>.lock` while they write and `<name>.refresh.lock` while they refresh a token.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: Arc<PathBuf>,
    turn: Arc<Mutex<()>>,
}

type Kept = BTreeMap<String, String>;

impl FileStore {
    /// The maximum size of the file.
    const LIMIT: u64 = 16 << 20;
    /// Timeouts of the locks for writing and for refreshing a token.
    const CHANGE: Duration = Duration::from_secs(10);
    const REFRESH: Duration = Duration::from_secs(30);

    /// Opens a file. It need not exist yet; its directory must.
    ///
    /// # Errors
    /// Fails if the file is readable by others, or is not a file of this kind.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        read(&path)?;
        Ok(Self { path: Arc::new(path), turn: Arc::default() })
    }

    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, Error> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, Error>> {
        let Self { path, turn } = self.clone();
        Box::pin(async move {
            let work = move || {
                let _turn = lock(&turn);
                work(&path)
            };
            let done = tokio::task::spawn_blocking(work).await;
            done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Config, "the runtime has ended")))
        })
    }
}

impl Store for FileStore {
    fn load(&self, key: &str) -> BoxFuture<'_, Result<Option<Secret>, Error>> {
        let key = key.to_owned();
        self.blocking(move |path| Ok(read(path)?.remove(&key).map(Secret::new)))
    }

    fn save(&self, key: &str, value: Option<Secret>) -> BoxFuture<'_, Result<(), Error>> {
        let key = key.to_owned();
        self.blocking(move |path| {
            let _turn = locked(path, ".lock", Self::CHANGE)?;
            let mut kept = read(path)?;
            match value {
                Some(value) => kept.insert(key, value.reveal().to_owned()),
                None => kept.remove(&key),
            };
            let text = Zeroizing::new(serde_json::to_string(&kept).unwrap_or_default());
            replace(path, text.as_bytes()).map_err(|e| wrong(path, "cannot be written").with_source(e))
        })
    }

    fn lock(&self, _: &str) -> BoxFuture<'_, Result<StoreLock, Error>> {
        // Not behind the mutex: reads and writes continue while this lock is held.
        let path = self.path.clone();
        Box::pin(async move {
            let wait = move || locked(&path, ".refresh.lock", Self::REFRESH);
            let held = tokio::task::spawn_blocking(wait).await;
            held.unwrap_or_else(|_| Err(Error::new(ErrorKind::Config, "the runtime has ended"))).map(StoreLock::new)
        })
    }
}

/// Locks a file next to this one. Where the file system has no locks, it works without.
fn locked(path: &Path, ending: &str, wait: Duration) -> Result<Option<File>, Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let Ok(file) = options.open(path.with_file_name(name)) else { return Ok(None) };
    let end = Instant::now() + wait;
    loop {
        match FileExt::try_lock(&file) {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => return Err(wrong(path, "is locked by another program; retry later")),
            Err(error) => {
                tracing::debug!(%error, "the file cannot be locked");
                return Ok(None);
            }
        }
    }
}

fn read(path: &Path) -> Result<Kept, Error> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Kept::new()),
        Err(error) => return Err(wrong(path, "cannot be read").with_source(error)),
    };
    // Metadata of the open file, not of one that may replace it meanwhile.
    let about = file.metadata().map_err(|e| wrong(path, "cannot be read").with_source(e))?;
    if !about.is_file() || about.len() > FileStore::LIMIT {
        return Err(wrong(path, "is not a file of logins"));
    }
    if !is_private(&about) {
        return Err(wrong(path, "can be read by others; run `chmod 600` on it"));
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(|e| wrong(path, "cannot be read").with_source(e))?;
    // The parser's error may quote a secret.
    serde_json::from_str(&text).map_err(|_| wrong(path, "is not a file of logins"))
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    // The leftover of a crash, or a file planted by another user.
    let _ = fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(text).and_then(|()| file.sync_all()).and_then(|()| fs::rename(&beside, path)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(unix)]
fn is_private(about: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 == 0
}

/// Elsewhere the directory decides, and a profile's directory is private.
#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("`{}` {what}", path.display()))
}
