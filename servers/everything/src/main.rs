//! `couplet-everything`: the server on standard input and output, or on the network.

use std::{error::Error, process::ExitCode, sync::Arc};

use clap::Parser;
use couplet_everything::ShownEnv;
use couplet_serve::{ServeArgs, serve};

/// A server that shows everything that the Model Context Protocol has
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// How many entries a page of a list has
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    page_size: usize,
    /// Over HTTP, the tool get-env shows this variable too, beside those that begin with COUPLET_
    #[arg(long, value_name = "NAME")]
    show_env: Vec<String>,
    #[command(flatten)]
    serve: ServeArgs,
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

async fn run(flags: Flags) -> Result<(), Box<dyn Error>> {
    // Over standard input and output the client is the program that set the environment.
    let shown = match flags.serve.http {
        None => ShownEnv::all(),
        Some(_) => ShownEnv::only(flags.show_env),
    };
    let server = couplet_everything::server_showing(shown).page_size(flags.page_size);
    serve(Arc::new(server.build()), &flags.serve).await
}
