//! A server of ours with another one in it: `interop-mount <revision> <port> <prefix> <program> [argument..]`.
//!
//! The revision is that of the server which is mounted, or `auto`. It is served over HTTP, in all of them.

use std::{env, process::ExitCode};

use couplet::{ProtocolVersion, prelude::*, proxy::Proxy};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &[&str]) -> Outcome {
    let [revision, port, prefix, program, rest @ ..] = arguments else {
        return Err("usage: interop-mount <revision> <port> <prefix> <program> [argument..]".into());
    };
    let client = Client::new("interop-mount", "1.0.0");
    let client = match *revision {
        "auto" => client,
        date => {
            let revision: ProtocolVersion = date.parse().map_err(|_| format!("there is no revision `{date}`"))?;
            client.versions([revision])
        }
    };
    let inside = Proxy::connect(client, Command::new(program).args(rest)).await?;
    let server = Server::new("interop-mount", "1.0.0").tool(own).mount(prefix, inside.service());
    Ok(server.serve(couplet::http::listen(format!("127.0.0.1:{port}"))).await?)
}

/// A tool of the server itself.
#[tool]
fn own() -> &'static str {
    "mine"
}
