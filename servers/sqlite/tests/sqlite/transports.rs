//! The program itself: on standard input and output, and on the network.

use std::process::Stdio;

use couplet::{ProtocolVersion, prelude::*};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::kit::query;

const PROGRAM: &str = env!("CARGO_BIN_EXE_couplet-sqlite");

#[couplet::test]
async fn standard_input_and_output(version: ProtocolVersion) {
    let folder = tempfile::tempdir().unwrap();
    let program = Command::new(PROGRAM).args(["--data", folder.path().to_str().unwrap(), "--rows", "2"]);
    let client = couplet_testing::connect(program, version).await.unwrap();
    let table = query(&client, "SELECT name FROM planets ORDER BY id").await.unwrap();
    assert!(table.contains("Venus") && !table.contains("Earth"), "{table}");
    client.close().await.unwrap();
}

#[couplet::test]
async fn http_in_every_revision() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = tokio::process::Command::new(PROGRAM);
    let mut child = program
        .args(["--http", "127.0.0.1:0", "--data"])
        .arg(folder.path())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let address = BufReader::new(child.stderr.take().unwrap()).lines().next_line().await.unwrap().expect("an address");
    for &version in ProtocolVersion::ALL {
        let client = couplet_testing::connect(couplet::http::connect(&*address), version).await.unwrap();
        assert!(query(&client, "SELECT count(*) FROM moons").await.unwrap().contains("15"));
        client.close().await.unwrap();
    }
}

#[test]
fn startup_errors_are_reported() {
    for (flags, says) in [
        (&["--db", "nowhere.db"][..], "couplet-sqlite: cannot use `nowhere.db` as a database"),
        (&["--data", "a", "--db", "b"], "cannot be used with"),
        (&["--data", ".", "--http", "nowhere"], "cannot listen on `nowhere`"),
        (&["--state-key-file", "nowhere"], "couplet-sqlite: cannot use `nowhere` as a key"),
        (&["--store", "redis://localhost"], "--state-key-file <FILE>"),
        (&["--node-url", "http://localhost/mcp"], "--store <URL>"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut program = std::process::Command::new(PROGRAM);
        let output = program.args(flags).current_dir(folder.path()).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{flags:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn replicas_share_a_session() {
    use crate::replicas::{Replica, Store, a_session_is_shared};

    let Some(store) = Store::start() else { return };
    let replica = || {
        Replica::start(&store, |port| {
            let mut program = std::process::Command::new(PROGRAM);
            program.args(["--http", &format!("127.0.0.1:{port}"), "--data"]).arg(store.folder());
            program
        })
    };
    let (first, second) = (replica(), replica());
    let query = serde_json::json!({ "sql": "SELECT count(*) FROM moons" });
    a_session_is_shared(first, &second, ("query", query), "15");
}
