//! A database, and its limits.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use couplet::{Error, ErrorKind};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Notify, Semaphore};

use crate::sample;

/// The maximum number of concurrent statements.
const RUNNING: usize = 4;

/// The limits of a statement.
///
/// ```
/// use couplet_sqlite::Limits;
///
/// let mut limits = Limits::default();
/// limits.rows = 10;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of rows of a query (default: 100). Clients may request fewer.
    pub rows: usize,
    /// Maximum size of all values in bytes (default: 256 KiB).
    pub bytes: usize,
    /// Maximum size of one value in bytes (default: 4 KiB). Longer values are truncated.
    pub value: usize,
    /// Timeout of a statement (default: 5 seconds).
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rows: 100, bytes: 256 << 10, value: 4 << 10, time: Duration::from_secs(5) }
    }
}

/// A database to explore.
///
/// ```no_run
/// use couplet_sqlite::Database;
///
/// # fn main() -> couplet::Result<()> {
/// let read_only = Database::open("company.db")?;
/// let changeable = Database::open("notes.db")?.writable();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Database {
    place: PathBuf,
    write: bool,
    pub(crate) limits: Limits,
    pub(crate) room: Arc<Semaphore>,
    /// Notified after a write by this server.
    pub(crate) changed: Notify,
    /// The connection that keeps an in-memory database alive.
    kept: Option<Mutex<Connection>>,
}

impl Database {
    /// Opens an existing file, read-only.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let database = Self::at(path.to_owned(), None);
        let look =
            database.connect(false).and_then(|c| c.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())));
        look.map_err(|e| refused(path, e))?;
        Ok(database)
    }

    /// Creates a sample database about the solar system, in memory. Each call creates a new one.
    ///
    /// # Errors
    /// If SQLite fails to create it.
    pub fn sample() -> Result<Self, Error> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let place = format!("file:/couplet-sample-{}?vfs=memdb", LAST.fetch_add(1, Ordering::Relaxed));
        let made = Connection::open(&place).and_then(|mut c| sample::fill(&mut c).map(|()| c));
        let kept = made.map_err(|e| refused(Path::new("the sample"), e))?;
        Ok(Self::at(place.into(), Some(Mutex::new(kept))))
    }

    /// Opens the sample database in a directory, as the file `sample.db`, which is created if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be created or read.
    pub fn sample_in(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let path = folder.join("sample.db");
        std::fs::create_dir_all(folder).map_err(|e| {
            Error::new(ErrorKind::Config, format!("cannot create `{}`", folder.display())).with_source(e)
        })?;
        Connection::open(&path).and_then(|mut c| sample::fill(&mut c)).map_err(|e| refused(&path, e))?;
        Self::open(path)
    }

    /// Allows writes, with the tool `execute`.
    #[must_use]
    pub fn writable(mut self) -> Self {
        self.write = true;
        self
    }

    /// Sets the limits of a statement.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.write
    }

    /// Opens a connection without restrictions; see `guard`.
    pub(crate) fn connect(&self, write: bool) -> rusqlite::Result<Connection> {
        // An in-memory database cannot be opened read-only.
        let access = if write || self.kept.is_some() {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        };
        let connection = Connection::open_with_flags(&self.place, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(self.limits.time)?;
        Ok(connection)
    }

    fn at(place: PathBuf, kept: Option<Mutex<Connection>>) -> Self {
        let room = Arc::new(Semaphore::new(RUNNING));
        Self { place, write: false, limits: Limits::default(), room, changed: Notify::new(), kept }
    }
}

fn refused(path: &Path, error: rusqlite::Error) -> Error {
    Error::new(ErrorKind::Config, format!("cannot use `{}` as a database: {error}", path.display())).with_source(error)
}
