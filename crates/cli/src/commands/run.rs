//! `couplet run`: bridges a server to stdio or HTTP, in every revision.

use std::{sync::Arc, time::Duration};

use couplet::{
    core::Transport,
    proxy::{Proxy, ProxyBuilder},
    stdio::stdio,
};
use couplet_serve::{KeyError, Shared, SharedArgs, Signals, SiteArgs, SocketArgs, serve_http, serve_until_signal};

use crate::{
    exit::{Exit, Failure},
    output::Output,
    show,
    target::{Diagnostics, LockArgs, Stop, TargetArgs, builder, end_children, guarded, or_interrupted},
    threads::ThreadArgs,
};

/// How many times in a row a server is reconnected or restarted.
const RESTARTS: u32 = 5;

/// The arguments of `couplet run`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    socket: SocketArgs,
    /// Maximum number of connections to a session-based server
    #[arg(long, value_name = "NUMBER", default_value_t = 16)]
    connections: usize,
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    threads: ThreadArgs,
    #[command(flatten)]
    site: SiteArgs,
}

impl Args {
    pub(crate) fn threads(&self) -> ThreadArgs {
        self.threads
    }

    /// Whether the command serves over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.socket.is_http()
    }
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let (target, stop) = (args.target.find()?, Stop::new(args.target.connection.max_time));
    // Before the server is started, so that an address in use is reported at once.
    let socket = args.socket.bind(&args.site).await?;
    let shared = open(&args.shared)?;
    if let Some(warning) = shared.warning() {
        output.warn(&warning);
    }
    let diagnostics = Arc::new(Diagnostics::new(output));
    let client = builder(&args.target.connection)?;
    let server = target.connector(diagnostics.clone(), output)?;
    let proxy = Proxy::builder(client).connections(args.connections).reconnect_attempts(RESTARTS);
    let proxy = shared.sealer().into_iter().fold(proxy, ProxyBuilder::request_state_key);
    let connecting = async {
        Ok(match args.lock.file() {
            Some(file) => {
                proxy.connect(guarded(&target, &args.target.connection, server, &file, output).await?).await?
            }
            None => proxy.connect(server).await?,
        })
    };
    let proxy = match stop.unless(Box::pin(connecting)).await {
        Ok(proxy) => proxy,
        Err(failure) => {
            end_children(&failure).await;
            return Err(target.explain(diagnostics.explain(failure)));
        }
    };
    // Before the address is printed, since a signal may follow it.
    let signals = Signals::new().map_err(|e| Failure::new(Exit::File, format!("cannot listen for signals: {e}")))?;
    output.note(&show::heading(proxy.client().server(), &target, output.err));
    let service = proxy.service();
    let (limits, grace) = (args.target.connection.limits(), args.site.grace);
    let serving = match socket {
        Some(socket) => {
            output.note(&format!("serving at {}", output.err.name(socket.url(&args.site))));
            if let Some(url) = socket.metrics_url() {
                output.note(&format!("serving metrics at {}", output.err.name(url)));
            }
            if args.site.sse {
                output.note("HTTP+SSE clients connect with a GET at the same address");
            }
            let transport = shared.transport(args.site.transport(socket));
            stop.in_time(serve(&proxy, serve_http(signals, service, limits, transport, &args.site))).await
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
    // A second signal does not wait for a server that does not exit.
    let closing = async {
        proxy.close().await?;
        // With a lock, the server is behind a host, which closing the proxy does not end.
        couplet::stdio::children::stop(Duration::from_secs(1)).await;
        Ok(())
    };
    let _ = or_interrupted(closing).await;
    serving.map_err(|failure| diagnostics.explain(failure))
}

/// Reads the key and prepares the store. Nothing of the server is in it: each replica has a connection of its own.
fn open(args: &SharedArgs) -> Result<Shared, Failure> {
    args.open().map_err(|error| {
        let exit = if error.is::<KeyError>() { Exit::File } else { Exit::Usage };
        Failure::new(exit, error.to_string())
    })
}

/// Serves until the client or the server disconnects, or a graceful shutdown is complete.
pub(crate) async fn serve(
    proxy: &Proxy,
    serving: impl Future<Output = Result<(), couplet::Error>>,
) -> Result<(), Failure> {
    tokio::select! {
        served = serving => Ok(served?),
        error = proxy.closed() => Err(error.into()),
    }
}
