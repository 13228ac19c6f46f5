//! Files that are databases, and files that are none.

use couplet::ProtocolVersion;
use couplet_sqlite::Database;
use serde_json::json;

use crate::kit::{call, client, query};

#[couplet::test]
async fn the_sample_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("new/folder");
    let first = client(Database::sample_in(&inside).unwrap().writable(), ProtocolVersion::V2026_07_28).await;
    call(&first, "execute", json!({ "sql": "DELETE FROM moons" })).await.unwrap();
    let second = client(Database::sample_in(&inside).unwrap(), ProtocolVersion::V2026_07_28).await;
    assert!(query(&second, "SELECT count(*) AS n FROM moons").await.unwrap().contains("n\n-\n0"));
    // In memory each is another one.
    let third = client(Database::sample().unwrap(), ProtocolVersion::V2026_07_28).await;
    assert!(query(&third, "SELECT count(*) FROM moons").await.unwrap().contains("15"));
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "This is a text, and long enough to be read as the head of a file of SQLite's, which it is not.",
    )
    .unwrap();
    for path in [text.clone(), folder.path().join("missing.db"), folder.path().to_owned()] {
        let error = Database::open(&path).expect_err("it is none").to_string();
        assert!(error.starts_with("cannot use `"), "{error}");
    }
    assert!(!folder.path().join("missing.db").exists(), "nothing is made");
    assert!(Database::sample_in(text.join("below")).is_err(), "a file is no folder");
}

/// A file that is opened read-only is not modified, and may be write-protected.
#[couplet::test]
async fn a_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(Database::sample_in(folder.path()).unwrap());
    let path = folder.path().join("sample.db");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let before = std::fs::read(&path).unwrap();
    let client = client(Database::open(&path).unwrap(), ProtocolVersion::V2025_11_25).await;
    assert!(query(&client, "SELECT count(*) FROM planets").await.unwrap().contains('8'));
    query(&client, "DELETE FROM planets").await.unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no journal is left");
}
