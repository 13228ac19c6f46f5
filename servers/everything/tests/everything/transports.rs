//! The program itself: on standard input and output, and on the network.

use std::process::Stdio;

use couplet::{ProtocolVersion, http::client::http, prelude::*};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::kit::connect;

const PROGRAM: &str = env!("CARGO_BIN_EXE_couplet-everything");

#[couplet::test]
async fn standard_input_and_output(version: ProtocolVersion) {
    let client = connect(Command::new(PROGRAM), version).await;
    assert_eq!(client.call("echo", json!({ "message": "hi" })).await.unwrap().text(), "Echo: hi");
    client.close().await.unwrap();
}

#[couplet::test]
async fn http_in_every_revision() {
    let mut program = tokio::process::Command::new(PROGRAM);
    let mut child = program
        .args(["--http", "127.0.0.1:0", "--page-size", "5"])
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("it starts");
    let address = BufReader::new(child.stderr.take().unwrap()).lines().next_line().await.unwrap().expect("an address");
    for version in ProtocolVersion::ALL {
        let client = connect(http(&*address), version).await;
        assert_eq!(client.call("get-sum", json!({ "a": 2, "b": 3 })).await.unwrap().text(), "The sum of 2 and 3 is 5.");
        // A parameter in a header; pages.
        let greeting = client.call("greet-region", json!({ "region": "Østlandet" })).await.unwrap();
        assert_eq!(greeting.text(), "Hello, Østlandet!");
        assert!(client.tools().await.unwrap().len() > 20);
        client.close().await.unwrap();
    }
}

#[test]
fn what_cannot_be_is_said_in_a_sentence() {
    for (flags, says) in [
        (&["--http", "nowhere"][..], "couplet-everything: cannot listen at `nowhere`"),
        (&["--bogus"], "unexpected argument '--bogus'"),
    ] {
        let output = std::process::Command::new(PROGRAM).args(flags).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{flags:?}: {said}");
    }
}
