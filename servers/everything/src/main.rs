//! `couplet-everything`: the server over stdio or HTTP.

use std::{error::Error, process::ExitCode, sync::Arc};

use clap::Parser;
use couplet_everything::ShownEnv;
use couplet_serve::{ServeArgs, SharedArgs, serve};

/// Model Context Protocol server that shows every feature of the protocol
#[derive(Parser)]
#[command(version, max_term_width = 80)]
struct Flags {
    /// Number of entries per page of a list
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    page_size: usize,
    /// Environment variable that the tool get-env may show over HTTP, besides COUPLET_*
    #[arg(long, value_name = "NAME")]
    show_env: Vec<String>,
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    serve: ServeArgs,
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stderr, reason = "a program reports its errors")]
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
    // Over stdio, the client started this process and set its environment.
    let shown = if flags.serve.socket.is_http() { ShownEnv::only(flags.show_env) } else { ShownEnv::all() };
    let shared = flags.shared.open()?;
    let server = couplet_everything::server_with(shown, shared.tasks()).page_size(flags.page_size);
    serve(Arc::new(shared.configure(server).build()), &flags.serve, &shared).await
}
