//! The schema of a database.

use couplet::prelude::*;
use rusqlite::{Connection, Result};
use serde::Serialize;

/// A table or a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Entry {
    /// Its name
    pub(crate) name: String,
    /// `table` or `view`
    pub(crate) kind: String,
    /// The statements that create it, with its indexes and triggers
    pub(crate) sql: String,
}

/// Returns all tables and views, sorted by name.
pub(crate) fn entries(connection: &Connection) -> Result<Vec<Entry>> {
    let mut statement = connection.prepare(
        "SELECT t.name, t.type,
                coalesce((SELECT group_concat(o.sql || ';', char(10) ORDER BY o.rowid) FROM sqlite_schema o
                          WHERE o.tbl_name = t.name AND o.sql IS NOT NULL), '')
         FROM sqlite_schema t
         WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY t.name",
    )?;
    let rows = statement.query_map([], |row| Ok(Entry { name: row.get(0)?, kind: row.get(1)?, sql: row.get(2)? }))?;
    rows.collect()
}

/// One column of a table.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Column {
    name: String,
    /// The declared type
    r#type: String,
    nullable: bool,
    default: Option<String>,
    /// Position in the primary key, from 1; 0 if it is not part of it
    primary_key: u32,
    /// The `table.column` that it references
    references: Option<String>,
}

/// Returns the columns of a table or view; empty if it does not exist.
pub(crate) fn columns(connection: &Connection, table: &str) -> Result<Vec<Column>> {
    let mut statement = connection.prepare(
        "SELECT c.name, c.type, c.\"notnull\", c.dflt_value, c.pk,
                (SELECT f.\"table\" || '.' || coalesce(f.\"to\", 'rowid') FROM pragma_foreign_key_list(?1) f
                 WHERE f.\"from\" = c.name)
         FROM pragma_table_xinfo(?1) c ORDER BY c.cid",
    )?;
    let rows = statement.query_map([table], |row| {
        Ok(Column {
            name: row.get(0)?,
            r#type: row.get(1)?,
            nullable: row.get::<_, i64>(2)? == 0,
            default: row.get(3)?,
            primary_key: row.get(4)?,
            references: row.get(5)?,
        })
    })?;
    rows.collect()
}

/// Quotes a name for a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
