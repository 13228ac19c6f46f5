//! Log lines on standard error.

use std::env;

use clap::ValueEnum;
use tracing_subscriber::{
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// The flags for logging.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct LogArgs {
    /// Format of log lines: text or json; RUST_LOG filters them
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub log_format: LogFormat,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Plain text.
    Text,
    /// A JSON object per line.
    Json,
}

/// Returns the filter of `RUST_LOG`, or `default` if it is not set. The second value is a warning about an invalid
/// `RUST_LOG`.
#[must_use]
pub fn filter(default: &str) -> (Targets, Option<String>) {
    chosen(env::var("RUST_LOG").ok().as_deref(), default)
}

fn chosen(wanted: Option<&str>, default: &str) -> (Targets, Option<String>) {
    let usual = || default.parse().unwrap_or_default();
    match wanted.map(str::trim).filter(|text| !text.is_empty()) {
        None => (usual(), None),
        Some(text) => match text.parse() {
            Ok(targets) => (targets, None),
            Err(error) => {
                let what =
                    format!("invalid `RUST_LOG`: {error}; expected a filter such as info or couplet_http=debug,warn");
                (usual(), Some(what))
            }
        },
    }
}

/// Starts logging. Does nothing if the process has a subscriber already.
pub fn start_logs<W>(format: LogFormat, targets: Targets, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let registry = tracing_subscriber::registry().with(targets);
    // Fails if there is a subscriber already, which then stays.
    let _ = match format {
        LogFormat::Text => registry.with(fmt::layer().with_ansi(false).with_writer(writer)).try_init(),
        LogFormat::Json => registry.with(fmt::layer().json().flatten_event(true).with_writer(writer)).try_init(),
    };
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::filter::LevelFilter;

    use super::*;

    #[track_caller]
    fn check(wanted: Option<&str>, expected: LevelFilter, complains: bool) {
        let (targets, complaint) = chosen(wanted, "info");
        assert_eq!((targets.default_level(), complaint.is_some()), (Some(expected), complains), "{wanted:?}");
    }

    #[test]
    fn the_environment_sets_the_filter() {
        check(None, LevelFilter::INFO, false);
        check(Some(" "), LevelFilter::INFO, false);
        check(Some("debug"), LevelFilter::DEBUG, false);
        check(Some("couplet_http=trace,error"), LevelFilter::ERROR, false);
        check(Some("couplet_http=loud"), LevelFilter::INFO, true);
    }
}
