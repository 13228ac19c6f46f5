//! The schema of the database, and its versions.

use couplet_types::RpcError;
use rusqlite::{Connection, params};

use super::{from_json, write};
use crate::{
    clock,
    record::{Change, Finished, Record},
    store::StoreError,
};

/// The first version had no number.
const FIRST: &str = "
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

/// The steps from each version to the next.
const STEPS: [&str; 1] = ["
    ALTER TABLE tasks ADD COLUMN key TEXT;
    CREATE INDEX tasks_by_key ON tasks (key, owner) WHERE key IS NOT NULL;
"];

/// The version that this program writes.
const PRESENT: u32 = STEPS.len() as u32;

/// Locks the file for this process.
pub(super) fn lock(file: &Connection) -> Result<(), rusqlite::Error> {
    file.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE; COMMIT;",
    )
}

/// Creates the tables, or brings those of an earlier version up to date.
pub(super) fn migrate(file: &mut Connection) -> Result<(), StoreError> {
    let version: u32 = file.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(StoreError::new)?;
    let Some(steps) = STEPS.get(usize::try_from(version).unwrap_or(usize::MAX)..) else {
        return Err(StoreError::new(format!(
            "the database has version {version}, and this program knows versions up to {PRESENT}; use a newer program"
        )));
    };
    let change = file.transaction().map_err(StoreError::new)?;
    let mut all = [FIRST].iter().filter(|_| version == 0).chain(steps);
    all.try_for_each(|step| change.execute_batch(step)).map_err(StoreError::new)?;
    change.pragma_update(None, "user_version", PRESENT).map_err(StoreError::new)?;
    change.commit().map_err(StoreError::new)
}

/// Takes the tasks of a previous process from it: they fail, unless they may run again.
pub(super) fn abandon(file: &mut Connection) -> Result<(), StoreError> {
    let change = file.transaction().map_err(StoreError::new)?;
    for text in running(&change)? {
        let mut record = from_json(&text)?;
        abandoned(&mut record);
        write(&change, &record)?;
    }
    change.commit().map_err(StoreError::new)
}

fn running(file: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = file.prepare("SELECT record FROM tasks WHERE over = 0").map_err(StoreError::new)?;
    let rows = statement.query_map(params![], |row| row.get::<_, String>(0));
    rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(StoreError::new)
}

fn abandoned(record: &mut Record) {
    match &mut record.runner {
        Some(runner) if record.request.is_some() => runner.until = 0,
        _ => {
            let error = RpcError::internal("the process that ran the task ended before the task did");
            record.apply(None, Change::Finished(Finished::Error(error)), clock::now());
        }
    }
}
