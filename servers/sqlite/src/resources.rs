//! The resources: the schema, the schema of each table, and the first rows of each table.

use std::sync::Arc;

use couplet::{prelude::*, server::NotFound};

use crate::{
    database::Database,
    names::tables,
    schema::{self, Entry},
    table::Table,
};

/// The statements that create the database.
#[resource("schema://main", name = "schema", title = "Schema", mime_type = "application/sql", subscribable)]
pub(crate) async fn whole(State(database): State<Arc<Database>>) -> Result<String, ToolError> {
    let entries = database.read(schema::entries).await?;
    Ok(entries.into_iter().map(|entry| entry.sql).collect::<Vec<_>>().join("\n\n"))
}

/// The statements that create a table, with its indexes and triggers.
#[resource(
    "schema://main/{table}",
    name = "table-schema",
    title = "Schema of a Table",
    mime_type = "application/sql",
    subscribable,
    complete(table = tables)
)]
pub(crate) async fn one(table: String, State(database): State<Arc<Database>>) -> Result<String, ToolError> {
    sql(database, table).await
}

/// Returns the statements that create a table.
pub(crate) async fn sql(database: Arc<Database>, table: String) -> Result<String, ToolError> {
    Ok(entry(database, &table).await?.sql)
}

/// The first rows of a table.
#[resource(
    "rows://main/{table}",
    name = "table-rows",
    title = "Rows of a Table",
    mime_type = "text/plain",
    subscribable,
    complete(table = tables)
)]
pub(crate) async fn rows(table: String, State(database): State<Arc<Database>>) -> Result<String, ToolError> {
    let Entry { name, .. } = entry(database.clone(), &table).await?;
    let empty = Table::within(&database.limits, usize::MAX);
    let sql = format!("SELECT * FROM {}", schema::quoted(&name));
    let table = database.read(move |connection| empty.filled(&mut connection.prepare(&sql)?, [])).await?;
    Ok(table.to_string())
}

/// Finds a table by name.
async fn entry(database: Arc<Database>, table: &str) -> Result<Entry, ToolError> {
    let entries = database.read(schema::entries).await?;
    Ok(entries.into_iter().find(|entry| entry.name == table).ok_or(NotFound)?)
}
