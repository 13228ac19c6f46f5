//! The smallest server that does something, over standard input and output: how quickly it starts, how light it is.

use couplet::prelude::*;

/// Return the text unchanged
#[tool]
fn echo(
    /// text to return
    text: String,
) -> String {
    text
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    Server::new("minimal", "1.0.0").tool(echo).serve(stdio()).await
}
