//! `couplet run`: a server that is somewhere, served here: over stdio, or over HTTP, in every revision.

use std::sync::Arc;

use couplet::{
    core::{Limits, Transport},
    http::server::HttpTransport,
    proxy::Proxy,
    stdio::stdio,
};
use tokio::net::TcpListener;

use crate::{
    exit::{Exit, Failure},
    output::Output,
    show,
    target::{Heard, TargetArgs, builder, or_interrupted},
};

/// How often in a row a server that is gone is started again.
const RESTARTS: u32 = 5;

const HELP: &str = "A server that keeps sessions has a connection (a process, on stdio) for each session of a client, \
up to --connections. Clients that keep no session share one, until the server asks its first question. \
A client that keeps no session answers a question by sending its request again; the call waits at the server meanwhile \
and runs once. It runs again from its beginning if the client comes back after 10 minutes, to another `couplet run`, or \
when all connections are in use. A server that ends is started again, up to 5 times in a row.";

/// What to serve, and where.
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Serves over Streamable HTTP at this address (127.0.0.1:8080, or a port alone) and not over stdio
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// The most connections to a server that keeps sessions
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    connections: usize,
    #[command(flatten)]
    site: SiteArgs,
}

/// How a server is reached over HTTP.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct SiteArgs {
    /// Where the endpoint is
    #[arg(long, help_heading = "HTTP", value_name = "PATH", default_value = "/mcp")]
    path: String,
    /// Answers requests to this host name, beside those of this machine
    #[arg(long, help_heading = "HTTP", value_name = "NAME")]
    allow_host: Vec<String>,
    /// Answers requests of pages from this origin, such as https://app.example.com
    #[arg(long, help_heading = "HTTP", value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Serves clients of HTTP+SSE, the transport of the first revision, too
    #[arg(long, help_heading = "HTTP")]
    sse: bool,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let target = args.target.find()?;
    // Before anything is started: an address that is taken is told at once.
    let listener = match &args.http {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let heard = Arc::new(Heard::new(output));
    let client = builder(&args.target.connection)?;
    let server = target.connector(heard.clone(), output)?;
    let proxy = Proxy::builder(client).connections(args.connections).reconnect_attempts(RESTARTS);
    let connecting = async { Ok(proxy.connect(server).await?) };
    let proxy = or_interrupted(Box::pin(connecting)).await.map_err(|failure| heard.explain(failure))?;
    output.note(&show::heading(proxy.client().server(), &target, output.err));
    let service = proxy.service();
    let serving = match listener {
        Some(listener) => {
            output.note(&format!("serving at {}", output.err.name(url(&listener, &args.site))));
            let transport = args.site.transport(listener);
            let shutdown = transport.shutdown();
            let serving = transport.serve(service, Limits::default());
            let ended = serve(&proxy, serving).await;
            shutdown.shut_down();
            ended
        }
        None => serve(&proxy, stdio().serve(service, Limits::default())).await,
    };
    let outcome = serving.map_err(|failure| heard.explain(failure));
    // Whoever is interrupted has what they wanted.
    match outcome {
        Err(failure) if failure.exit == Exit::Interrupted => {}
        outcome => outcome?,
    }
    let _ = proxy.close().await;
    Ok(())
}

/// Serves until the client is gone, the server is, or the person has enough.
pub(crate) async fn serve(
    proxy: &Proxy,
    serving: impl Future<Output = Result<(), couplet::Error>>,
) -> Result<(), Failure> {
    tokio::select! {
        served = or_interrupted(async { Ok(serving.await?) }) => served,
        error = proxy.closed() => Err(error.into()),
    }
}

/// Listens at an address; a port alone is one of this machine.
pub(crate) async fn listen(address: &str) -> Result<TcpListener, Failure> {
    let address = match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => address.to_owned(),
    };
    TcpListener::bind(&address).await.map_err(|error| {
        let failure = Failure::new(Exit::Unreachable, format!("cannot listen at `{address}`: {error}"));
        match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.hint("another program listens there; port 0 takes any that is free")
            }
            std::io::ErrorKind::PermissionDenied => failure.hint("ports below 1024 are for the system; choose another"),
            _ => failure.hint("an address is written as 127.0.0.1:8080"),
        }
    })
}

/// Where clients find it.
pub(crate) fn url(listener: &TcpListener, site: &SiteArgs) -> String {
    let address = listener.local_addr().map_or_else(|_| "?".to_owned(), |address| address.to_string());
    format!("http://{address}{}", site.path)
}

impl SiteArgs {
    pub(crate) fn transport(&self, listener: TcpListener) -> HttpTransport {
        let site = self.clone();
        HttpTransport::on(listener).path(self.path.clone()).endpoint(move |endpoint| {
            let endpoint = site.allow_host.into_iter().fold(endpoint, |endpoint, host| endpoint.allow_host(host));
            let endpoint =
                site.allow_origin.into_iter().fold(endpoint, |endpoint, origin| endpoint.allow_origin(origin));
            endpoint.sse_2024(site.sse)
        })
    }
}
