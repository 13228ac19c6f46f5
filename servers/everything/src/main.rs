//! `couplet-everything`: the server on standard input and output, or on the network.

use std::process::ExitCode;

use clap::Parser;
use couplet::{http::server::HttpTransport, prelude::*};
use tokio::net::TcpListener;

/// A server that shows everything that the Model Context Protocol has
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// Serve HTTP at this address, such as 127.0.0.1:3001, instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    http: Option<String>,
    /// How many entries a page of a list has
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    page_size: usize,
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stderr, reason = "it is a program, and standard error is for people")]
async fn main() -> ExitCode {
    match run(Flags::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("couplet-everything: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "whoever started it wants to know where it is")]
async fn run(flags: Flags) -> Result<(), Box<dyn std::error::Error>> {
    let server = couplet_everything::server().page_size(flags.page_size);
    let Some(address) = flags.http else { return Ok(server.serve(stdio()).await?) };
    let listener = TcpListener::bind(&address).await.map_err(|e| format!("cannot listen at `{address}`: {e}"))?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    Ok(server.serve(HttpTransport::on(listener)).await?)
}
