//! The five revisions as the specification has them, written down a second time to be compared with what is built.

use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

/// What one revision has.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) version: ProtocolVersion,
    /// The place of this row, which is the place of its mark in [`Row::is_in`].
    place: usize,
    pub(crate) session: bool,
    pub(crate) batches: bool,
    pub(crate) audio: bool,
    pub(crate) links: bool,
    /// Structured content that is an object.
    pub(crate) structured: bool,
    /// Structured content that is not.
    pub(crate) any_structured: bool,
    pub(crate) tool_annotations: bool,
    pub(crate) titles: bool,
    pub(crate) icons: bool,
    pub(crate) completions: bool,
    pub(crate) progress_message: bool,
    pub(crate) forms: bool,
    /// Titled and multiple choices, defaults, visits, tools in sampling.
    pub(crate) rich: bool,
    pub(crate) elicitation_id: bool,
    pub(crate) core_tasks: bool,
    pub(crate) not_found: i64,
    pub(crate) missing_capability: i64,
    pub(crate) wrong_arguments: Wrong,
    /// Whether an error to an unreadable message has the id `null`; it has none otherwise.
    pub(crate) null_id: bool,
}

/// How wrong arguments of a tool are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// As an error of the protocol, -32602.
    Protocol,
    /// As a result with `isError`.
    Result,
}

const FIRST: Row = Row {
    version: ProtocolVersion::V2024_11_05,
    place: 0,
    session: true,
    batches: false,
    audio: false,
    links: false,
    structured: false,
    any_structured: false,
    tool_annotations: false,
    titles: false,
    icons: false,
    completions: false,
    progress_message: false,
    forms: false,
    rich: false,
    elicitation_id: false,
    core_tasks: false,
    not_found: -32002,
    missing_capability: -32600,
    wrong_arguments: Wrong::Protocol,
    null_id: true,
};

const SECOND: Row = Row {
    version: ProtocolVersion::V2025_03_26,
    place: 1,
    batches: true,
    audio: true,
    tool_annotations: true,
    completions: true,
    progress_message: true,
    ..FIRST
};

const THIRD: Row = Row {
    version: ProtocolVersion::V2025_06_18,
    place: 2,
    batches: false,
    links: true,
    structured: true,
    titles: true,
    forms: true,
    ..SECOND
};

const FOURTH: Row = Row {
    version: ProtocolVersion::V2025_11_25,
    place: 3,
    icons: true,
    rich: true,
    elicitation_id: true,
    core_tasks: true,
    wrong_arguments: Wrong::Result,
    null_id: false,
    ..THIRD
};

const FIFTH: Row = Row {
    version: ProtocolVersion::V2026_07_28,
    place: 4,
    session: false,
    any_structured: true,
    elicitation_id: false,
    core_tasks: false,
    not_found: -32602,
    missing_capability: -32021,
    ..FOURTH
};

/// Every revision, oldest first.
pub(crate) static ROWS: [Row; 5] = [FIRST, SECOND, THIRD, FOURTH, FIFTH];

impl Row {
    /// Whether a string of five marks, one per revision, has an `x` for this one.
    pub(crate) fn is_in(&self, marks: &str) -> bool {
        marks.as_bytes()[self.place] == b'x'
    }

    /// What a client that can do everything declares.
    pub(crate) fn capabilities(&self) -> Value {
        let mut can = json!({ "sampling": {}, "roots": {} });
        if self.session {
            can["roots"]["listChanged"] = json!(true);
        }
        if self.forms {
            can["elicitation"] = json!({});
        }
        if self.rich {
            can["elicitation"] = json!({ "form": {}, "url": {} });
            can["sampling"]["tools"] = json!({});
        }
        can
    }
}
