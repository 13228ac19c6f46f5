//! A database, and how far it may be used.

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

/// How many statements run at the same time.
const RUNNING: usize = 4;

/// What one statement may cost.
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
    /// How many rows a query gives: 100. Clients may ask for fewer.
    pub rows: usize,
    /// How many bytes all values together have: 256 KiB.
    pub bytes: usize,
    /// How many bytes one value has: 4 KiB. Longer ones are cut.
    pub value: usize,
    /// How long a statement may take: 5 seconds.
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
    /// Told when something was changed from here.
    pub(crate) changed: Notify,
    /// A database in memory is there for as long as it is open.
    kept: Option<Mutex<Connection>>,
}

impl Database {
    /// A file that exists.
    ///
    /// # Errors
    /// When it cannot be read, or is no database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let database = Self::at(path.to_owned(), None);
        let look =
            database.connect(false).and_then(|c| c.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())));
        look.map_err(|e| refused(path, e))?;
        Ok(database)
    }

    /// A small database about the solar system, in memory: each call makes another one.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn sample() -> Result<Self, Error> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let place = format!("file:/couplet-sample-{}?vfs=memdb", LAST.fetch_add(1, Ordering::Relaxed));
        let made = Connection::open(&place).and_then(|mut c| sample::fill(&mut c).map(|()| c));
        let kept = made.map_err(|e| refused(Path::new("the sample"), e))?;
        Ok(Self::at(place.into(), Some(Mutex::new(kept))))
    }

    /// The same in a folder, as the file `sample.db`, which is made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made, or not be read.
    pub fn sample_in(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        let path = folder.join("sample.db");
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::new(ErrorKind::Config, format!("cannot make `{}`", folder.display())).with_source(e))?;
        Connection::open(&path).and_then(|mut c| sample::fill(&mut c)).map_err(|e| refused(&path, e))?;
        Self::open(path)
    }

    /// It may be changed, with the tool `execute`.
    #[must_use]
    pub fn writable(mut self) -> Self {
        self.write = true;
        self
    }

    /// What one statement may cost.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.write
    }

    /// A new connection, to which nothing is forbidden yet.
    pub(crate) fn connect(&self, write: bool) -> rusqlite::Result<Connection> {
        // What is in memory knows no file that could be opened for reading only.
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
