//! A client of a database.

use couplet::{ProtocolVersion, prelude::*};
use couplet_sqlite::Database;
use serde_json::{Value, json};

/// A client of the sample.
pub(crate) async fn sample(version: ProtocolVersion) -> Client {
    client(Database::sample().expect("there is memory"), version).await
}

pub(crate) async fn client(database: Database, version: ProtocolVersion) -> Client {
    let server = couplet_sqlite::server(database).await.expect("it can be read");
    couplet_testing::connect(server, version).await.expect("they agree")
}

/// What a query gives: the table, or what is wrong.
pub(crate) async fn query(client: &Client, sql: &str) -> Result<String, String> {
    call(client, "query", json!({ "sql": sql })).await
}

pub(crate) async fn call(client: &Client, tool: &str, arguments: Value) -> Result<String, String> {
    let result = client.call(tool, arguments).await.map_err(|e| e.to_string())?;
    if result.is_error() { Err(result.text()) } else { Ok(result.text()) }
}
