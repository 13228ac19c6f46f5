//! Logins in a file that only its owner can read.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use couplet_core::{BoxFuture, Error, ErrorKind};
use fs4::{FileExt, TryLockError};
use zeroize::Zeroizing;

use super::{Store, StoreLock};
use crate::Secret;

/// Keeps logins in a file, which is made with the permissions `0600` and not used with any more than these.
///
/// It is written anew and put in the place of the old one, so a crash leaves one or the other. Several processes can
/// use it: files with the endings `.lock` and `.refresh.lock` beside it are locked while one of them changes something,
/// or refreshes a token.
#[derive(Clone, Debug)]
pub struct FileStore {
    path: Arc<PathBuf>,
    turn: Arc<Mutex<()>>,
}

type Kept = BTreeMap<String, String>;

impl FileStore {
    /// More than this is not a file of ours.
    const LIMIT: u64 = 16 << 20;
    /// How long others may take to change the file, and to refresh a token.
    const CHANGE: Duration = Duration::from_secs(10);
    const REFRESH: Duration = Duration::from_secs(30);

    /// Uses a file, which need not be there yet; its folder has to be.
    ///
    /// # Errors
    /// When it is there and others can read it, or it is not a file of this kind.
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
                let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
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
        // Not in turn with the other work: it goes on while the lock is held.
        let path = self.path.clone();
        Box::pin(async move {
            let wait = move || locked(&path, ".refresh.lock", Self::REFRESH);
            let held = tokio::task::spawn_blocking(wait).await;
            held.unwrap_or_else(|_| Err(Error::new(ErrorKind::Config, "the runtime has ended"))).map(StoreLock::new)
        })
    }
}

/// Locks a file beside this one. A file system that has no locks does not keep anyone from working.
fn locked(path: &Path, ending: &str, patience: Duration) -> Result<Option<File>, Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let Ok(file) = options.open(path.with_file_name(name)) else { return Ok(None) };
    let end = Instant::now() + patience;
    loop {
        match FileExt::try_lock(&file) {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if Instant::now() < end => std::thread::sleep(Duration::from_millis(10)),
            Err(TryLockError::WouldBlock) => return Err(wrong(path, "is locked by another program; try again later")),
            Err(error) => {
                tracing::debug!(%error, "a file cannot be locked");
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
    // The file that is open is looked at, not the one that has its name a moment later.
    let about = file.metadata().map_err(|e| wrong(path, "cannot be read").with_source(e))?;
    if !about.is_file() || about.len() > FileStore::LIMIT {
        return Err(wrong(path, "is not a file of logins"));
    }
    if !is_private(&about) {
        return Err(wrong(path, "can be read by others; `chmod 600` keeps them out"));
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(|e| wrong(path, "cannot be read").with_source(e))?;
    // What the parser says may quote what it read.
    serde_json::from_str(&text).map_err(|_| wrong(path, "is not a file of logins"))
}

fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(name);
    // What a crash left there, or what somebody put there to be written into.
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

/// Elsewhere the folder decides, and a profile's folder is private.
#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("`{}` {what}", path.display()))
}
