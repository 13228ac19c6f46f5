//! The reasons of a decision, for people.

use std::fmt::Write;

use couplet_core::visible;

use super::{Policy, Subject, rule::Match};

impl Policy {
    /// Explains a decision: the rule that made it, and for each rule in front of it the condition that does not hold.
    pub fn explain(&self, subject: &Subject<'_>) -> String {
        let verdict = self.decide(subject);
        let target = format!("{}/{}", subject.server, visible(subject.raw));
        let mut out = format!("{} of the {} `{target}`: {}", subject.door, subject.kind, verdict.decision);
        let reason = match (&self.layers, &verdict.rule) {
            (None, _) => ", because there is no policy".to_owned(),
            (Some(_), None) => ", because no rule matches".to_owned(),
            (Some(_), Some(rule)) => format!(" by {}", visible(rule)),
        };
        let _ = writeln!(out, "{reason}");
        for layer in self.layers.iter().flatten() {
            for (id, rule) in &layer.rules {
                let matched = match rule.check(subject) {
                    Match::Yes => "matches".to_owned(),
                    Match::Maybe => "depends on the arguments".to_owned(),
                    Match::No(condition) => format!("no: {condition}"),
                };
                let _ = writeln!(out, "  {}: {rule} ({matched})", visible(id));
                if matched == "matches" && !rule.flow {
                    break;
                }
            }
        }
        out
    }
}
