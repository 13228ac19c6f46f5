//! What the tools, resources and prompts say.

use couplet::{ProtocolVersion, types::CompletionReference};
use couplet_sqlite::Database;
use couplet_testing::Surface;
use serde_json::{Value, json};

use crate::kit::{call, client, query, sample};

#[couplet::test]
async fn the_surface_is_as_it_was(version: ProtocolVersion) {
    let client = client(Database::sample().unwrap().writable(), version).await;
    let path = format!("{}/tests/surface/{version}.json", env!("CARGO_MANIFEST_DIR"));
    Surface::of(&client).await.unwrap().assert_matches(path);
}

#[couplet::test]
async fn rows_are_a_table(version: ProtocolVersion) {
    let client = sample(version).await;
    let sql = "SELECT name, radius_km AS km, discovered FROM moons WHERE planet_id IN (3, 4) ORDER BY radius_km DESC";
    let expected = "\
name   | km     | discovered
-------+--------+-----------
Moon   | 1737.4 | NULL
Phobos | 11.3   | 1877
Deimos | 6.2    | 1877
(3 rows)";
    assert_eq!(query(&client, sql).await.unwrap(), expected);
    let limited = call(&client, "query", json!({ "sql": sql, "limit": 1 })).await.unwrap();
    assert!(limited.ends_with("(1 row; there is more than is shown)"), "{limited}");
}

/// The same as data, where the revision has such.
#[couplet::test]
async fn rows_are_data() {
    for version in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = sample(version).await;
        let sql =
            "SELECT 1, 1.5, 'it''s', NULL, x'00ff', 9007199254740993, 1e999, 'a' || char(10) || 'b' AS \"two lines\"";
        let result = client.call("query", json!({ "sql": sql })).await.unwrap();
        let data: Value = result.structured().unwrap();
        let row = json!([
            1,
            1.5,
            "it's",
            null,
            { "blob": "AP8=", "bytes": 2 },
            9_007_199_254_740_993_i64,
            "inf",
            "a\nb"
        ]);
        assert_eq!(data["rows"], json!([row]), "{version}");
        assert_eq!(data["columns"][7], "two lines");
        assert_eq!(data["truncated"], false);
        assert!(result.text().contains("x'00FF'") && result.text().contains("a\\nb"), "{}", result.text());
    }
}

#[couplet::test]
async fn tables_are_listed_and_described(version: ProtocolVersion) {
    let client = sample(version).await;
    let tables: Value = serde_json::from_str(&call(&client, "list_tables", json!({})).await.unwrap()).unwrap();
    let names: Vec<_> =
        tables["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["largest_moons", "missions", "moons", "planets"]);
    let moons: Value =
        serde_json::from_str(&call(&client, "describe_table", json!({ "table": "moons" })).await.unwrap()).unwrap();
    let planet = json!({
        "name": "planet_id", "type": "INTEGER", "nullable": false, "default": null, "primary_key": 0,
        "references": "planets.id"
    });
    assert_eq!(moons["columns"][1], planet);
    let error = call(&client, "describe_table", json!({ "table": "x' OR 1" })).await.unwrap_err();
    assert!(error.contains("unknown table"), "{error}");
}

#[couplet::test]
async fn the_schema_is_read(version: ProtocolVersion) {
    let client = sample(version).await;
    let whole = client.read("schema://main").await.unwrap().all_text();
    assert!(whole.contains("CREATE TABLE planets") && whole.contains("CREATE VIEW largest_moons"), "{whole}");
    let listed: Vec<_> = client.resources().await.unwrap().into_iter().map(|resource| resource.uri).collect();
    let expected = ["", "/largest_moons", "/missions", "/moons", "/planets"].map(|name| format!("schema://main{name}"));
    assert_eq!(listed, expected);
    let moons = client.read("schema://main/moons").await.unwrap().all_text();
    assert!(moons.starts_with("CREATE TABLE moons") && moons.contains("CREATE INDEX moons_by_planet"), "{moons}");
    let rows = client.read("rows://main/planets").await.unwrap().all_text();
    assert!(rows.contains("Neptune") && rows.ends_with("(8 rows)"), "{rows}");
    for uri in ["schema://main/nothing", "rows://main/nothing", "rows://main/sqlite_schema"] {
        assert!(client.read(uri).await.unwrap_err().to_string().contains("does not exist"), "{uri}");
    }
}

#[couplet::test]
async fn names_are_completed(version: ProtocolVersion) {
    let client = sample(version).await;
    for reference in [
        CompletionReference::prompt("explore"),
        CompletionReference::resource("schema://main/{table}"),
        CompletionReference::resource("rows://main/{table}"),
    ] {
        let values = client.complete(reference.clone(), "table", "m").await.unwrap().values;
        assert_eq!(values, ["missions", "moons"], "{reference:?}");
    }
}

#[couplet::test]
async fn a_prompt_begins_with_the_schema(version: ProtocolVersion) {
    let client = sample(version).await;
    for (arguments, says) in [(json!({}), "CREATE TABLE planets"), (json!({ "table": "moons" }), "the table `moons`")] {
        let messages = json!(client.prompt("explore", arguments).await.unwrap().messages).to_string();
        assert!(messages.contains(says), "{messages}");
    }
    assert!(client.prompt("explore", json!({ "table": "nothing" })).await.is_err());
}

/// Names can be anything.
#[couplet::test]
async fn strange_names(version: ProtocolVersion) {
    let client = client(Database::sample().unwrap().writable(), version).await;
    let name = r#"a "b" / {c} 'd' ü?#"#;
    let quoted = name.replace('"', "\"\"");
    for sql in [format!("CREATE TABLE \"{quoted}\" (\"x y\" INT)"), format!("INSERT INTO \"{quoted}\" VALUES (7)")] {
        call(&client, "execute", json!({ "sql": sql })).await.unwrap();
    }
    let address = "a%20%22b%22%20%2F%20%7Bc%7D%20%27d%27%20%C3%BC%3F%23";
    let rows = client.read(format!("rows://main/{address}")).await.unwrap().all_text();
    assert!(rows.contains("x y\n---\n7"), "{rows}");
    assert!(client.read(format!("schema://main/{address}")).await.unwrap().all_text().starts_with("CREATE TABLE"));
    let described = call(&client, "describe_table", json!({ "table": name })).await.unwrap();
    assert!(described.contains("x y"), "{described}");
}

/// Inside of another server all of it is there, under other names.
#[couplet::test]
async fn it_can_be_mounted(version: ProtocolVersion) {
    let inner = couplet_sqlite::server(Database::sample().unwrap().writable()).await.unwrap();
    let outer = couplet::Server::new("outer", "1.0.0").mount("sqlite", inner).build();
    let client = couplet_testing::connect(outer, version).await.unwrap();
    let mut changes = client.listen(couplet::client::Filter::new().resource("rows://sqlite/main/moons")).await.unwrap();
    call(&client, "sqlite_execute", json!({ "sql": "DELETE FROM moons WHERE name = 'Io'" })).await.unwrap();
    let moons = call(&client, "sqlite_query", json!({ "sql": "SELECT count(*) FROM moons" })).await.unwrap();
    assert!(moons.contains("14"), "{moons}");
    let updated = couplet::client::Change::Updated("rows://sqlite/main/moons".to_owned());
    assert_eq!(changes.next().await, Some(updated));
    let rows = client.read("rows://sqlite/main/moons").await.unwrap().all_text();
    assert!(rows.ends_with("(14 rows)"), "{rows}");
}
