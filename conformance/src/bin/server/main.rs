//! The server that the official conformance suite expects: `conformance-server --port 3301`, endpoint `/mcp`, or
//! `conformance-server --stdio`; with `--revision` it supports one revision only.

mod asks;
mod contents;
mod prompts;
mod resources;
mod rounds;
mod skills;
mod tasks;
mod tools;

use couplet::{ProtocolVersion, prelude::*};

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = match value("--revision") {
        Some(revision) => server().versions([revision.parse::<ProtocolVersion>().expect("a revision")]),
        None => server(),
    };
    if std::env::args().any(|argument| argument == "--stdio") {
        return server.serve(stdio()).await;
    }
    let port = value("--port").map_or(3301, |port| port.parse::<u16>().expect("a port"));
    server.serve(couplet::http::listen(format!("127.0.0.1:{port}"))).await
}

/// The word after an option.
fn value(option: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != option).nth(1)
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
