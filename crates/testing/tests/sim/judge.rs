//! Watches the wire and says when a rule is broken.

use std::{collections::BTreeMap, fmt};

use couplet_testing::types::ProtocolVersion;
use serde_json::Value;

/// Everything that was said, and what follows from it.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    /// The client's requests.
    asked: BTreeMap<i64, Request>,
    /// The server's requests.
    questions: BTreeMap<i64, Request>,
    pub(crate) history: History,
}

#[derive(Debug, Default)]
struct Request {
    method: String,
    answered: bool,
    /// Whoever asked does not want the answer any more.
    withdrawn: bool,
    /// And whoever answers knows it.
    silenced: bool,
    acknowledged: bool,
}

/// What happened in one history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    pub(crate) log: Vec<String>,
    pub(crate) requests: u64,
    pub(crate) answers: u64,
    pub(crate) progress: u64,
    pub(crate) questions: u64,
    pub(crate) cancelled: u64,
    pub(crate) changes: u64,
    pub(crate) cuts: u64,
}

impl Judge {
    /// The client puts a message into the pipe.
    pub(crate) fn client_says(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).expect("the client sends JSON");
        self.history.log.push(format!("> {}", without_state(text)));
        match (id(&message), method(&message)) {
            (Some(id), Some(method)) => {
                self.history.requests += 1;
                let request = Request { method: method.to_owned(), ..Request::default() };
                assert!(self.asked.insert(id, request).is_none(), "the client used id {id} twice");
            }
            (Some(id), None) => {
                let question = self.questions.get_mut(&id).expect("an answer to a question that was asked");
                assert!(!question.answered, "question {id} was answered twice");
                question.answered = true;
            }
            (None, Some("notifications/cancelled")) => {
                let request = self.asked.get_mut(&cancelled(&message)).expect("a cancelled request that was sent");
                assert!(!request.withdrawn, "a request was cancelled twice");
                request.withdrawn = true;
                self.history.cancelled += 1;
            }
            _ => {}
        }
    }

    /// A message of the client arrives at the server.
    pub(crate) fn server_hears(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).expect("it was checked when it was sent");
        if method(&message) == Some("notifications/cancelled") {
            self.asked.get_mut(&cancelled(&message)).expect("it was sent").silenced = true;
        }
    }

    /// The server puts a message into the pipe.
    pub(crate) fn server_says(&mut self, text: &str) {
        let message: Value = serde_json::from_str(text).expect("the server sends JSON");
        self.history.log.push(format!("< {}", without_state(text)));
        match (id(&message), method(&message)) {
            (Some(id), Some(method)) => {
                self.history.questions += 1;
                let question = Request { method: method.to_owned(), ..Request::default() };
                assert!(self.questions.insert(id, question).is_none(), "the server used id {id} twice");
            }
            (Some(id), None) => {
                let request = self.open(id, text);
                request.answered = true;
                self.history.answers += 1;
            }
            (None, Some("notifications/progress")) => {
                let token = message["params"]["progressToken"].as_i64().expect("a token that the client gave");
                self.open(token, text);
                self.history.progress += 1;
            }
            (None, Some("notifications/cancelled")) => self.server_cancels(cancelled(&message)),
            (None, Some(method)) => self.change(method, &message, text),
            (None, None) => panic!("the server said something that is no message: {text}"),
        }
    }

    /// A request that the server may still say something about.
    fn open(&mut self, id: i64, text: &str) -> &mut Request {
        let request = self.asked.get_mut(&id).unwrap_or_else(|| panic!("nobody asked for this: {text}"));
        assert!(!request.answered, "something follows the answer: {text}");
        assert!(!request.silenced, "a cancelled call is not silent: {text}");
        request
    }

    fn server_cancels(&mut self, id: i64) {
        if let Some(listen) = self.asked.get(&id).filter(|r| r.method == "subscriptions/listen") {
            assert!(listen.answered, "a subscription ends with its result");
            return;
        }
        let question = self.questions.get_mut(&id).expect("the server takes back a question that it asked");
        assert!(!question.withdrawn, "a question was taken back twice");
        question.withdrawn = true;
    }

    fn change(&mut self, method: &str, message: &Value, text: &str) {
        let key = "io.modelcontextprotocol/subscriptionId";
        if let Some(id) = message["params"]["_meta"][key].as_i64() {
            let listen = self.open(id, text);
            let first = method == "notifications/subscriptions/acknowledged";
            assert_eq!(listen.acknowledged, !first, "a subscription is acknowledged once, before all else: {text}");
            listen.acknowledged = true;
        }
        if method != "notifications/message" {
            self.history.changes += 1;
        }
    }

    /// The end of a history in which the connection lived.
    pub(crate) fn conclude(&self) {
        for (id, request) in &self.asked {
            assert!(request.answered || request.withdrawn, "request {id} (`{}`) was never answered", request.method);
        }
        for (id, question) in &self.questions {
            let settled = question.answered || question.withdrawn;
            assert!(settled, "question {id} (`{}`) was never answered", question.method);
        }
    }
}

/// The text without the sealed state, which has the time in it.
fn without_state(text: &str) -> String {
    let mark = r#""requestState":""#;
    let Some((before, after)) = text.split_once(mark) else { return text.to_owned() };
    let rest = after.split_once('"').map_or("", |(_, rest)| rest);
    format!("{before}{mark}...\"{rest}")
}

fn id(message: &Value) -> Option<i64> {
    message.get("id")?.as_i64()
}

fn method(message: &Value) -> Option<&str> {
    message.get("method")?.as_str()
}

fn cancelled(message: &Value) -> i64 {
    message["params"]["requestId"].as_i64().expect("an id that was given")
}

/// What happened in all histories.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    histories: u64,
    sum: History,
}

impl Totals {
    pub(crate) fn add(&mut self, history: &History) {
        self.histories += 1;
        let sum = &mut self.sum;
        sum.requests += history.requests;
        sum.answers += history.answers;
        sum.progress += history.progress;
        sum.questions += history.questions;
        sum.cancelled += history.cancelled;
        sum.changes += history.changes;
        sum.cuts += history.cuts;
    }

    /// A simulation in which something never happens shows nothing about it.
    pub(crate) fn assert_that_everything_happened(&self, version: ProtocolVersion) {
        let History { requests, answers, progress, cancelled, changes, cuts, questions, .. } = self.sum;
        let least = self.histories / 20;
        for (what, count) in [
            ("requests", requests),
            ("answers", answers),
            ("progress", progress),
            ("cancellations", cancelled),
            ("changes", changes),
            ("cuts", cuts),
        ] {
            assert!(count > least, "{version}: {count} {what} in {} histories", self.histories);
        }
        let asks = matches!(version, ProtocolVersion::V2025_06_18 | ProtocolVersion::V2025_11_25);
        assert_eq!(questions > least, asks, "{version}: {questions} questions");
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let History { requests, answers, progress, questions, cancelled, changes, cuts, .. } = &self.sum;
        write!(
            f,
            "{} histories: {requests} requests, {answers} answers, {questions} questions, {progress} progress, \
             {cancelled} cancelled, {changes} changes, {cuts} cuts",
            self.histories
        )
    }
}
