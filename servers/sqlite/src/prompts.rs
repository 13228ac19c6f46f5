//! The prompt `explore`.

use std::sync::Arc;

use couplet::{
    prelude::*,
    types::{ContentBlock, PromptMessage, ResourceContents},
};

use crate::{database::Database, names, names::tables, schema};

/// Explores the database, or one table of it, and says what is worth knowing about it.
#[prompt(title = "Explore", complete(table = tables))]
pub(crate) async fn explore(
    /// Table to start with (default: all)
    table: Option<String>,
    State(database): State<Arc<Database>>,
) -> Result<Vec<PromptMessage>, ToolError> {
    let table = table.filter(|table| !table.is_empty());
    let entries = database.read(schema::entries).await?;
    let wanted = entries.iter().filter(|entry| table.as_ref().is_none_or(|table| entry.name == *table));
    let sql: Vec<_> = wanted.map(|entry| entry.sql.as_str()).collect();
    if sql.is_empty() {
        return Err(ToolError::new(format!("unknown table `{}`", table.unwrap_or_default())));
    }
    let (what, uri) = match &table {
        Some(table) => (format!("the table `{table}`"), names::schema_of(table)),
        None => ("this database".to_owned(), names::SCHEMA.to_owned()),
    };
    let contents = ResourceContents::text(uri, sql.join("\n\n")).mime_type("application/sql");
    Ok(vec![
        PromptMessage::user(ContentBlock::resource(contents)),
        PromptMessage::user(format!(
            "Explore {what} with the tool `query`. Find out how many rows there are, what the columns mean and which \
             values they take, then tell me three things that are worth knowing, each with the query that shows it."
        )),
    ])
}
