//! The server of the interop suite: `interop-server stdio` or `interop-server http <port>`.

use std::{env, process::ExitCode};

use couplet::{prelude::*, tasks::Tasks};
use couplet_interop::tools::server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let server = || server(Tasks::in_memory());
    let served = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stdio", ..] => server().serve(stdio()).await,
        ["http", port] => server().serve(couplet::http::listen(format!("127.0.0.1:{port}"))).await,
        _ => {
            eprintln!("usage: interop-server stdio | http <port>");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = served {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
