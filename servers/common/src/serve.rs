//! Serving until it is over, or until a signal comes.

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

/// The flags that every server of ours has.
#[derive(clap::Args, Clone, Debug)]
pub struct ServeArgs {
    /// Serve HTTP at this address, such as 127.0.0.1:3001, instead of standard input and output
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,
    /// The size of one message: 16M by default; K, M and G are for 1024
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub max_message: Option<usize>,
    /// The flags of the HTTP endpoint.
    #[command(flatten)]
    pub site: SiteArgs,
    /// The flags of the logs.
    #[command(flatten)]
    pub log: LogArgs,
}

/// Serves over standard input and output, or over HTTP, until the client is gone or a signal comes; running calls are
/// finished. Over HTTP the first line of standard error is the URL (with `--log-format json` it is a log line), and
/// logs begin at `info`; otherwise at `warn`.
///
/// # Errors
/// When the address cannot be listened at, or the connection is lost.
#[expect(clippy::print_stderr, reason = "the caller of a program wants to know where it is")]
pub async fn serve(service: Arc<dyn Service>, args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    let (targets, complaint) = filter(if args.http.is_some() { "info" } else { "warn" });
    let limits = args.max_message.map_or_else(Limits::default, |bytes| Limits::default().max_message(bytes));
    let grace = args.site.grace;
    // Before the address is told: from then on a signal may come.
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
