//! A case on standard input and output, to be started as a child process: `cases NAME on|off`.

#![allow(clippy::unwrap_used, reason = "a test that fails says so")]

#[path = "../tests/middleware/cases.rs"]
#[allow(dead_code, reason = "the test uses all of it")]
mod cases;

use couplet_core::{Error, Limits, Transport};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let case = cases::Case::ALL.into_iter().find(|case| case.name() == arguments[0]).unwrap();
    couplet_stdio::stdio().serve(case.service(arguments[1] == "on"), Limits::default()).await
}
