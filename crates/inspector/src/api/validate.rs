//! Messages, checked against the definitions of a revision.

use bytes::Bytes;
use couplet_vocab::check::{Checker, ResponseTo, Sender};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Wrong};
use crate::{Inspector, body::json};

#[derive(Deserialize)]
pub(super) struct Check {
    revision: String,
    dir: Option<String>,
    text: Option<String>,
    /// The number of a message in the feed, in place of its text.
    seq: Option<u64>,
    /// The method of the request that a response belongs to.
    answers: Option<String>,
}

pub(super) fn validate(inspector: &Inspector, order: Check) -> Answer {
    let revision = order.revision.parse().map_err(|_| format!("there is no revision `{}`", order.revision))?;
    let sender = match order.dir.as_deref() {
        Some("out") => Sender::Client,
        Some("in") => Sender::Server,
        _ => Sender::Unknown,
    };
    let text = match (order.text, order.seq) {
        (Some(text), _) => Bytes::from(text),
        (None, Some(seq)) => super::text(inspector, seq)?,
        (None, None) => return Err(Wrong::from("expected the `text` of a message, or its number as `seq`")),
    };
    let value: Value = match serde_json::from_slice(&text) {
        Ok(value) => value,
        Err(error) => {
            let finding = json!({ "path": "", "severity": "error", "message": format!("not valid JSON: {error}") });
            return Ok(json(&json!({ "findings": [finding] })));
        }
    };
    let answers = order.answers.as_deref().map_or(ResponseTo::Unknown, ResponseTo::Method);
    let findings = Checker::new(revision).message(&value, sender, answers);
    let findings: Vec<_> = findings
        .iter()
        .map(|finding| json!({ "path": finding.pointer, "severity": "error", "message": finding.to_string() }))
        .collect();
    Ok(json(&json!({ "findings": findings })))
}
