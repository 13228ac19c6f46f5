//! The control of running gateways, over a private Unix domain socket: waiting questions and grants.
//!
//! A request is a line of JSON, and so is its response: `{"ok": …}` or `{"error": "…"}`. Each connection has one of them.

mod client;
mod socket;

use couplet_core::{JsonText, clock::unix_seconds};
use couplet_host::consent::{Answer, Grant};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Error, ErrorKind, Gateway, WaitingQuestion};

pub use client::{Control, controls};
pub use socket::ControlSocket;

/// The purpose of the sockets, which their names begin with.
const PURPOSE: &str = "control";

/// The size limit of a request.
const LONGEST_REQUEST: u64 = 64 << 10;

/// The size limit of a response.
const LONGEST_RESPONSE: u64 = 16 << 20;

/// The size limit of the arguments of a question in a response.
const LONGEST_ARGUMENTS: usize = 64 << 10;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", deny_unknown_fields)]
enum Request {
    /// Lists the questions that wait.
    Questions {},
    /// Answers a question.
    Answer { id: u64, answer: Answer },
    /// Lists the grants.
    Grants {},
    /// Revokes a grant.
    Revoke { id: u64 },
}

impl Gateway {
    /// Answers a line of the control socket.
    fn control(&self, line: &[u8]) -> Value {
        let parsed = serde_json::from_slice(line)
            .map_err(|error| Error::new(ErrorKind::Config, format!("the request of the control socket: {error}")));
        match parsed.and_then(|request| self.perform(request)) {
            Ok(done) => json!({ "ok": done }),
            Err(error) => json!({ "error": error.to_string() }),
        }
    }

    fn perform(&self, request: Request) -> Result<Value, Error> {
        match request {
            Request::Questions {} => {
                let asks_here = self.config().consent.is_local();
                Ok(
                    json!({ "asksHere": asks_here, "questions": self.questions().iter().map(question).collect::<Vec<_>>() }),
                )
            }
            Request::Answer { id, answer } => self.answer(id, answer).map(|()| Value::Null),
            Request::Grants {} => {
                let now = unix_seconds();
                let grants = self.host().grants().list(now);
                Ok(json!({ "grants": grants.iter().map(|one| grant(one, now)).collect::<Vec<_>>() }))
            }
            Request::Revoke { id } if self.host().grants().revoke(id) => Ok(Value::Null),
            Request::Revoke { id } => Err(Error::new(ErrorKind::Unknown, format!("there is no grant `{id}`"))),
        }
    }
}

/// A question as JSON, without the id of the session, which is a secret of its client.
fn question(waiting: &WaitingQuestion) -> Value {
    let question = &waiting.question;
    let known = |arguments: &&JsonText| arguments.as_str().len() <= LONGEST_ARGUMENTS;
    let arguments = question.arguments.as_ref().filter(known).and_then(|text| serde_json::from_str(text.as_str()).ok());
    json!({
        "id": waiting.id,
        "age": waiting.age.as_secs(),
        "left": waiting.left.as_secs(),
        "text": question.text(),
        "answers": question.answers(),
        "principal": question.principal,
        "profile": question.profile,
        "server": question.server,
        "kind": question.kind.as_str(),
        "name": question.raw,
        "arguments": arguments.unwrap_or(Value::Null),
    })
}

/// A grant as JSON, without the id of its session.
fn grant(grant: &Grant, now: u64) -> Value {
    let answer = if grant.session.is_some() { Answer::Session } else { Answer::Always };
    json!({
        "id": grant.id,
        "answer": answer,
        "principal": grant.principal,
        "profile": grant.profile,
        "server": grant.server,
        "kind": grant.kind.as_str(),
        "name": grant.raw,
        "unused": now.saturating_sub(grant.used),
    })
}
