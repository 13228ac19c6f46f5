//! A server that explores a SQLite database: queries, and the schema as resources with subscriptions.
//!
//! It is read-only by default. Statements are not trusted: each runs on its own read-only connection, may not attach
//! files, load extensions or change settings, and is limited in time and output.
//!
//! [`server`] builds the server of a [`Database`]; it can be served, mounted in another server, or connected to in a test.

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

use couplet::{prelude::*, server::ServerHandle};

pub use database::{Database, Limits};

const INSTRUCTIONS: &str = "Explores a SQLite database. Read `schema://main`, or call `list_tables` and \
    `describe_table`, before you write a query. One statement per call; ask for the columns and rows that you need.";

/// Builds the server of a database. It polls for changes until the last handle is dropped.
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
/// If the database cannot be read.
pub async fn server(database: Database) -> couplet::Result<ServerHandle> {
    server_with(database, |server| server).await
}

/// Builds the server of a database with settings of its own, such as a key that replicas share.
///
/// # Errors
/// If the database cannot be read.
pub async fn server_with(
    database: Database,
    configure: impl FnOnce(Server<Arc<Database>>) -> Server<Arc<Database>>,
) -> couplet::Result<ServerHandle> {
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
    let handle = configure(server).with_state(database.clone()).build();
    watch::start(&handle, database).await?;
    Ok(handle)
}
