//! A server with a tool, a resource and a prompt. `cargo run` serves it on standard input and output.

use couplet::prelude::*;

/// Greets a person.
#[tool]
fn greet(
    /// Whom to greet.
    name: String,
    /// How many times.
    #[default(1)]
    times: u8,
) -> String {
    vec![format!("Hello, {name}!"); usize::from(times)].join(" ")
}

/// The length of a word.
#[resource("word://{word}/length")]
fn length(word: String) -> String {
    word.chars().count().to_string()
}

/// Asks for a poem.
#[prompt]
fn poem(
    /// What it is about.
    topic: String,
) -> String {
    format!("Write a poem of four lines about {topic}.")
}

fn server() -> Server {
    let server = Server::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    server.tool(greet).resource(length).prompt(poem)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    server().serve(stdio()).await
}

#[cfg(test)]
mod tests {
    use couplet::ProtocolVersion;
    use couplet_testing::connect;
    use serde_json::json;

    use super::server;

    /// Runs in every revision of the protocol, without a process and without a network.
    #[couplet::test]
    async fn a_person_is_greeted(version: ProtocolVersion) -> couplet::Result<()> {
        let client = connect(server().build(), version).await?;
        let greeting = client.call("greet", json!({ "name": "Ada" })).await?;
        assert_eq!(greeting.text(), "Hello, Ada!");
        Ok(())
    }
}
