//! The benchmarked server: `bench-server stdio`, or `bench-server http PORT`.
//!
//! It is written as a user would write it, with default settings. With the feature `store`, `http` takes the flags of
//! replicas too: `--store`, `--state-key-file` and `--node-url`.

use couplet::prelude::*;

/// Add two integers
#[tool]
fn add(
    /// left operand
    a: i64,
    /// right operand
    b: i64,
) -> String {
    (a + b).to_string()
}

/// Return the text unchanged
#[tool]
fn echo(
    /// text to return
    text: String,
) -> String {
    text
}

/// Return a text of the given size
#[tool]
fn payload(
    /// size of the result text
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// The arguments of the dummy tools.
#[derive(serde::Deserialize, JsonSchema)]
#[expect(dead_code, reason = "dummy tools ignore their arguments")]
struct Dummy {
    /// what to look for
    query: String,
    /// how many
    limit: Option<i64>,
}

fn server() -> Server {
    // The number of tools can be varied; a list has all of them on one page.
    let dummies = std::env::var("BENCH_TOOLS").map_or(100, |number| number.parse().expect("a number of tools"));
    let server = Server::new("bench", "1.0.0").page_size(dummies + 3).tool(add).tool(echo).tool(payload);
    (0..dummies).fold(server, |server, i| {
        let dummy = tool(format!("dummy_{i:03}"), |_: Args<Dummy>| "ok");
        server.tool(dummy.description(format!("Dummy tool number {i}")))
    })
}

fn main() -> couplet::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => over_stdio(),
        ["http", port] => over_http(port),
        #[cfg(feature = "store")]
        ["http", port, ..] => store::over_http(port, arguments.iter().skip(1)),
        _ => panic!("usage: bench-server stdio | http PORT"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn over_stdio() -> couplet::Result<()> {
    server().serve(stdio()).await
}

#[tokio::main]
async fn over_http(port: &str) -> couplet::Result<()> {
    server().serve(couplet::http::listen(format!("127.0.0.1:{port}"))).await
}

/// A replica.
#[cfg(feature = "store")]
mod store {
    use clap::Parser;
    use couplet::signal;
    use couplet_serve::SharedArgs;

    #[derive(Parser)]
    #[command(name = "bench-server http PORT")]
    struct Flags {
        #[command(flatten)]
        shared: SharedArgs,
    }

    /// The first of the arguments is the port.
    #[tokio::main]
    pub(crate) async fn over_http<'a>(port: &str, arguments: impl Iterator<Item = &'a String>) -> couplet::Result<()> {
        let shared = Flags::parse_from(arguments).shared.open().unwrap_or_else(|error| panic!("bench-server: {error}"));
        let transport = couplet::http::listen(format!("127.0.0.1:{port}")).with_graceful_shutdown(signal::shutdown());
        shared.configure(super::server()).serve(shared.transport(transport)).await
    }
}
