//! A recording in the role of the server.
//!
//! A request gets the recorded response to the same request: the same method and parameters, with any id. Messages that
//! the server sent on its own are sent once the client has sent all requests that came before them in the recording.

use std::collections::HashMap;

use couplet::types::{RawJson, RequestId};
use serde_json::{Value, json};

use super::{
    edit,
    recording::{Direction, Message, Said},
};

/// The state of a replay.
pub(crate) struct Player {
    said: Vec<Said>,
    /// Which messages have been replayed.
    done: Vec<bool>,
    /// The ids of the client's requests, by the recorded ids.
    ids: HashMap<RequestId, RequestId>,
    /// The progress tokens: recorded, and current.
    tokens: Vec<(Value, Value)>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl Player {
    pub(crate) fn new(said: Vec<Said>) -> Self {
        let done = vec![false; said.len()];
        Self { said, done, ids: HashMap::new(), tokens: Vec::new(), notes: Vec::new() }
    }

    /// Receives a line from the client and returns the lines to send.
    pub(crate) fn receive(&mut self, line: &str) -> Vec<String> {
        match Message::parse(line) {
            Message::Request { id, method, params, .. } => return self.request(&id, &method, &params),
            Message::Notification { method, .. } => {
                self.mark(|said| matches!(said, Message::Notification { method: m, .. } if *m == method));
            }
            Message::Answer { id, .. } => {
                self.mark(|said| matches!(said, Message::Answer { id: i, .. } if *i == id));
            }
            Message::Other(_) => {
                self.mark(|said| matches!(said, Message::Other(_)));
            }
        }
        self.due()
    }

    fn request(&mut self, id: &RequestId, method: &str, params: &Value) -> Vec<String> {
        let found = self.find(method, params, false).or_else(|| self.find(method, params, true));
        let Some(at) = found else {
            if method == "ping" {
                return vec![json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()];
            }
            self.notes.push(format!("`{method}` with these parameters is not in the recording: {params}"));
            return vec![error(id, &format!("the recording has no such request: {method}"))];
        };
        let Message::Request { id: recorded, params: then, .. } = &self.said[at].message else { return Vec::new() };
        let (recorded, then) = (recorded.clone(), then.clone());
        if self.done[at] {
            // A repeated request gets the same response.
            return match self.answer(&recorded) {
                Some(answer) => vec![edit::with_id(&answer, id).to_string()],
                None => vec![error(id, "the recording ends before the response")],
            };
        }
        self.done[at] = true;
        self.ids.insert(recorded.clone(), id.clone());
        if let (Some(then), Some(now)) = (token(&then), token(params)) {
            self.tokens.push((then.clone(), now.clone()));
        }
        let mut due = self.due();
        if self.answer(&recorded).is_none() {
            due.push(error(id, "the recording ends before the response"));
        }
        due
    }

    /// Finds the recorded request; `initialize` matches with any parameters.
    fn find(&self, method: &str, params: &Value, done: bool) -> Option<usize> {
        let is_it = |said: &Said| match &said.message {
            Message::Request { method: m, params: p, .. } => {
                m == method && (method == "initialize" || plain(p) == plain(params))
            }
            _ => false,
        };
        let said = self.said.iter().enumerate();
        let mut client = said.filter(|(_, said)| said.direction == Direction::Out);
        client.find(|(at, said)| self.done[*at] == done && is_it(said)).map(|(at, _)| at)
    }

    /// Marks the first matching client message that has not been replayed.
    fn mark(&mut self, is_it: impl Fn(&Message) -> bool) {
        let mut said = self.said.iter().enumerate();
        let found = said.find(|(at, said)| !self.done[*at] && said.direction == Direction::Out && is_it(&said.message));
        if let Some((at, _)) = found {
            self.done[at] = true;
        }
    }

    fn answer(&self, recorded: &RequestId) -> Option<RawJson> {
        self.said.iter().filter(|said| said.direction == Direction::In).find_map(|said| match &said.message {
            Message::Answer { id, whole } if id == recorded => Some(whole.clone()),
            _ => None,
        })
    }

    /// Returns the messages that the server sends now, in recorded order.
    fn due(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let (mut waiting, mut asked) = (false, false);
        for at in 0..self.said.len() {
            let said = &self.said[at];
            if self.done[at] {
                continue;
            }
            if said.direction == Direction::Out {
                waiting |= matches!(said.message, Message::Request { .. } | Message::Answer { .. });
                asked |= matches!(said.message, Message::Answer { .. });
                continue;
            }
            let line = match &said.message {
                // A response that followed the answer to a server request waits for that answer.
                Message::Answer { id, whole } if !asked => {
                    self.ids.get(id).map(|id| edit::with_id(whole, id).to_string())
                }
                Message::Notification { whole, .. } if !waiting => Some(self.notification(whole)),
                Message::Request { whole, .. } if !waiting => Some(whole.to_string()),
                Message::Other(text) if !waiting => Some(text.clone()),
                _ => None,
            };
            if let Some(line) = line {
                self.done[at] = true;
                lines.push(line);
            }
        }
        lines
    }

    /// Rewrites the progress token and subscription id of a notification for this client.
    fn notification(&self, whole: &RawJson) -> String {
        let tokens = |then: &Value| self.tokens.iter().find(|(t, _)| t == then).map(|(_, now)| now.clone());
        let ids = |then: &Value| {
            let then: RequestId = serde_json::from_value(then.clone()).ok()?;
            self.ids.get(&then).map(|now| json!(now))
        };
        let whole = edit::with_param(whole, &["params", "progressToken"], tokens);
        edit::with_param(&whole, &["params", "_meta", "subscriptionId"], ids).to_string()
    }
}

fn error(id: &RequestId, what: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": what } }).to_string()
}

fn token(params: &Value) -> Option<&Value> {
    params.get("_meta")?.get("progressToken")
}

/// Removes `_meta` from parameters.
fn plain(params: &Value) -> Value {
    let mut params = params.clone();
    if let Some(members) = params.as_object_mut() {
        members.remove("_meta");
    }
    if params.as_object().is_some_and(serde_json::Map::is_empty) { Value::Null } else { params }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn player(lines: &[(&str, &str)]) -> Player {
        let said = lines.iter().map(|(direction, text)| Said {
            direction: if *direction == ">" { Direction::Out } else { Direction::In },
            message: Message::parse(text),
        });
        Player::new(said.collect())
    }

    #[track_caller]
    fn check(player: &mut Player, line: &str, expected: &[&str]) {
        assert_eq!(player.receive(line), expected, "{line}");
    }

    #[test]
    fn answers_come_to_the_ids_that_ask() {
        let mut player = player(&[
            (">", r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}"#),
            ("<", r#"{"jsonrpc":"2.0","id":1,"result":{"x":1.0}}"#),
            (">", r#"{"method":"notifications/initialized"}"#),
            (">", r#"{"id":2,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":2}}}"#),
            (">", r#"{"id":3,"method":"tools/call","params":{"name":"b"}}"#),
            ("<", r#"{"method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#),
            ("<", r#"{"id":3,"result":"b"}"#),
            ("<", r#"{"id":2,"result":"a"}"#),
        ]);
        check(
            &mut player,
            r#"{"id":"i","method":"initialize","params":{}}"#,
            &[r#"{"jsonrpc":"2.0","id":"i","result":{"x":1.0}}"#],
        );
        check(&mut player, r#"{"method":"notifications/initialized"}"#, &[]);
        check(
            &mut player,
            r#"{"id":"b","method":"tools/call","params":{"name":"b"}}"#,
            &[r#"{"id":"b","result":"b"}"#],
        );
        check(
            &mut player,
            r#"{"id":"a","method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"a"}}"#,
            &[
                r#"{"method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
                r#"{"id":"a","result":"a"}"#,
            ],
        );
        check(&mut player, r#"{"id":9,"method":"tools/call","params":{"name":"b"}}"#, &[r#"{"id":9,"result":"b"}"#]);
        check(
            &mut player,
            r#"{"id":10,"method":"tools/call","params":{"name":"c"}}"#,
            &[
                r#"{"error":{"code":-32603,"message":"the recording has no such request: tools/call"},"id":10,"jsonrpc":"2.0"}"#,
            ],
        );
        check(&mut player, r#"{"id":11,"method":"ping"}"#, &[r#"{"id":11,"jsonrpc":"2.0","result":{}}"#]);
    }

    #[test]
    fn questions_wait_for_their_place() {
        let mut player = player(&[
            (">", r#"{"id":1,"method":"tools/call","params":{"name":"ask"}}"#),
            ("<", r#"{"id":"q","method":"elicitation/create","params":{}}"#),
            (">", r#"{"id":"q","result":{"action":"accept"}}"#),
            ("<", r#"{"id":1,"result":"asked"}"#),
            ("<", "done: not json"),
        ]);
        check(
            &mut player,
            r#"{"id":7,"method":"tools/call","params":{"name":"ask"}}"#,
            &[r#"{"id":"q","method":"elicitation/create","params":{}}"#],
        );
        check(
            &mut player,
            r#"{"id":"q","result":{"action":"decline"}}"#,
            &[r#"{"id":7,"result":"asked"}"#, "done: not json"],
        );
    }

    #[test]
    fn a_recording_that_breaks_off_says_so() {
        let mut player = player(&[(">", r#"{"id":1,"method":"tools/list"}"#)]);
        let answer = &player.receive(r#"{"id":5,"method":"tools/list","params":{}}"#)[0];
        assert!(answer.contains("ends before the response"), "{answer}");
    }
}
