//! Running statements: away from the runtime, bounded, and stopped when nobody waits for them any more.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use couplet::prelude::*;
use rusqlite::{Connection, Error, ErrorCode, Statement};

use crate::{database::Database, guard, table::Table};

/// Sets a flag when it is dropped: with the call that waits.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Database {
    /// Works with a connection that can only read.
    pub(crate) async fn read<T, W>(self: Arc<Self>, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.run(false, work).await
    }

    /// Works with a connection that can write.
    pub(crate) async fn write<T, W>(self: Arc<Self>, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.run(true, work).await
    }

    async fn run<T, W>(self: Arc<Self>, write: bool, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        let room = self.room.clone().acquire_owned().await?;
        let stop = Stop(Arc::default());
        let (stopped, database) = (stop.0.clone(), self.clone());
        let work = move || {
            // It takes up room until it is done, also when nobody waits any more.
            let _room = room;
            let connection = database.connect(write)?;
            guard::set(&connection, write, &database.limits, stopped)?;
            work(&connection)
        };
        tokio::task::spawn_blocking(work).await?.map_err(|error| ToolError::new(self.explained(write, &error)))
    }

    /// An error in words that help to write a better statement.
    fn explained(&self, write: bool, error: &Error) -> String {
        let code = error.sqlite_error_code();
        match (code, error) {
            (Some(ErrorCode::OperationInterrupted), _) => {
                format!("it took longer than {:?} and was stopped: ask for less", self.limits.time)
            }
            (Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly), _) if write => {
                "that is not allowed here: no other databases, no settings, no transactions over several calls"
                    .to_owned()
            }
            (Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly), _) => {
                "only reading is allowed here: write a SELECT".to_owned()
            }
            (_, Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg))) => msg.clone(),
            (_, Error::MultipleStatement) => "one statement per call, please".to_owned(),
            (_, Error::InvalidParameterCount(..)) => {
                "there are no values for parameters: write them into the statement".to_owned()
            }
            (_, other) => other.to_string(),
        }
    }
}

/// Prepares the one statement that a text has.
fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<Statement<'c>, Error> {
    // SQLite would stop reading there, and not tell.
    if sql.contains('\0') {
        return Err(said("there is a null character in the statement"));
    }
    let statement = connection.prepare(sql)?;
    if statement.expanded_sql().is_none() {
        return Err(said("there is no statement"));
    }
    Ok(statement)
}

fn said(what: &str) -> Error {
    Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR), Some(what.to_owned()))
}

/// Runs a query.
pub(crate) fn query(connection: &Connection, sql: &str, table: Table) -> Result<Table, Error> {
    let mut statement = prepare(connection, sql)?;
    if !statement.readonly() {
        return Err(said("only reading is allowed here: write a SELECT"));
    }
    table.filled(&mut statement, [])
}

/// Runs a statement that changes something; returns how many rows.
pub(crate) fn execute(connection: &Connection, sql: &str) -> Result<u64, Error> {
    let mut statement = prepare(connection, sql)?;
    let before = connection.total_changes();
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(connection.total_changes() - before)
}
