//! What was heard from a server beside its answers: for the moment when none comes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    exit::{Exit, Failure},
    output::{Output, text},
};

/// What a server wrote where nobody looks, and what was sent to it.
#[derive(Debug)]
pub(crate) struct Heard {
    output: Arc<Output>,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    /// The last lines of its standard error.
    errors: VecDeque<String>,
    /// How many lines were no messages.
    strays: usize,
    /// What it was asked, in order, until it answered for the first time.
    sent: Vec<String>,
}

impl Heard {
    const ERRORS: usize = 20;
    const SENT: usize = 8;

    pub(crate) fn new(output: &Arc<Output>) -> Self {
        Self { output: output.clone(), record: Mutex::default() }
    }

    /// The server is started, perhaps once more.
    pub(crate) fn started(&self) {
        self.record().errors.clear();
    }

    /// A line of standard error.
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

    /// A line of standard output that is no message.
    pub(crate) fn stray(&self, excerpt: &[u8], what: &str) {
        const SHOWN: usize = 100;
        let strays = {
            let mut record = self.record();
            record.strays += 1;
            record.strays
        };
        if strays > 1 && !self.output.verbose {
            return;
        }
        let line = text::line(&String::from_utf8_lossy(excerpt));
        let line = text::cut(&line, SHOWN);
        self.output.warn(&format!("the server sent what is no message: {}\n  {line}", text::line(what)));
    }

    pub(crate) fn strays(&self) -> usize {
        self.record().strays
    }

    /// A request that goes out.
    pub(crate) fn sent(&self, method: &str) {
        if self.output.verbose {
            self.output.note(&self.output.err.faint(format!("sent {method}")));
        }
        let mut record = self.record();
        if record.sent.len() < Self::SENT {
            record.sent.push(method.to_owned());
        }
    }

    /// Adds what is known to a failure of the connection.
    pub(crate) fn explain(&self, mut failure: Failure) -> Failure {
        if !matches!(failure.exit, Exit::Unreachable | Exit::Timeout | Exit::Protocol) {
            return failure;
        }
        let record = self.record();
        // The words of the server follow in full.
        if let Some(at) = failure.message.find("; its last words: ") {
            failure.message.truncate(at);
        }
        if failure.exit == Exit::Timeout && !record.sent.is_empty() {
            failure = failure.detail(format!("it was sent: {}", record.sent.join(", ")));
        }
        if !record.errors.is_empty() {
            failure = failure.detail("its standard error:");
            failure.details.extend(record.errors.iter().map(|line| format!("  | {line}")));
        }
        if record.strays > 0 {
            let lines = text::count(record.strays, "line that is no message", "lines that are no messages");
            failure = failure
                .detail(format!("it wrote {lines} to its standard output"))
                .hint("standard output belongs to the protocol: a server's own words go to standard error");
        }
        if failure.exit == Exit::Timeout {
            failure = failure.hint("is it a server, and does it wait for something else? --timeout gives it more time");
        }
        failure
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
