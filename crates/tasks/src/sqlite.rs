//! Tasks in an SQLite database, which survive a restart.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use couplet_core::BoxFuture;
use couplet_types::RpcError;
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::{
    clock,
    record::{Change, Finished, Record},
    store::{Store, StoreError},
};

/// A [`Store`] in an SQLite database. Tasks survive a restart.
///
/// Only one process at a time can open the file: it holds an exclusive lock until it exits or is killed. A task that is
/// marked as running when the file is opened therefore has no process, and is marked as failed.
#[derive(Clone, Debug)]
pub struct Sqlite(Arc<Mutex<Connection>>);

const SCHEMA: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS tasks (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        owner TEXT,
        over INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        record TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS tasks_by_owner ON tasks (owner, seq);
    CREATE INDEX IF NOT EXISTS tasks_by_expiry ON tasks (expires);
";

impl Sqlite {
    /// Opens or creates a database file. Tasks that were running in a previous process are marked as failed.
    ///
    /// This blocks on file I/O: call it before the server starts, or in `spawn_blocking`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, or is open in another process. The error then names that process, where the
    /// operating system can tell (Linux).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let connection = Connection::open(path).map_err(StoreError::new)?;
        // The other process holds its lock until it exits, so waiting is no use.
        connection.busy_timeout(Duration::ZERO).map_err(StoreError::new)?;
        connection.execute_batch(SCHEMA).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => taken(path),
            _ => StoreError::new(error),
        })?;
        abandon(&connection)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Runs an operation on the blocking thread pool.
    fn work<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let connection = self.0.clone();
        Box::pin(async move {
            let work = move || work(&mut connection.lock().unwrap_or_else(PoisonError::into_inner));
            tokio::task::spawn_blocking(work).await.map_err(StoreError::new)?
        })
    }
}

impl Store for Sqlite {
    fn insert(&self, record: Record) -> BoxFuture<'_, Result<(), StoreError>> {
        self.work(move |file| {
            let (text, expires) = (to_json(&record)?, time(record.expires()));
            let sql = "INSERT INTO tasks (id, owner, over, expires, record) VALUES (?1, ?2, 0, ?3, ?4)";
            file.execute(sql, params![record.id, record.owner.as_deref(), expires, text]).map_err(StoreError::new)?;
            Ok(())
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let id = id.to_owned();
        self.work(move |file| find(file, &id))
    }

    fn change<'a>(&'a self, id: &'a str, change: Change) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let id = id.to_owned();
        // Atomic: the connection is behind a mutex, and the file is locked.
        self.work(move |file| {
            let Some(mut record) = find(file, &id)? else { return Ok(None) };
            if !record.apply(change, clock::now()) {
                return Ok(None);
            }
            write(file, &record)?;
            Ok(Some(record))
        })
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a str>,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Option<Vec<Record>>, StoreError>> {
        let (owner, after) = (owner.map(str::to_owned), after.map(str::to_owned));
        self.work(move |file| {
            let mut from = 0;
            if let Some(after) = after {
                let sql = "SELECT seq FROM tasks WHERE id = ?1 AND owner IS ?2";
                let found = file.query_row(sql, params![after, owner], |row| row.get(0)).optional();
                match found.map_err(StoreError::new)? {
                    Some(seq) => from = seq,
                    None => return Ok(None),
                }
            }
            let sql = "SELECT record FROM tasks WHERE owner IS ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
            let mut statement = file.prepare_cached(sql).map_err(StoreError::new)?;
            let most = i64::try_from(most).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![owner, from, most], |row| row.get::<_, String>(0));
            let texts = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(StoreError::new)?;
            texts.iter().map(|text| from_json(text)).collect::<Result<_, _>>().map(Some)
        })
    }

    fn purge(&self, now: u64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.work(move |file| {
            file.execute("DELETE FROM tasks WHERE expires <= ?1", [time(now)]).map_err(StoreError::new)?;
            Ok(())
        })
    }

    fn is_exclusive(&self) -> bool {
        true
    }
}

/// The error for a file that is in use.
fn taken(path: &Path) -> StoreError {
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

/// Marks tasks of a previous process as failed.
fn abandon(file: &Connection) -> Result<(), StoreError> {
    let mut statement = file.prepare("SELECT record FROM tasks WHERE over = 0").map_err(StoreError::new)?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0));
    let texts = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(StoreError::new)?;
    file.execute_batch("BEGIN").map_err(StoreError::new)?;
    for text in texts {
        let mut record = from_json(&text)?;
        let error = RpcError::internal("the process that ran the task ended before the task did");
        record.apply(Change::Finished(Finished::Error(error)), clock::now());
        write(file, &record)?;
    }
    file.execute_batch("COMMIT").map_err(StoreError::new)
}

fn find(file: &Connection, id: &str) -> Result<Option<Record>, StoreError> {
    let mut statement = file.prepare_cached("SELECT record FROM tasks WHERE id = ?1").map_err(StoreError::new)?;
    let text: Option<String> = statement.query_row([id], |row| row.get(0)).optional().map_err(StoreError::new)?;
    text.map(|text| from_json(&text)).transpose()
}

fn write(file: &Connection, record: &Record) -> Result<(), StoreError> {
    let mut statement =
        file.prepare_cached("UPDATE tasks SET over = ?2, record = ?3 WHERE id = ?1").map_err(StoreError::new)?;
    let over = record.status.is_terminal();
    statement.execute(params![record.id, over, to_json(record)?]).map_err(StoreError::new)?;
    Ok(())
}

fn to_json(record: &Record) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(StoreError::new)
}

fn from_json(text: &str) -> Result<Record, StoreError> {
    serde_json::from_str(text).map_err(StoreError::new)
}

/// SQLite's integers are signed.
fn time(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
