//! Replicas of the benchmarked server share a session.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

#[path = "../../crates/testing/tests/common/replicas.rs"]
mod replicas;
#[path = "../../crates/testing/tests/common/skipped.rs"]
mod skipped;

use std::process::Command;

use replicas::{Replica, Store, a_session_is_shared};
use serde_json::json;

#[test]
fn replicas_share_a_session() {
    let Some(store) = Store::start() else { return };
    let replica = || {
        Replica::start(&store, |port| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_bench-server"));
            program.args(["http", &port.to_string()]);
            program
        })
    };
    let (first, second) = (replica(), replica());
    a_session_is_shared(first, &second, ("add", json!({ "a": 1, "b": 2 })), r#""text":"3""#);
}
