//! The server that the official conformance suite expects: `conformance-server --port 3301`, endpoint `/mcp`.

mod asks;
mod contents;
mod prompts;
mod resources;
mod rounds;
mod skills;
mod tasks;
mod tools;

use couplet::prelude::*;

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let port = port().unwrap_or(3301);
    server().serve(couplet::http::listen(format!("127.0.0.1:{port}"))).await
}

fn port() -> Option<u16> {
    std::env::args().skip_while(|argument| argument != "--port").nth(1)?.parse().ok()
}

/// The suite calls the first listed tool without arguments, and reads the first resource.
fn server() -> Server {
    let server = Server::new("conformance-server", "1.0.0");
    let server = contents::register(server);
    let server = tools::register(server);
    let server = asks::register(server);
    let server = rounds::register(server);
    let server = tasks::register(server);
    let server = skills::register(server);
    let server = resources::register(server);
    prompts::register(server)
}
