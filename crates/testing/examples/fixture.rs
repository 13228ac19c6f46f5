//! The server of the integration tests, on standard input and output, to be started as a child process.

#[path = "../tests/suite/fixture.rs"]
mod fixture;

use couplet_core::{Error, Transport};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let server = match std::env::args().nth(1).as_deref() {
        Some("paged") => fixture::paged(),
        _ => fixture::server(),
    };
    let limits = server.limits().clone();
    couplet::stdio::stdio().serve(std::sync::Arc::new(server), limits).await
}
