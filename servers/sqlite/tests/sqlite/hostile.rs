//! Statements that exceed their permissions or limits.

use std::time::Duration;

use couplet::ProtocolVersion;
use couplet_sqlite::{Database, Limits};
use serde_json::json;

use crate::kit::{call, client, query, sample};

/// A query that never ends.
const FOREVER: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";

/// What only reads can do nothing else, whatever it is called.
#[couplet::test]
async fn reading_is_all(version: ProtocolVersion) {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    let databases = [Database::sample().unwrap(), Database::sample_in(folder.path()).unwrap().writable()];
    for database in databases {
        let client = client(database, version).await;
        for sql in [
            "INSERT INTO planets VALUES (9, 'Pluto', 'rocky', 1188.3, 90560)",
            "UPDATE planets SET name = 'X'",
            "DELETE FROM planets",
            "DROP TABLE planets",
            "CREATE TABLE t (x)",
            "CREATE TEMP TABLE t (x)",
            "ALTER TABLE planets ADD COLUMN x",
            "REINDEX",
            "ANALYZE",
            "VACUUM",
            "BEGIN",
            "SAVEPOINT s",
            "WITH x AS (SELECT 1) DELETE FROM planets RETURNING *",
            "INSERT INTO planets SELECT * FROM planets RETURNING name",
            "PRAGMA query_only = OFF",
            "PRAGMA writable_schema = ON",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA user_version = 7",
            "PRAGMA database_list",
            "SELECT * FROM pragma_database_list",
            "SELECT load_extension('evil')",
            "SELECT LOAD_EXTENSION('evil', 'start')",
            "SELECT fts3_tokenizer('simple')",
            "SELECT writefile('x', 'y')",
            "SELECT readfile('/etc/passwd')",
            &format!("ATTACH '{}' AS other", other.display()),
            &format!("VACUUM INTO '{}'", other.display()),
            "DETACH main",
            "EXPLAIN DELETE FROM planets",
        ] {
            let said = query(&client, sql).await.expect_err(sql);
            assert!(!said.contains("panic"), "{sql}: {said}");
        }
        let count = query(&client, "SELECT count(*) FROM planets").await.unwrap();
        assert!(count.contains('8'), "{count}");
        assert!(!other.exists());
    }
}

#[couplet::test]
async fn one_statement_per_call(version: ProtocolVersion) {
    let client = sample(version).await;
    for (sql, says) in [
        ("SELECT 1; SELECT 2", "one statement per call"),
        ("SELECT 1; DROP TABLE planets", "read-only"),
        ("SELECT 1\0; DROP TABLE planets", "null character"),
        ("", "empty"),
        ("-- nothing\n;", "empty"),
        (";;", "empty"),
        ("SELEC 1", "syntax error"),
        ("SELECT * FROM absent", "no such table: absent"),
        ("SELECT ?1, :name", "parameters"),
    ] {
        match query(&client, sql).await {
            Ok(table) => panic!("{sql:?}: {table}"),
            Err(said) => assert!(said.contains(says), "{sql:?}: {said}"),
        }
    }
    // A last semicolon and a comment are no second statement.
    assert!(query(&client, "SELECT 1; -- that is all").await.is_ok());
}

#[couplet::test]
async fn what_takes_too_long_is_stopped(version: ProtocolVersion) {
    let mut limits = Limits::default();
    limits.time = Duration::from_millis(50);
    let client = client(Database::sample().unwrap().limits(limits).writable(), version).await;
    for (tool, sql) in [
        ("query", FOREVER),
        ("query", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c ORDER BY x DESC"),
        ("query", "SELECT count(*) FROM moons a, moons b, moons c, moons d, moons e, moons f, moons g, moons h"),
        (
            "execute",
            "INSERT INTO missions (planet_id, name, launched) \
             WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 1, x, x FROM c",
        ),
    ] {
        let said = call(&client, tool, json!({ "sql": sql })).await.expect_err(sql);
        assert!(said.contains("took longer than 50ms"), "{sql}: {said}");
    }
    // Nothing is left behind, and nothing is held up.
    assert!(query(&client, "SELECT count(*) FROM missions").await.unwrap().contains("11"));
}

/// A cancelled call is stopped, so that the next ones can run.
#[couplet::test]
async fn what_is_not_waited_for_is_stopped(version: ProtocolVersion) {
    let mut limits = Limits::default();
    limits.time = Duration::from_secs(120);
    let client = client(Database::sample().unwrap().limits(limits), version).await;
    for _ in 0..12 {
        let call = client.call("query", json!({ "sql": FOREVER })).timeout(Duration::from_millis(20));
        assert!(call.await.is_err(), "it never ends");
    }
    let count = client.call("query", json!({ "sql": "SELECT count(*) FROM planets" })).timeout(Duration::from_secs(60));
    assert!(count.await.unwrap().text().contains('8'));
}

#[couplet::test]
async fn giant_results_are_cut(version: ProtocolVersion) {
    let client = sample(version).await;
    let numbers = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)";
    // At most 100 rows, and at most 64 of values that are as long as they may be.
    for (sql, rows, most) in [
        (format!("{numbers} SELECT x FROM c"), 100, 2_000),
        (format!("{numbers} SELECT x, printf('%.*c', 1000000, 'y') FROM c"), 64, 300_000),
        (format!("{numbers} SELECT randomblob(1000000) FROM c"), 64, 300_000),
        ("SELECT zeroblob(8000000)".to_owned(), 1, 10_000),
        ("SELECT printf('%.*c', 3000000, 'ü')".to_owned(), 1, 10_000),
    ] {
        let table = query(&client, &sql).await.unwrap();
        assert!(table.ends_with("there is more than is shown)"), "{sql}: {}", table.len());
        assert!(table.len() < most, "{sql}: {}", table.len());
        assert_eq!(table.lines().count(), rows + 3, "{sql}");
    }
    for sql in [
        "SELECT zeroblob(1000000000)",
        "SELECT hex(zeroblob(8000000))",
        "SELECT replace(printf('%.*c', 8000000, 'a'), 'a', 'bbbb')",
        &format!("SELECT 1{}", "+1".repeat(500)),
        &format!("SELECT {}", "1,".repeat(60_000)),
        &format!("SELECT '{}'", "x".repeat(200_000)),
        &format!("SELECT 'x' LIKE '{}'", "%x".repeat(1000)),
        &format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(200)),
    ] {
        let said = query(&client, sql).await.expect_err("it is too much");
        assert!(said.len() < 500, "{said}");
    }
}

/// Text that is none, and text that pretends to be the end of the table.
#[couplet::test]
async fn strange_values(version: ProtocolVersion) {
    let client = sample(version).await;
    let table = query(&client, "SELECT CAST(x'61ff62' AS TEXT) AS x").await.unwrap();
    assert!(table.contains("a\u{FFFD}b"), "{table}");
    let table = query(&client, "SELECT 'a' || char(10) || '(0 rows)' || char(27) || '[2J' AS x").await.unwrap();
    assert_eq!(table.lines().count(), 4, "{table}");
    assert!(!table.contains('\u{1b}'));
    let table = query(&client, "SELECT 'a' || char(0) || 'b' AS x, '' AS y, x'' AS z").await.unwrap();
    assert!(table.contains("a\\u{0}b") && table.contains("x''"), "{table}");
    let table = query(&client, &format!("SELECT 1 AS \"a\n{}\"", "b".repeat(90_000))).await.unwrap();
    assert!(table.lines().count() == 4 && table.len() < 1_000, "{table}");
}

/// With leave to write, still no other files, no settings, and no transactions that outlive a call.
#[couplet::test]
async fn writing_is_not_everything(version: ProtocolVersion) {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.db");
    let client = client(Database::sample_in(folder.path()).unwrap().writable(), version).await;
    for sql in [
        &format!("ATTACH '{}' AS other", other.display()),
        &format!("VACUUM INTO '{}'", other.display()),
        "PRAGMA journal_mode = OFF",
        "PRAGMA writable_schema = ON",
        "PRAGMA schema_version = 7",
        "UPDATE sqlite_schema SET sql = 'x'",
        "SELECT load_extension('evil')",
        "CREATE VIRTUAL TABLE t USING fts5(x)",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT s",
        "DELETE FROM moons; DELETE FROM missions",
        "DELETE FROM planets WHERE id = 3",
    ] {
        let said = call(&client, "execute", json!({ "sql": sql })).await.expect_err(sql);
        assert!(said.len() < 500, "{sql}: {said}");
    }
    assert!(!other.exists());
    assert!(query(&client, "SELECT count(*) FROM moons").await.unwrap().contains("15"));
    let said = call(&client, "execute", json!({ "sql": "DELETE FROM missions" })).await.unwrap();
    assert_eq!(said, "11 rows changed");
    let sql = "INSERT INTO missions (planet_id, name, launched) VALUES (3, 'Sputnik', 1957) RETURNING id";
    assert_eq!(call(&client, "execute", json!({ "sql": sql })).await.unwrap(), "1 row changed");
}

/// Without leave there is no such tool.
#[couplet::test]
async fn no_writing_without_leave(version: ProtocolVersion) {
    let client = sample(version).await;
    assert!(client.tools().await.unwrap().iter().all(|tool| tool.name != "execute"));
    assert!(call(&client, "execute", json!({ "sql": "DELETE FROM moons" })).await.is_err());
}
