//! What was asked and what was answered: each question once, at most.

use std::collections::HashMap;

use bytes::Bytes;
use couplet_core::{
    Bounds, Oversized, Skimmed,
    message::{Body, Frame, Malformed, Message, read},
};
use couplet_types::RequestId;
use serde_json::Value;

/// Counts requests and answers.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// How often each id may still be answered.
    open: HashMap<RequestId, i64>,
    /// How many answers are due, with or without an id.
    due: i64,
    /// Whether `due` cannot be known: something was cancelled, or an array may be one frame or many messages.
    vague: bool,
    /// What the server asked last.
    pub(crate) question: Option<Value>,
    /// The state that the server gave away last.
    pub(crate) state: Option<Value>,
    /// Where the last list goes on.
    pub(crate) cursor: Option<Value>,
}

impl Ledger {
    /// A frame that the server is about to receive.
    pub(crate) fn sent(&mut self, frame: &Bytes) {
        match read(frame.clone(), Bounds::default()) {
            Ok(Frame::Single(message)) => self.message(&message),
            Ok(Frame::Batch(messages)) => {
                self.vague = true;
                for message in &messages {
                    match message {
                        Ok(message) => self.message(message),
                        Err(malformed) => self.malformed(malformed),
                    }
                }
            }
            Err(malformed) => self.malformed(&malformed),
        }
    }

    /// A line that was too long to be read.
    pub(crate) fn sent_too_long(&mut self, message: &Oversized) {
        match &message.gist {
            // The question that it answers may not be open.
            Skimmed::Response(_) => self.vague = true,
            Skimmed::Request(id) => {
                *self.open.entry(id.clone()).or_default() += 1;
                self.due += 1;
            }
            _ => self.due += 1,
        }
    }

    fn message(&mut self, message: &Message) {
        match &message.body {
            Body::Request { id, .. } => {
                *self.open.entry(id.clone()).or_default() += 1;
                self.due += 1;
            }
            Body::Notification { method, .. } => self.vague |= method == "notifications/cancelled",
            Body::Response { .. } => {}
        }
    }

    fn malformed(&mut self, malformed: &Malformed) {
        self.vague |= malformed.answers().is_some();
        if let Some(id) = &malformed.id {
            *self.open.entry(id.clone()).or_default() += 1;
        }
        self.due += 1;
    }

    /// A line that the server sent.
    pub(crate) fn received(&mut self, line: &[u8]) {
        assert!(!line.contains(&b'\n'), "a line feed inside a message: {}", String::from_utf8_lossy(line));
        let value: Value = serde_json::from_slice(line)
            .unwrap_or_else(|e| panic!("the server sent what is not JSON ({e}): {}", String::from_utf8_lossy(line)));
        match value {
            Value::Array(answers) => {
                assert!(!answers.is_empty(), "the server sent an empty batch");
                answers.iter().for_each(|answer| self.one(answer));
            }
            other => self.one(&other),
        }
    }

    fn one(&mut self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        if let Some(method) = message.get("method") {
            assert!(method.is_string(), "{message}");
            if let Some(id) = message.get("id") {
                self.question = Some(id.clone());
            }
            return;
        }
        assert!(message.get("result").is_some() != message.get("error").is_some(), "one of two: {message}");
        if let Some(error) = message.get("error") {
            assert!(error["code"].is_i64() && error["message"].is_string(), "{message}");
        }
        if let Some(state) = message["result"].get("requestState") {
            self.state = Some(state.clone());
        }
        if let Some(cursor) = message["result"].get("nextCursor") {
            self.cursor = Some(cursor.clone());
        }
        self.due -= 1;
        if let Some(id) = message.get("id").filter(|id| !id.is_null()) {
            let id: RequestId = serde_json::from_value(id.clone()).unwrap_or_else(|e| panic!("{e}: {message}"));
            let open = self.open.entry(id).or_default();
            *open -= 1;
            assert!(*open >= 0, "answered more often than asked: {message}");
        }
    }

    /// After the end: whatever was asked was answered.
    pub(crate) fn close(&self, unanswered: usize) {
        if !self.vague {
            let unanswered = i64::try_from(unanswered).expect("there are few");
            assert_eq!(self.due, unanswered, "as many answers as are due");
        }
    }
}
