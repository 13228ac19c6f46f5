//! Diagnostics of a connection, which explain errors: standard error, invalid messages, the requests sent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard},
};

use couplet::{core::sync::lock, types::code};

use crate::{
    exit::{Exit, Failure, SERVER_ERROR},
    output::{Output, text},
};

/// The diagnostics of a connection.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    output: Arc<Output>,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    /// The last lines of the server's standard error.
    errors: VecDeque<String>,
    /// The number of lines that are not messages.
    strays: usize,
    /// The number of JSON objects that could not be parsed, and the error of the last one.
    unread: (usize, String),
    /// The first methods sent.
    sent: Vec<String>,
    /// The last method sent.
    last: String,
    /// Whether the handshake is complete.
    met: bool,
}

impl Diagnostics {
    const ERRORS: usize = 20;
    const SENT: usize = 8;

    pub(crate) fn new(output: &Arc<Output>) -> Self {
        Self { output: output.clone(), record: Mutex::default() }
    }

    /// Records that the handshake is complete.
    pub(super) fn met(&self) {
        self.record().met = true;
    }

    /// Records that the server is started, perhaps again.
    pub(crate) fn started(&self) {
        self.record().errors.clear();
    }

    /// Records a line of standard error.
    pub(crate) fn error_line(&self, line: &str) {
        if self.output.verbose {
            let shown = text::visible(line);
            self.output.note(&format!("{} {shown}", self.output.err.faint("server |")));
        }
        let mut record = self.record();
        record.errors.push_back(line.to_owned());
        if record.errors.len() > Self::ERRORS {
            record.errors.pop_front();
        }
    }

    /// Records a line that is not a valid message, and warns about the first.
    pub(crate) fn stray(&self, excerpt: &[u8], what: &str) {
        const SHOWN: usize = 100;
        let strays = {
            let mut record = self.record();
            match excerpt.trim_ascii_start().starts_with(b"{") {
                true => record.unread = (record.unread.0 + 1, what.to_owned()),
                false => record.strays += 1,
            }
            record.strays + record.unread.0
        };
        if strays > 1 && !self.output.verbose {
            return;
        }
        let line = text::line(&String::from_utf8_lossy(excerpt));
        let line = text::cut(&line, SHOWN);
        self.output.warn(&format!("the server sent an invalid message: {}\n  {line}", text::line(what)));
    }

    pub(crate) fn strays(&self) -> usize {
        self.record().strays
    }

    /// Records the method of a request.
    pub(crate) fn sent(&self, method: &str) {
        if self.output.verbose {
            self.output.note(&self.output.err.faint(format!("sent {method}")));
        }
        let mut record = self.record();
        method.clone_into(&mut record.last);
        if record.sent.len() < Self::SENT {
            record.sent.push(method.to_owned());
        }
    }

    /// Adds diagnostics to an error of the connection.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match failure.exit {
            Exit::Refused => self.name_method(failure),
            Exit::Unreachable | Exit::Timeout | Exit::Protocol => self.add_details(failure),
            _ => failure,
        }
    }

    /// Names the method that the server does not support.
    fn name_method(&self, mut failure: Failure) -> Failure {
        let last = &self.record().last;
        let is_unknown = failure.rpc().is_some_and(|rpc| rpc.code == code::METHOD_NOT_FOUND);
        if is_unknown && !failure.message.contains(last.as_str()) {
            failure.message = failure.message.replacen(SERVER_ERROR, &format!("{SERVER_ERROR} for `{last}`"), 1);
        }
        failure
    }

    fn add_details(&self, mut failure: Failure) -> Failure {
        let record = self.record();
        // The standard error of the server follows in full.
        if let Some(at) = failure.message.find("; its last words: ") {
            failure.message.truncate(at);
        }
        if failure.exit == Exit::Timeout && !record.met && !record.sent.is_empty() {
            failure = failure.detail(format!("requests sent: {}", record.sent.join(", ")));
        }
        if !record.errors.is_empty() {
            failure = failure.detail("standard error of the server:");
            failure.details.extend(record.errors.iter().map(|line| format!("  | {line}")));
        }
        if record.strays > 0 {
            let lines = text::count(record.strays, "line that is not a message", "lines that are not messages");
            failure = failure
                .detail(format!("the server wrote {lines} to standard output"))
                .hint("a stdio server must write only messages to standard output, and logs to standard error");
        }
        if let (1.., what) = &record.unread {
            failure = match failure.message.contains(what.as_str()) {
                true => failure,
                false => failure.detail(format!("invalid message: {}", text::line(what))),
            };
            failure = failure.hint(unread(what));
        }
        match (failure.exit, record.met) {
            (Exit::Timeout, true) => failure.hint("raise the timeout with --timeout SECONDS; 0 disables it"),
            (Exit::Timeout, false) => {
                failure.hint("check that the target is an MCP server, or raise the timeout with --timeout SECONDS")
            }
            _ => failure,
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }
}

/// Returns the hint for a message that cannot be parsed.
fn unread(what: &str) -> &'static str {
    match ["too long", "; a message may have "].iter().any(|w| what.contains(w)) {
        true => "raise the limit, for example with --max-message 64M",
        false => "this is a bug in the server: each line must be a JSON message in UTF-8",
    }
}
