//! `couplet run`: a server that is somewhere, served here: over stdio, or over HTTP, in every revision.

use std::sync::Arc;

use couplet::{core::Transport, proxy::Proxy, stdio::stdio};
use couplet_serve::{Signals, SiteArgs, bind, serve_until_signal, url};

use crate::{
    exit::{Exit, Failure},
    output::Output,
    show,
    target::{Heard, Stop, TargetArgs, builder, end_children, or_interrupted},
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

impl Args {
    /// Whether it serves over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.http.is_some()
    }
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let (target, stop) = (args.target.find()?, Stop::new(args.target.connection.max_time));
    // Before anything is started: an address that is taken is told at once.
    let listener = match &args.http {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let heard = Arc::new(Heard::new(output));
    let client = builder(&args.target.connection)?;
    let server = target.connector(heard.clone(), output)?;
    let proxy = Proxy::builder(client).connections(args.connections).reconnect_attempts(RESTARTS);
    let connecting = async { Ok(proxy.connect(server).await?) };
    let proxy = match stop.unless(Box::pin(connecting)).await {
        Ok(proxy) => proxy,
        Err(failure) => {
            end_children(&failure).await;
            return Err(target.explain(heard.explain(failure)));
        }
    };
    // Before the address is told: from then on a signal may come.
    let signals = Signals::new().map_err(|e| Failure::new(Exit::File, format!("signals cannot be handled: {e}")))?;
    output.note(&show::heading(proxy.client().server(), &target, output.err));
    let service = proxy.service();
    let (limits, grace) = (args.target.connection.limits(), args.site.grace);
    let serving = match listener {
        Some(listener) => {
            output.note(&format!("serving at {}", output.err.name(url(&listener, &args.site))));
            if args.site.sse {
                output.note("clients of HTTP+SSE begin with a GET at the same address");
            }
            let transport = args.site.transport(listener);
            let shutdown = transport.shutdown();
            let serving = transport.serve(service, limits);
            stop.in_time(serve(&proxy, serve_until_signal(signals, serving, move || shutdown.trigger(), grace))).await
        }
        None => {
            let (begin, begun) = tokio::sync::oneshot::channel::<()>();
            let serving = stdio().with_graceful_shutdown(async { drop(begun.await) }).serve(service, limits);
            let drain = move || {
                let _ = begin.send(());
            };
            stop.in_time(serve(&proxy, serve_until_signal(signals, serving, drain, grace))).await
        }
    };
    // A second signal does not wait for a server that does not want to end.
    let _ = or_interrupted(async { Ok(proxy.close().await?) }).await;
    serving.map_err(|failure| heard.explain(failure))
}

/// Serves until the client is gone, the server is, or a signal came and running calls are finished.
pub(crate) async fn serve(
    proxy: &Proxy,
    serving: impl Future<Output = Result<(), couplet::Error>>,
) -> Result<(), Failure> {
    tokio::select! {
        served = serving => Ok(served?),
        error = proxy.closed() => Err(error.into()),
    }
}
