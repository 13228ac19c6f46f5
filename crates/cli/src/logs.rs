//! Log lines of the libraries, on standard error: those of a server in their usual form, those of other commands among
//! the notes, so that they do not tear a progress bar or a line that is being edited.

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

/// Failures of a connection, and certificates that are not checked, are told by the command itself.
const USUAL: &str = "warn,couplet_client=off,couplet_http::client::tls=off";
const VERBOSE: &str = "info,couplet_client=off,couplet_http::client::tls=off";
const SERVING: &str = "info";

/// Begins to write log lines, as `RUST_LOG` says. Without it, only a command that serves over HTTP tells of all.
pub(crate) fn start(look: Look, serves: bool, output: &Arc<Output>) {
    let default = match (serves, look.verbose) {
        (true, _) => SERVING,
        (false, true) => VERBOSE,
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
            // There is no other subscriber in this program.
            let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
        }
    }
}

/// Writes each line as a note.
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
