//! A recording that plays the client.
//!
//! What was said is said again, in the same order: nothing before the answers have come that had come then. Texts that
//! the server made up and the client repeated (cursors, states, names of tasks) are replaced by those of this server.

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

/// What came of a replay.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) answers: Vec<Answer>,
    /// What the server did that it had not done.
    pub(crate) extra: Vec<String>,
}

/// An answer, compared with the one in the recording.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) differences: Vec<Difference>,
}

/// Says everything that the client said, and compares what comes back.
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
    /// Where the client says a text for the first time.
    first: HashMap<String, usize>,
    /// What the server calls now what it called otherwise then.
    renamed: HashMap<String, String>,
    /// Requests that were sent and wait for their answers.
    waiting: HashMap<RequestId, String>,
    /// The server's own requests in the recording, by method, and their ids now.
    questions: HashMap<String, VecDeque<RequestId>>,
    asked: HashMap<RequestId, RequestId>,
    report: Report,
}

impl<'a> Sender<'a> {
    fn new(said: Vec<Said>, wire: Wire, ignored: &'a [String]) -> Self {
        let mut first = HashMap::new();
        let mut questions: HashMap<String, VecDeque<RequestId>> = HashMap::new();
        for (at, one) in said.iter().enumerate() {
            match (&one.message, one.direction) {
                (Message::Request { params, .. }, Direction::ClientToServer) => texts(params, at, &mut first),
                (Message::Request { id, method, .. }, Direction::ServerToClient) => {
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
                (Direction::ServerToClient, Message::Answer { id, .. }) => {
                    while self.waiting.contains_key(&id) {
                        self.hear().await?;
                    }
                }
                (Direction::ClientToServer, Message::Request { id, method, whole, .. }) => {
                    self.waiting.insert(id, method);
                    self.say(&whole).await?;
                }
                (Direction::ClientToServer, Message::Notification { whole, .. }) => self.say(&whole).await?,
                (Direction::ClientToServer, Message::Answer { id, whole }) => self.reply(&id, &whole).await?,
                (Direction::ClientToServer, Message::Other(text)) => self.wire.send(&text).await?,
                (Direction::ServerToClient, _) => {}
            }
        }
        Ok(self.report)
    }

    async fn say(&mut self, whole: &RawJson) -> Result<(), Failure> {
        let line = edit::with_texts(whole, &|text| self.renamed.get(text).cloned());
        self.wire.send(line.get()).await
    }

    /// Answers a question of the server as it was answered then, once it is asked.
    async fn reply(&mut self, recorded: &RequestId, whole: &RawJson) -> Result<(), Failure> {
        loop {
            if let Some(now) = self.asked.get(recorded) {
                let answer = edit::with_id(whole, now);
                return self.wire.send(answer.get()).await;
            }
            // A server that answers instead will not ask any more.
            if self.waiting.is_empty() {
                self.report.extra.push("a question that was asked then is not asked now".to_owned());
                return Ok(());
            }
            self.hear().await?;
        }
    }

    /// Takes one line of the server.
    async fn hear(&mut self) -> Result<(), Failure> {
        let line = self.wire.next().await?;
        match Message::parse(&line) {
            Message::Answer { id, whole } => self.compare(&id, &whole),
            Message::Request { id, method, .. } => {
                match self.questions.get_mut(&method).and_then(VecDeque::pop_front) {
                    Some(recorded) => drop(self.asked.insert(recorded, id)),
                    None => {
                        self.report.extra.push(format!("the server asks `{method}`, which it did not"));
                        let refusal = json!({ "code": -32601, "message": "this was not asked in the recording" });
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
            (Message::Answer { id: i, whole }, Direction::ServerToClient) if i == id => Some((at, whole)),
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

/// Notes where texts are said first.
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
