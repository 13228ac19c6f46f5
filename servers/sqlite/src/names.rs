//! URIs of resources, and completion of table names.

use std::sync::Arc;

use couplet::{prelude::*, server::extract::Completing};

use crate::{database::Database, schema};

/// The URI of the whole schema.
pub(crate) const SCHEMA: &str = "schema://main";

/// Returns the URI of the schema of a table.
pub(crate) fn schema_of(table: &str) -> String {
    format!("{SCHEMA}/{}", escaped(table))
}

/// Returns the URI of the rows of a table.
pub(crate) fn rows_of(table: &str) -> String {
    format!("rows://main/{}", escaped(table))
}

/// Completes the name of a table.
pub(crate) async fn tables(typed: Completing, State(database): State<Arc<Database>>) -> Result<Vec<String>, ToolError> {
    let typed = typed.value.to_lowercase();
    let names = database.read(schema::entries).await?.into_iter().map(|entry| entry.name);
    Ok(names.filter(|name| name.to_lowercase().starts_with(&typed)).collect())
}

/// Percent-encodes a name.
fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
