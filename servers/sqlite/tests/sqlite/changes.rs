//! Notifications of changes by this server and by other processes.

use couplet::{
    ProtocolVersion,
    client::{Change, Filter},
};
use couplet_sqlite::Database;
use serde_json::json;

use crate::kit::{call, client};

#[couplet::test]
async fn changes_from_here(version: ProtocolVersion) {
    let client = client(Database::sample().unwrap().writable(), version).await;
    let mut changes = client.listen(Filter::new().resource("rows://main/moons")).await.unwrap();
    call(&client, "execute", json!({ "sql": "DELETE FROM moons WHERE name = 'Nereid'" })).await.unwrap();
    assert_eq!(changes.next().await, Some(Change::Updated("rows://main/moons".to_owned())));
    assert!(!client.read("rows://main/moons").await.unwrap().all_text().contains("Nereid"));
}

#[couplet::test]
async fn changes_from_elsewhere(version: ProtocolVersion) {
    let folder = tempfile::tempdir().unwrap();
    let client = client(Database::sample_in(folder.path()).unwrap(), version).await;
    let filter = Filter::new().resources().resource("schema://main").resource("schema://main/comets");
    let mut changes = client.listen(filter).await.unwrap();
    let other = rusqlite::Connection::open(folder.path().join("sample.db")).unwrap();
    let mut expected = vec![
        Change::Resources,
        Change::Updated("schema://main".to_owned()),
        Change::Updated("schema://main/comets".to_owned()),
    ];
    for (sql, tables) in [("CREATE TABLE comets (name TEXT)", 5), ("DROP TABLE comets", 4)] {
        other.execute_batch(sql).unwrap();
        let mut told = Vec::new();
        for _ in 0..expected.len() {
            told.push(changes.next().await.expect("a change"));
        }
        told.sort();
        expected.sort();
        assert_eq!(told, expected, "{sql}");
        // The whole schema, and each table.
        assert_eq!(client.resources().await.unwrap().len(), tables + 1);
    }
}

/// When the last handle is dropped, polling stops and an in-memory database is freed.
#[couplet::test]
async fn watching_ends_with_the_server() {
    let server = couplet_sqlite::server(Database::sample().unwrap()).await.unwrap();
    let weak = server.downgrade();
    drop(server);
    assert!(weak.upgrade().is_none());
}
