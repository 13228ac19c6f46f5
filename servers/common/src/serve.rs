//! Serves on standard input and output or over HTTP, until a signal arrives.

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
    /// Serve HTTP at this address, such as 127.0.0.1:3001, instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,
    /// Maximum size of a message (default: 16M); K, M and G are powers of 1024
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub max_message: Option<usize>,
    /// The flags of the HTTP endpoint.
    #[command(flatten)]
    pub site: SiteArgs,
    /// The flags of the logs.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Serves on standard input and output, or over HTTP, until the client disconnects or a signal arrives; then it shuts down
/// gracefully. Over HTTP the first line on standard error is the URL (with `--log-format json` it is a log line), and the
/// default log level is `info`; otherwise `warn`.
///
/// # Errors
/// If the address cannot be bound, or the transport fails.
#[expect(clippy::print_stderr, reason = "the URL is for the user who started the program")]
pub async fn serve(service: Arc<dyn Service>, args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    let (targets, warning) = filter(if args.http.is_some() { "info" } else { "warn" });
    let limits = args.max_message.map_or_else(Limits::default, |bytes| Limits::default().max_message(bytes));
    let grace = args.site.grace;
    // Before the URL is printed: from then on a signal may arrive.
    let signals = Signals::new()?;
    let Some(address) = &args.http else {
        start_logs(args.log.log_format, targets, std::io::stderr);
        report(warning);
        let (begin, begun) = tokio::sync::oneshot::channel::<()>();
        let transport = stdio().with_graceful_shutdown(async { drop(begun.await) });
        // Without a receiver, serving is over.
        let begin = move || begin.send(()).unwrap_or_default();
        return Ok(serve_until_signal(signals, transport.serve(service, limits), begin, grace).await?);
    };
    let listener = bind(address).await?;
    let url = url(&listener, &args.site);
    if args.log.log_format == LogFormat::Text {
        eprintln!("{url}");
    }
    start_logs(args.log.log_format, targets, std::io::stderr);
    report(warning);
    if args.log.log_format == LogFormat::Json {
        tracing::info!(url, "serving");
    }
    let transport = args.site.transport(listener);
    let shutdown = transport.shutdown();
    Ok(serve_until_signal(signals, transport.serve(service, limits), move || shutdown.trigger(), grace).await?)
}

fn report(warning: Option<String>) {
    if let Some(what) = warning {
        tracing::warn!("{what}");
    }
}
