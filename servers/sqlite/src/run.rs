//! Execution of statements: on blocking threads, limited in number, and interrupted if the call is cancelled.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use couplet::prelude::*;
use rusqlite::{Connection, Error, ErrorCode, Statement};

use crate::{database::Database, guard, table::Table};

/// Sets a flag on drop, when the call is cancelled.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Database {
    /// Runs `work` with a read-only connection.
    pub(crate) async fn read<T, W>(self: Arc<Self>, work: W) -> Result<T, ToolError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    {
        self.run(false, work).await
    }

    /// Runs `work` with a connection that can write.
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
            // Held until the statement ends, even if the call is cancelled.
            let _room = room;
            let connection = database.connect(write)?;
            guard::set(&connection, write, &database.limits, stopped)?;
            work(&connection)
        };
        tokio::task::spawn_blocking(work).await?.map_err(|error| ToolError::new(self.explained(write, &error)))
    }

    /// Formats an error for the model, with advice.
    fn explained(&self, write: bool, error: &Error) -> String {
        let code = error.sqlite_error_code();
        match (code, error) {
            (Some(ErrorCode::OperationInterrupted), _) => {
                format!(
                    "the statement took longer than {:?} and was stopped; reduce the work, for example with LIMIT",
                    self.limits.time
                )
            }
            (Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly), _) if write => {
                "not allowed: no other databases, no settings, no transactions across calls".to_owned()
            }
            (Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly), _) => {
                "the database is read-only; use a SELECT statement".to_owned()
            }
            (_, Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg))) => msg.clone(),
            (_, Error::MultipleStatement) => "only one statement per call is allowed".to_owned(),
            (_, Error::InvalidParameterCount(..)) => {
                "parameters are not supported; write the values into the statement".to_owned()
            }
            (_, other) => other.to_string(),
        }
    }
}

/// Prepares a single statement.
fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<Statement<'c>, Error> {
    // SQLite would silently ignore the rest.
    if sql.contains('\0') {
        return Err(failed("the statement contains a null character"));
    }
    let statement = connection.prepare(sql)?;
    if statement.expanded_sql().is_none() {
        return Err(failed("the statement is empty"));
    }
    Ok(statement)
}

fn failed(what: &str) -> Error {
    Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR), Some(what.to_owned()))
}

/// Runs a query.
pub(crate) fn query(connection: &Connection, sql: &str, table: Table) -> Result<Table, Error> {
    let mut statement = prepare(connection, sql)?;
    if !statement.readonly() {
        return Err(failed("the database is read-only; use a SELECT statement"));
    }
    table.filled(&mut statement, [])
}

/// Runs a statement that writes, and returns the number of changed rows.
pub(crate) fn execute(connection: &Connection, sql: &str) -> Result<u64, Error> {
    let mut statement = prepare(connection, sql)?;
    let before = connection.total_changes();
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(connection.total_changes() - before)
}
