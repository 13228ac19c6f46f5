//! The `answers` of a call: replies to elicitation and sampling requests.

use couplet::types::ElicitAction;

use super::node::{Invalid, Member, Node, get};
use crate::questions::{Planned, Reply};

const KEYS: &[&str] = &["content", "action", "text", "message"];

pub(super) fn parse(node: &Node) -> Result<Vec<Planned>, Invalid> {
    node.array("`answers`")?.iter().map(one).collect()
}

fn one(node: &Node) -> Result<Planned, Invalid> {
    let entries = node.table_of("an answer", KEYS)?;
    let kinds: Vec<&Member> = entries.iter().filter(|entry| entry.key != "message").collect();
    let [Member { key, value, .. }] = kinds.as_slice() else {
        return Err(Invalid::new(node.line, "an answer has one of `content`, `action` and `text`"));
    };
    let reply = match key.as_str() {
        "content" => {
            value.table("`content`")?;
            Reply::Form(value.to_json())
        }
        "text" => Reply::Sample(value.string("`text`")?.to_owned()),
        _ => Reply::Action(match value.string("`action`")? {
            "accept" => ElicitAction::Accept,
            "decline" => ElicitAction::Decline,
            "cancel" => ElicitAction::Cancel,
            other => {
                return Err(Invalid::new(value.line, format!("unknown action `{other}`"))
                    .hint("the actions are accept, decline, cancel"));
            }
        }),
    };
    let message = get(entries, "message").map(|node| node.string("`message`")).transpose()?;
    Ok(Planned { reply, message: message.map(str::to_owned) })
}
