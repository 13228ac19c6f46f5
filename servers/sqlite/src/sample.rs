//! The sample database about the solar system.

use rusqlite::{Connection, Result, TransactionBehavior};

const SQL: &str = include_str!("sample.sql");

/// Fills an empty database. Safe if two processes do it at once.
pub(crate) fn fill(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        transaction.execute_batch(SQL)?;
    }
    transaction.commit()
}
