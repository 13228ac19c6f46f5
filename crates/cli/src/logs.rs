//! Log lines of the libraries, on standard error. Commands that serve write them directly; other commands print them as
//! notes, so that they do not break a progress bar or an edited line.

use std::{
    io::{self, Write},
    sync::Arc,
};

use couplet_serve::{LogFormat, filter, start_logs};
use tracing_subscriber::{
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::output::{Look, Output, text};

/// Connection errors and unverified certificates are reported by the command itself.
const USUAL: &str = "warn,couplet_client=off,couplet_http::client::tls=off";
const VERBOSE: &str = "info,couplet_client=off,couplet_http::client::tls=off";
const SERVING: &str = "info";
/// Servers that fail are reported by the command itself, too.
const INSPECTING: &str = "warn,couplet_client=off,couplet_http::client::tls=off,couplet_host=off";

/// Starts logging, filtered by `RUST_LOG`. The default is `info` for commands that serve over HTTP, and `warn` for others.
pub(crate) fn start(look: Look, serves: bool, inspects: bool, output: &Arc<Output>) {
    let default = match (serves, look.verbose) {
        (true, _) => SERVING,
        (false, true) => VERBOSE,
        (false, false) if inspects => INSPECTING,
        (false, false) => USUAL,
    };
    let (targets, complaint) = filter(default);
    if let Some(what) = complaint {
        output.warn(&text::visible(&what));
    }
    match (serves, look.log_format) {
        (true, format) => start_logs(format, targets, io::stderr),
        (false, LogFormat::Json) => start_logs(LogFormat::Json, targets, Notes(output.clone())),
        (false, LogFormat::Text) => {
            let lines = fmt::layer().compact().with_ansi(false).without_time().with_target(false);
            let lines = lines.with_writer(Notes(output.clone()));
            // No other subscriber is set in this program.
            let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
        }
    }
}

/// A writer that prints each line as a note.
struct Notes(Arc<Output>);

struct Line {
    output: Arc<Output>,
    text: Vec<u8>,
}

impl<'a> MakeWriter<'a> for Notes {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line { output: self.0.clone(), text: Vec::new() }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        if !text.trim_end().is_empty() {
            self.output.note(&text::visible(text.trim_end()));
        }
    }
}
