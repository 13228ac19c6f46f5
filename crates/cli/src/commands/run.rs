//! `couplet run`: a server that is somewhere, served here: over stdio, or over HTTP, in every revision.

use std::sync::Arc;

use couplet::{Client, core::Transport, proxy::Proxy, stdio::stdio};
use couplet_serve::{Signals, SiteArgs, bind, drained, url};

use crate::{
    exit::{Exit, Failure},
    output::Output,
    show,
    target::{Heard, TargetArgs, builder, or_interrupted},
};

/// What to serve, and where.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Serves over Streamable HTTP at this address (127.0.0.1:8080, or a port alone) and not over stdio
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
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
    let target = args.target.find()?;
    // Before anything is started: an address that is taken is told at once.
    let listener = match &args.http {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let heard = Arc::new(Heard::new(output));
    let client = builder(&args.target.connection)?;
    let server = target.connector(heard.clone(), output)?;
    let connecting = async { Ok(Proxy::connect(client, server).await?) };
    let proxy = or_interrupted(Box::pin(connecting)).await.map_err(|failure| heard.explain(failure))?;
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
            serve(proxy.client(), drained(signals, serving, move || shutdown.shut_down(), grace)).await
        }
        None => {
            let (begin, begun) = tokio::sync::oneshot::channel::<()>();
            let serving = stdio().with_graceful_shutdown(async { drop(begun.await) }).serve(service, limits);
            let drain = move || {
                let _ = begin.send(());
            };
            serve(proxy.client(), drained(signals, serving, drain, grace)).await
        }
    };
    serving.map_err(|failure| heard.explain(failure))?;
    // A second signal does not wait for a server that does not want to end.
    let _ = or_interrupted(async { Ok(proxy.client().close().await?) }).await;
    Ok(())
}

/// Serves until the client is gone, the server is, or a signal came and running calls are finished.
pub(crate) async fn serve(
    server: &Client,
    serving: impl Future<Output = Result<(), couplet::Error>>,
) -> Result<(), Failure> {
    let mut notices = server.notifications();
    let gone = async { while notices.next().await.is_some() {} };
    tokio::select! {
        served = serving => Ok(served?),
        () = gone => Err(match server.close().await {
            Err(error) => error.into(),
            Ok(()) => Failure::new(Exit::Unreachable, "the server is gone"),
        }),
    }
}
