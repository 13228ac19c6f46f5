//! Addresses of resources, and the completion of names.

use std::sync::Arc;

use couplet::{prelude::*, server::extract::Completing};

use crate::{database::Database, schema};

/// The whole schema.
pub(crate) const SCHEMA: &str = "schema://main";

/// The schema of a table.
pub(crate) fn schema_of(table: &str) -> String {
    format!("{SCHEMA}/{}", escaped(table))
}

/// The rows of a table.
pub(crate) fn rows_of(table: &str) -> String {
    format!("rows://main/{}", escaped(table))
}

/// The tables that begin with what was typed.
pub(crate) async fn tables(typed: Completing, State(database): State<Arc<Database>>) -> Result<Vec<String>, ToolError> {
    let typed = typed.value.to_lowercase();
    let names = database.read(schema::entries).await?.into_iter().map(|entry| entry.name);
    Ok(names.filter(|name| name.to_lowercase().starts_with(&typed)).collect())
}

/// A name as a part of an address.
fn escaped(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
