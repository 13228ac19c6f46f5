//! Messages, checked against the definitions of a revision.

use couplet_vocab::check::{Checker, ResponseTo, Sender};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::body::json;

#[derive(Deserialize)]
pub(super) struct Check {
    revision: String,
    dir: Option<String>,
    text: String,
    /// The method of the request that a response belongs to.
    answers: Option<String>,
}

pub(super) fn validate(order: &Check) -> Answer {
    let revision = order.revision.parse().map_err(|_| format!("there is no revision `{}`", order.revision))?;
    let sender = match order.dir.as_deref() {
        Some("out") => Sender::Client,
        Some("in") => Sender::Server,
        _ => Sender::Unknown,
    };
    let value: Value = match serde_json::from_str(&order.text) {
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
