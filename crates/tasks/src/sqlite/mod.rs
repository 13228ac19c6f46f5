//! Tasks in an SQLite database, which survive a restart.

mod holder;
mod schema;

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet_core::{BoxFuture, sync::lock};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use tokio::sync::watch;

use crate::{
    clock,
    record::{Change, Record},
    store::{Store, StoreError},
};

/// A [`Store`] in an SQLite database. Tasks survive a restart.
///
/// Only one process at a time can open the file: it holds an exclusive lock until it exits or is killed. A task that is
/// marked as running when the file is opened therefore has no process. It is marked as failed, or runs again when a client
/// polls it, if its tool is [repeatable](crate::Task::repeatable).
#[derive(Clone, Debug)]
pub struct Sqlite {
    file: Arc<Mutex<Connection>>,
    /// Counts changes of any task.
    changes: watch::Sender<u64>,
}

impl Sqlite {
    /// Opens or creates a database file, and brings one of an earlier version up to date.
    ///
    /// This blocks on file I/O: call it before the server starts, or in `spawn_blocking`.
    ///
    /// # Errors
    /// Fails if the file cannot be opened, is of a later version, or is open in another process. The error then names that
    /// process, where the operating system can tell (Linux).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let mut file = Connection::open(path).map_err(StoreError::new)?;
        // The other process holds its lock until it exits, so waiting is no use.
        file.busy_timeout(Duration::ZERO).map_err(StoreError::new)?;
        schema::lock(&file).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => holder::taken(path),
            _ => StoreError::new(error),
        })?;
        schema::migrate(&mut file)?;
        schema::abandon(&mut file)?;
        Ok(Self { file: Arc::new(Mutex::new(file)), changes: watch::Sender::new(0) })
    }

    /// Runs an operation on the blocking thread pool.
    fn work<'a, T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let connection = self.file.clone();
        Box::pin(async move {
            let work = move || work(&mut lock(&connection));
            tokio::task::spawn_blocking(work).await.map_err(StoreError::new)?
        })
    }

    /// Changes a task, if `change` returns `true`. Atomic: the connection is behind a mutex, and the file is locked.
    fn edit<'a>(
        &'a self,
        id: &str,
        change: impl FnOnce(&mut Record) -> bool + Send + 'static,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let (id, changes) = (id.to_owned(), self.changes.clone());
        self.work(move |file| {
            let Some(mut record) = find(file, &id)? else { return Ok(None) };
            if !change(&mut record) {
                return Ok(None);
            }
            write(file, &record)?;
            changes.send_modify(|count| *count += 1);
            Ok(Some(record))
        })
    }
}

impl Store for Sqlite {
    fn insert(&self, mut record: Record, lease: Duration) -> BoxFuture<'_, Result<Option<Record>, StoreError>> {
        record.start_lease(self.now(), lease);
        self.work(move |file| {
            let key = record.key.as_ref().map(|key| &*key.value);
            if let Some(same) = key.map(|key| same(file, record.owner.as_deref(), key)).transpose()?.flatten() {
                return Ok(Some(same));
            }
            let (text, expires) = (to_json(&record)?, time(record.expires()));
            let sql = "INSERT INTO tasks (id, owner, over, expires, record, key) VALUES (?1, ?2, 0, ?3, ?4, ?5)";
            let values = params![record.id, record.owner.as_deref(), expires, text, key];
            file.execute(sql, values).map_err(StoreError::new)?;
            Ok(None)
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let id = id.to_owned();
        self.work(move |file| find(file, &id))
    }

    fn change<'a>(
        &'a self,
        id: &'a str,
        fence: Option<u64>,
        change: Change,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.edit(id, move |record| record.apply(fence, change, clock::now()))
    }

    fn claim<'a>(
        &'a self,
        id: &'a str,
        node: &'a str,
        lease: Duration,
    ) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let (node, now) = (node.to_owned(), self.now());
        self.edit(id, move |record| record.claim(&node, now, lease))
    }

    fn renew<'a>(
        &'a self,
        tasks: &'a [(String, u64)],
        lease: Duration,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let (tasks, now) = (tasks.to_owned(), self.now());
        self.work(move |file| {
            let change = file.transaction().map_err(StoreError::new)?;
            let mut lost = Vec::new();
            for (id, generation) in tasks {
                let renewed = find(&change, &id)?.and_then(|mut r| r.renew(generation, now, lease).then_some(r));
                match renewed {
                    Some(record) => write(&change, &record)?,
                    None => lost.push(id),
                }
            }
            change.commit().map_err(StoreError::new)?;
            Ok(lost)
        })
    }

    fn release<'a>(&'a self, id: &'a str, generation: u64) -> BoxFuture<'a, Result<bool, StoreError>> {
        let released = self.edit(id, move |record| record.release(generation));
        Box::pin(async move { Ok(released.await?.is_some()) })
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

    fn watch<'a>(&'a self, id: &'a str, revision: u64) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut changes = self.changes.subscribe();
        Box::pin(async move {
            while self.get(id).await?.is_some_and(|record| record.revision == revision) {
                if changes.changed().await.is_err() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn now(&self) -> u64 {
        clock::steady()
    }

    fn is_exclusive(&self) -> bool {
        true
    }
}

/// The unexpired task of an owner with an idempotency key.
fn same(file: &Connection, owner: Option<&str>, key: &str) -> Result<Option<Record>, StoreError> {
    let sql = "SELECT record FROM tasks WHERE key = ?1 AND owner IS ?2 AND expires > ?3";
    let mut statement = file.prepare_cached(sql).map_err(StoreError::new)?;
    let values = params![key, owner, time(clock::now())];
    let text: Option<String> = statement.query_row(values, |row| row.get(0)).optional().map_err(StoreError::new)?;
    text.map(|text| from_json(&text)).transpose()
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
