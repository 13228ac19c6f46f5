//! What was heard from a server beside its answers: for the moment when none comes.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use couplet::types::code;

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
    /// How many messages could not be read: they began as objects. And why the last one could not.
    unread: (usize, String),
    /// What it was asked, in order, until it answered for the first time.
    sent: Vec<String>,
    /// What it was asked last.
    last: String,
    /// Whether there is a session: it has answered.
    met: bool,
}

impl Heard {
    const ERRORS: usize = 20;
    const SENT: usize = 8;

    pub(crate) fn new(output: &Arc<Output>) -> Self {
        Self { output: output.clone(), record: Mutex::default() }
    }

    /// There is a session.
    pub(super) fn met(&self) {
        self.record().met = true;
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
        method.clone_into(&mut record.last);
        if record.sent.len() < Self::SENT {
            record.sent.push(method.to_owned());
        }
    }

    /// Adds what is known to a failure of the connection.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match failure.exit {
            Exit::Refused => self.name_method(failure),
            Exit::Unreachable | Exit::Timeout | Exit::Protocol => self.add_words(failure),
            _ => failure,
        }
    }

    /// A server that does not know a method seldom says which.
    fn name_method(&self, mut failure: Failure) -> Failure {
        let last = &self.record().last;
        let is_unknown = failure.rpc().is_some_and(|rpc| rpc.code == code::METHOD_NOT_FOUND);
        if is_unknown && !failure.message.contains(last.as_str()) {
            failure.message =
                failure.message.replacen("the server answered:", &format!("the server answered `{last}`:"), 1);
        }
        failure
    }

    fn add_words(&self, mut failure: Failure) -> Failure {
        let record = self.record();
        // The words of the server follow in full.
        if let Some(at) = failure.message.find("; its last words: ") {
            failure.message.truncate(at);
        }
        if failure.exit == Exit::Timeout && !record.met && !record.sent.is_empty() {
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
        if let (1.., what) = &record.unread {
            failure = match failure.message.contains(what.as_str()) {
                true => failure,
                false => failure.detail(format!("a message of the server could not be read: {}", text::line(what))),
            };
            failure = failure.hint(unread(what));
        }
        match (failure.exit, record.met) {
            (Exit::Timeout, true) => failure.hint("--timeout 0 waits for as long as it takes; Ctrl-C ends it"),
            (Exit::Timeout, false) => {
                failure.hint("is it a server, and does it wait for something else? --timeout gives it more time")
            }
            _ => failure,
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What to do about a message that cannot be read.
fn unread(what: &str) -> &'static str {
    match ["too long", "; a message may have "].iter().any(|w| what.contains(w)) {
        true => "--max-message 64M takes larger messages",
        false => "this is a fault of the server: what it sends must be JSON in UTF-8, a message on a line",
    }
}
