//! The `main` of a server: standard input and output, or HTTP.

mod args;

use std::{ffi::OsString, io::Write, process::ExitCode, time::Duration};

use couplet_core::{Error, ErrorKind, Service};
use couplet_http::server::HttpTransport;
use couplet_server::ServerHandle;
use couplet_stdio::stdio;
use tokio::{net::TcpListener, sync::oneshot};

use crate::signal::{Signals, serve_until_signal};
use args::Mode;

/// The grace period of running calls after a signal.
const GRACE: Duration = Duration::from_secs(10);

/// The exit code for a command line that cannot be parsed, by convention.
const USAGE: u8 = 2;

/// Runs a server as a program: on standard input and output, or over HTTP with `--http [ADDRESS]`.
///
/// ```no_run
/// use couplet::prelude::*;
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// #[tokio::main]
/// async fn main() -> std::process::ExitCode {
///     couplet::run(Server::new("calculator", "1.0.0").tool(add)).await
/// }
/// ```
///
/// | argument | meaning |
/// |---|---|
/// | none | serves standard input and output, until the client closes the input |
/// | `--http`, `--http ADDRESS` | serves HTTP at the address (default: `127.0.0.1:8080`), with the endpoint `/mcp`; the URL is the first line on standard error |
/// | `--help`, `--version` | prints help, or the server's name and version |
///
/// SIGINT (Ctrl-C) and SIGTERM start a graceful shutdown: running calls have 10 seconds to finish, and a second signal
/// ends them at once. The exit code is 0 after a shutdown, 1 after an error, and 2 for arguments that are not in the table;
/// errors go to standard error.
///
/// Over HTTP it answers requests to this machine's own host names. Other host names, OAuth and limits are configured on
/// [`http::listen`](crate::http::listen): combine it with [`signal`](crate::signal) where this function is not enough.
///
/// # Panics
/// If two tools, resources or prompts have the same name, as [`Server::build`](crate::Server::build) does.
pub async fn run(server: impl Into<ServerHandle>) -> ExitCode {
    run_with_args(server, std::env::args_os().skip(1)).await
}

/// Runs a server as a program, with other arguments than those of the process: for programs that have options of their
/// own. See [`run`].
pub async fn run_with_args(
    server: impl Into<ServerHandle>,
    args: impl IntoIterator<Item = impl Into<OsString>>,
) -> ExitCode {
    let server = server.into();
    let info = &server.describe().info;
    let served = match args::parse(args.into_iter().map(Into::into)) {
        Ok(Mode::Stdio) => serve_stdio(server).await,
        Ok(Mode::Http(address)) => serve_http(server, &address).await,
        Ok(Mode::Help) => say(std::io::stdout(), &args::help(&info.name, &info.version)),
        Ok(Mode::Version) => say(std::io::stdout(), &format!("{} {}", info.name, info.version)),
        Err(what) => {
            let _ = say(std::io::stderr(), &format!("{}: {what}\n{}", info.name, args::usage(&info.name)));
            return ExitCode::from(USAGE);
        }
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = say(std::io::stderr(), &format!("{}: {error}", info.name));
            ExitCode::FAILURE
        }
    }
}

async fn serve_stdio(server: ServerHandle) -> Result<(), Error> {
    let signals = Signals::new()?;
    let (begin, begun) = oneshot::channel::<()>();
    let transport = stdio().with_graceful_shutdown(async { drop(begun.await) });
    // Without a receiver, serving is over.
    let begin = move || begin.send(()).unwrap_or_default();
    serve_until_signal(signals, server.serve(transport), begin, GRACE).await
}

async fn serve_http(server: ServerHandle, address: &str) -> Result<(), Error> {
    // Before the URL is printed: from then on a signal may arrive.
    let signals = Signals::new()?;
    let listener = TcpListener::bind(address).await.map_err(|error| {
        Error::new(ErrorKind::Config, format!("cannot listen on `{address}`: {error}")).with_source(error)
    })?;
    say(std::io::stderr(), &format!("http://{}/mcp", listener.local_addr()?))?;
    let transport = HttpTransport::from_listener(listener).grace(GRACE);
    let shutdown = transport.shutdown();
    serve_until_signal(signals, server.serve(transport), move || shutdown.trigger(), GRACE).await
}

fn say(mut to: impl Write, text: &str) -> Result<(), Error> {
    Ok(writeln!(to, "{text}")?)
}
