//! Serving with graceful shutdown.

use std::{error::Error, sync::Arc};

use couplet::{
    core::{Limits, Service, Transport},
    signal::{Signals, serve_until_signal},
    stdio::stdio,
};

use crate::{
    logs::{LogArgs, LogFormat, filter, start_logs},
    site::{SiteArgs, bind, bytes, url},
};

/// The flags of every server program.
#[derive(clap::Args, Clone, Debug)]
pub struct ServeArgs {
    /// Listen on this address (127.0.0.1:3001, or a port alone) for HTTP, instead of stdio
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,
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
/// log level is `info`; over stdio it is `warn`.
///
/// # Errors
/// If the address cannot be bound, or the connection fails.
#[expect(clippy::print_stderr, reason = "the program prints its URL")]
pub async fn serve(service: Arc<dyn Service>, args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    let (targets, complaint) = filter(if args.http.is_some() { "info" } else { "warn" });
    let limits = args.max_message.map_or_else(Limits::default, |bytes| Limits::default().max_message(bytes));
    let grace = args.site.grace;
    // Before the URL is printed, since a signal may follow it.
    let signals = Signals::new()?;
    let Some(address) = &args.http else {
        start_logs(args.log.log_format, targets, std::io::stderr);
        report(complaint);
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let transport = stdio().with_graceful_shutdown(async { drop(begun.await) });
        let drain = move || {
            let _ = begin.send(());
        };
        return Ok(serve_until_signal(signals, transport.serve(service, limits), drain, grace).await?);
    };
    let listener = bind(address).await?;
    let url = url(&listener, &args.site);
    if args.log.log_format == LogFormat::Text {
        eprintln!("{url}");
    }
    start_logs(args.log.log_format, targets, std::io::stderr);
    report(complaint);
    if args.log.log_format == LogFormat::Json {
        tracing::info!(url, "serving");
    }
    let transport = args.site.transport(listener);
    let shutdown = transport.shutdown();
    Ok(serve_until_signal(signals, transport.serve(service, limits), move || shutdown.trigger(), grace).await?)
}

fn report(complaint: Option<String>) {
    if let Some(what) = complaint {
        tracing::warn!("{what}");
    }
}
