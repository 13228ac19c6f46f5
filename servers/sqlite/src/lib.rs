//! A server that explores a SQLite database: queries, and the schema as resources that tell when they change.
//!
//! It only reads, unless it is told otherwise. What a model writes is not trusted: a query runs on a connection of its
//! own, which is opened for reading, may not attach files, load code or change settings, and is stopped when it takes
//! too long or gives too much.
//!
//! [`server`] makes the server of a [`Database`]; it can be served, mounted in another one, or connected to in a test.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod cell;
mod database;
mod guard;
mod names;
mod prompts;
mod resources;
mod run;
mod sample;
mod schema;
mod table;
mod tools;
mod watch;

use std::sync::Arc;

use couplet::{prelude::*, server::Handle};

pub use database::{Database, Limits};

const INSTRUCTIONS: &str = "Explores a SQLite database. Read `schema://main`, or call `list_tables` and \
    `describe_table`, before you write a query. One statement per call; ask for the columns and rows that you need.";

/// The server of a database. It looks for changes for as long as anybody has it.
///
/// ```
/// use couplet::prelude::*;
/// use couplet_sqlite::Database;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> couplet::Result<()> {
/// let server = couplet_sqlite::server(Database::sample()?).await?;
/// let client = Client::new("reader", "1.0.0").connect(server).await?;
/// let answer = client.call("query", serde_json::json!({ "sql": "SELECT count(*) AS planets FROM planets" })).await?;
/// assert!(answer.text().contains('8'));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the database cannot be read.
pub async fn server(database: Database) -> couplet::Result<Handle> {
    let database = Arc::new(database);
    let server = Server::new("couplet-sqlite", env!("CARGO_PKG_VERSION"))
        .title("SQLite Explorer")
        .instructions(INSTRUCTIONS)
        .tool(tools::query)
        .tool(tools::list_tables)
        .tool(tools::describe_table)
        .resource(resources::whole)
        .resource(resources::one)
        .resource(resources::rows)
        .prompt(prompts::explore);
    let server = if database.is_writable() { server.tool(tools::execute) } else { server };
    let handle = server.with_state(database.clone()).build();
    watch::start(&handle, database).await?;
    Ok(handle)
}
