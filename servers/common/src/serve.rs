//! Serving with graceful shutdown.

use std::{error::Error, sync::Arc};

use couplet::{
    core::{Limits, Service, Transport},
    http::server::HttpTransport,
    signal::{Signals, serve_until_signal},
    stdio::stdio,
};

use crate::{
    logs::{LogArgs, LogFormat, filter, start_logs},
    notify,
    shared::Shared,
    site::{SiteArgs, bytes},
    socket::SocketArgs,
};

/// The flags of every server program.
#[derive(clap::Args, Clone, Debug)]
pub struct ServeArgs {
    /// The flags of the socket.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Maximum size of a message, such as 512K or 64M (default: 16M)
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub max_message: Option<usize>,
    /// The flags of the HTTP endpoint.
    #[command(flatten)]
    pub site: SiteArgs,
    /// The flags of the logs.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Serves over stdio or HTTP until the client disconnects or a signal comes, then shuts down gracefully.
///
/// Over HTTP the first line of standard error is the URL (with `--log-format json` it is a log line), and the default
/// log level is `info`; over stdio it is `warn`. Sessions are those of the [`Shared`] store.
///
/// # Errors
/// If the address cannot be bound, or the connection fails.
#[expect(clippy::print_stderr, reason = "the program prints its URL")]
pub async fn serve(service: Arc<dyn Service>, args: &ServeArgs, shared: &Shared) -> Result<(), Box<dyn Error>> {
    let (targets, complaint) = filter(if args.socket.is_http() { "info" } else { "warn" });
    let limits = args.max_message.map_or_else(Limits::default, |bytes| Limits::default().max_message(bytes));
    // Before the URL is printed, since a signal may follow it.
    let signals = Signals::new()?;
    let Some(socket) = args.socket.bind(&args.site).await? else {
        start_logs(args.log.log_format, targets, std::io::stderr);
        report(complaint.into_iter().chain(shared.warning()));
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let transport = stdio().with_graceful_shutdown(async { drop(begun.await) });
        let drain = move || {
            let _ = begin.send(());
        };
        let grace = args.site.grace;
        return Ok(serve_until_signal(signals, transport.serve(service, limits), drain, grace).await?);
    };
    let (url, metrics) = (socket.url(&args.site), socket.metrics_url());
    if args.log.log_format == LogFormat::Text {
        eprintln!("{url}");
    }
    start_logs(args.log.log_format, targets, std::io::stderr);
    report(complaint.into_iter().chain(shared.warning()));
    if args.log.log_format == LogFormat::Json {
        tracing::info!(url, "serving");
    }
    if let Some(url) = metrics {
        tracing::info!(url, "serving metrics");
    }
    let transport = shared.transport(args.site.transport(socket));
    Ok(serve_http(signals, service, limits, transport, &args.site).await?)
}

/// Serves over HTTP until a signal comes, then shuts down gracefully. A service manager that waits for it (`sd_notify`) is
/// notified of both.
///
/// # Errors
/// If the serving fails.
pub async fn serve_http(
    signals: Signals,
    service: Arc<dyn Service>,
    limits: Limits,
    transport: HttpTransport,
    site: &SiteArgs,
) -> couplet::Result<()> {
    let shutdown = transport.shutdown();
    let serving = transport.on_listening(notify::ready).serve(service, limits);
    let stop = move || {
        notify::stopping();
        shutdown.trigger();
    };
    serve_until_signal(signals, serving, stop, site.shutdown_time()).await
}

fn report(warnings: impl IntoIterator<Item = String>) {
    for what in warnings {
        tracing::warn!("{what}");
    }
}
