//! Transforms: a finished server, offered in another way. The server itself does not change.

use couplet::{
    ProtocolVersion,
    core::{IntoService, Service},
    prelude::*,
    transform::{ArgumentTransform, ResourcesAsTools, Split, ToolSearch, ToolTransform, Transform},
    types::ToolAnnotations,
};
use serde_json::json;

/// Runs a query.
#[tool]
fn exec(q: String, db: String, lim: u32) -> String {
    format!("{lim} rows of `{q}` in {db}")
}

/// Drops a table.
#[tool]
fn drop_table(name: String) -> String {
    format!("dropped {name}")
}

/// The tables.
#[resource("db://tables")]
fn tables() -> &'static str {
    "orders, customers"
}

fn database() -> Server {
    Server::new("database", "1.0.0").tool(exec).tool(drop_table).resource(tables)
}

/// The database for analysts: one tool with good names, in one database, and nothing that drops a table.
fn for_analysts() -> Transform {
    let query = ToolTransform::new()
        .name("query")
        .description("Queries the orders of the shop. Tables: see `read_resource`.")
        .annotations(ToolAnnotations::new().read_only_hint(true))
        .argument("q", ArgumentTransform::new().name("sql").description("A SELECT statement."))
        .argument("lim", ArgumentTransform::new().name("rows").integer().maximum(100.0).default_value(json!(10)))
        .preset("db", json!("shop"));
    Transform::new(database()).tool("exec", query).hide_tools("drop_*")
}

async fn connect(service: impl IntoService, version: ProtocolVersion) -> couplet::Result<Client> {
    Client::new("demo", "1.0.0").versions([version]).connect(service.into_service()).await
}

async fn names(client: &Client) -> couplet::Result<Vec<String>> {
    Ok(client.tools().await?.into_iter().map(|tool| tool.name).collect())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        // Other names and arguments, and resources for hosts that know only tools.
        let client = connect(ResourcesAsTools::new(for_analysts()), version).await?;
        assert_eq!(names(&client).await?, ["list_resources", "read_resource", "query"]);
        let rows = client.call("query", json!({ "sql": "SELECT 1" })).await?.into_result()?;
        assert_eq!(rows.text(), "10 rows of `SELECT 1` in shop");
        let tables = client.call("read_resource", json!({ "uri": "db://tables" })).await?.into_result()?;
        assert_eq!(tables.text(), "orders, customers");
        for (tool, arguments) in [
            ("exec", json!({ "q": "SELECT 1", "db": "shop", "lim": 1 })),
            ("query", json!({ "sql": "SELECT 1", "db": "payroll" })),
            ("query", json!({ "sql": "SELECT 1", "rows": 1000 })),
            ("drop_table", json!({ "name": "orders" })),
        ] {
            assert!(client.call(tool, arguments).await.and_then(|result| result.into_result()).is_err());
        }

        // Two services of one.
        let split = Split::new(database()).tools("read", ["exec"]).tools("admin", ["*"]);
        let (reader, admin) =
            (connect(split.part("read"), version).await?, connect(split.part("admin"), version).await?);
        assert_eq!(names(&reader).await?, ["exec"]);
        assert_eq!(names(&admin).await?, ["exec", "drop_table"]);

        // Tools that are found with a search.
        let many: std::sync::Arc<dyn Service> =
            Server::<()>::new("all", "1.0.0").mount("db", database()).into_service();
        let client = connect(ToolSearch::new(many), version).await?;
        assert_eq!(names(&client).await?, ["search_tools", "call_tool"]);
        let found = client.call("search_tools", json!({ "query": "drop a table" })).await?.into_result()?;
        assert!(found.text().contains("db_drop_table"));
        let arguments = json!({ "name": "db_drop_table", "arguments": { "name": "orders" } });
        assert_eq!(client.call("call_tool", arguments).await?.into_result()?.text(), "dropped orders");
        println!("{version}: query, split and search");
    }
    Ok(())
}
