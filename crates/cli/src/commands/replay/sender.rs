//! A recording in the role of the client.
//!
//! Messages are sent in recorded order, each after the responses that preceded it. Identifiers of the server that the
//! client repeats (cursors, request states, task ids) are replaced with the current ones.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use couplet::types::{RawJson, RequestId};
use serde_json::{Value, json};

use super::{
    diff::{Compared, Difference, Rules},
    edit,
    recording::{Direction, Message, Said},
    wire::Wire,
};
use crate::{
    exit::Failure,
    output::Output,
    target::{ConnectionArgs, Stop, Target},
};

/// The result of a replay.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) answers: Vec<Answer>,
    /// Unexpected messages of the server.
    pub(crate) extra: Vec<String>,
}

/// A response, compared with the recorded one.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) differences: Vec<Difference>,
}

/// Sends the client's messages and compares the responses.
pub(crate) async fn send(
    said: Vec<Said>,
    target: &Target,
    more: &ConnectionArgs,
    ignored: &[String],
    output: &Arc<Output>,
) -> Result<Report, Failure> {
    let sending = async {
        let wire = Wire::open(target, more, output).await?;
        Sender::new(said, wire, ignored).run().await
    };
    Stop::new(more.max_time).unless(Box::pin(sending)).await
}

struct Sender<'a> {
    said: Vec<Said>,
    wire: Wire,
    ignored: &'a [String],
    /// The index of the message in which the client first sends a string.
    first: HashMap<String, usize>,
    /// The current identifiers of the server, by the recorded ones.
    renamed: HashMap<String, String>,
    /// Requests that wait for their responses.
    waiting: HashMap<RequestId, String>,
    /// The server's requests in the recording, by method.
    questions: HashMap<String, VecDeque<RequestId>>,
    /// The current ids of the server's requests, by the recorded ids.
    asked: HashMap<RequestId, RequestId>,
    report: Report,
}

impl<'a> Sender<'a> {
    fn new(said: Vec<Said>, wire: Wire, ignored: &'a [String]) -> Self {
        let mut first = HashMap::new();
        let mut questions: HashMap<String, VecDeque<RequestId>> = HashMap::new();
        for (at, one) in said.iter().enumerate() {
            match (&one.message, one.direction) {
                (Message::Request { params, .. }, Direction::Out) => texts(params, at, &mut first),
                (Message::Request { id, method, .. }, Direction::In) => {
                    questions.entry(method.clone()).or_default().push_back(id.clone());
                }
                _ => {}
            }
        }
        let (renamed, waiting, asked) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { said, wire, ignored, first, renamed, waiting, questions, asked, report: Report::default() }
    }

    async fn run(mut self) -> Result<Report, Failure> {
        for at in 0..self.said.len() {
            let Said { direction, message } = &self.said[at];
            match (direction, message.clone()) {
                (Direction::In, Message::Answer { id, .. }) => {
                    while self.waiting.contains_key(&id) {
                        self.hear().await?;
                    }
                }
                (Direction::Out, Message::Request { id, method, whole, .. }) => {
                    self.waiting.insert(id, method);
                    self.say(&whole).await?;
                }
                (Direction::Out, Message::Notification { whole, .. }) => self.say(&whole).await?,
                (Direction::Out, Message::Answer { id, whole }) => self.reply(&id, &whole).await?,
                (Direction::Out, Message::Other(text)) => self.wire.send(&text).await?,
                (Direction::In, _) => {}
            }
        }
        Ok(self.report)
    }

    async fn say(&mut self, whole: &RawJson) -> Result<(), Failure> {
        let line = edit::with_texts(whole, &|text| self.renamed.get(text).cloned());
        self.wire.send(line.get()).await
    }

    /// Answers a request of the server as recorded, once it arrives.
    async fn reply(&mut self, recorded: &RequestId, whole: &RawJson) -> Result<(), Failure> {
        loop {
            if let Some(now) = self.asked.get(recorded) {
                let answer = edit::with_id(whole, now);
                return self.wire.send(answer.get()).await;
            }
            // All responses are there, so the request will not come.
            if self.waiting.is_empty() {
                self.report.extra.push("a recorded request of the server was not sent".to_owned());
                return Ok(());
            }
            self.hear().await?;
        }
    }

    /// Receives a line from the server.
    async fn hear(&mut self) -> Result<(), Failure> {
        let line = self.wire.next().await?;
        match Message::parse(&line) {
            Message::Answer { id, whole } => self.compare(&id, &whole),
            Message::Request { id, method, .. } => {
                match self.questions.get_mut(&method).and_then(VecDeque::pop_front) {
                    Some(recorded) => drop(self.asked.insert(recorded, id)),
                    None => {
                        self.report
                            .extra
                            .push(format!("the server sent a request `{method}` that is not in the recording"));
                        let refusal = json!({ "code": -32601, "message": "this request is not in the recording" });
                        self.wire.send(&json!({ "jsonrpc": "2.0", "id": id, "error": refusal }).to_string()).await?;
                    }
                }
            }
            Message::Notification { .. } => {}
            Message::Other(line) => self.wire.stray(&line),
        }
        Ok(())
    }

    fn compare(&mut self, id: &RequestId, now: &RawJson) {
        let Some(method) = self.waiting.remove(id) else { return };
        let then = self.said.iter().enumerate().find_map(|(at, said)| match (&said.message, said.direction) {
            (Message::Answer { id: i, whole }, Direction::In) if i == id => Some((at, whole)),
            _ => None,
        });
        let Some((at, then)) = then else { return };
        let value = |whole: &RawJson| whole.parse::<Value>().unwrap_or_default();
        let rules = Rules { ignored: self.ignored, first: &self.first, at };
        let compared = Compared::of(&value(then), &value(now), &rules);
        self.renamed.extend(compared.renamed);
        self.report.answers.push(Answer { id: id.to_string(), method, differences: compared.differences });
    }
}

/// Collects the indices at which strings are first sent.
fn texts(value: &Value, at: usize, first: &mut HashMap<String, usize>) {
    match value {
        Value::String(text) => {
            first.entry(text.clone()).or_insert(at);
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, at, first)),
        Value::Object(members) => members.values().for_each(|member| texts(member, at, first)),
        _ => {}
    }
}
