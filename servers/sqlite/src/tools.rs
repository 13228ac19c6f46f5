//! The tools.

use std::sync::Arc;

use couplet::prelude::*;
use serde::Serialize;

use crate::{
    database::Database,
    run,
    schema::{self, Column, Entry},
    table::Table,
};

/// Runs one SQL query that reads, and returns its rows as a table and as data. Long results are truncated.
#[tool(title = "Query", read_only, open_world = false)]
pub(crate) async fn query(
    /// One statement, such as `SELECT name FROM planets ORDER BY name LIMIT 5`
    sql: String,
    /// Maximum number of rows
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    State(database): State<Arc<Database>>,
) -> Result<Table, ToolError> {
    let table = Table::within(&database.limits, limit.unwrap_or(usize::MAX));
    database.read(move |connection| run::query(connection, &sql, table)).await
}

/// Runs one SQL statement that changes the database, and returns the number of changed rows.
#[tool(title = "Execute", destructive, open_world = false)]
pub(crate) async fn execute(
    /// One statement, such as `UPDATE planets SET name = 'Terra' WHERE name = 'Earth'`
    sql: String,
    State(database): State<Arc<Database>>,
) -> Result<String, ToolError> {
    let changed = database.clone().write(move |connection| run::execute(connection, &sql)).await?;
    database.changed.notify_one();
    Ok(if changed == 1 { "1 row changed".to_owned() } else { format!("{changed} rows changed") })
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Tables {
    tables: Vec<Entry>,
}

/// Lists the tables and views, with the statements that create them.
#[tool(title = "List Tables", read_only, idempotent, open_world = false)]
pub(crate) async fn list_tables(State(database): State<Arc<Database>>) -> Result<Json<Tables>, ToolError> {
    Ok(Json(Tables { tables: database.read(schema::entries).await? }))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Description {
    table: String,
    columns: Vec<Column>,
}

/// Describes the columns of a table or view: types, defaults, keys and references.
#[tool(title = "Describe Table", read_only, idempotent, open_world = false)]
pub(crate) async fn describe_table(
    /// The name of the table
    table: String,
    State(database): State<Arc<Database>>,
) -> Result<Json<Description>, ToolError> {
    let name = table.clone();
    let columns = database.read(move |connection| schema::columns(connection, &name)).await?;
    if columns.is_empty() {
        return Err(ToolError::new(format!("unknown table `{table}`; call `list_tables` for the tables")));
    }
    Ok(Json(Description { table, columns }))
}
