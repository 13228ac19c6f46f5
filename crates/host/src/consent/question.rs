//! The question and its answers.

use std::{fmt::Write, sync::Arc};

use couplet_core::{JsonText, visible};
use serde::{Deserialize, Serialize};

use crate::{
    names::{Kind, ServerId},
    pins::Digest,
    policy::{Door, Effects, Flow, Trust},
};

/// The answer of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// This call is allowed.
    Once,
    /// Calls of this target are allowed for the rest of the session.
    Session,
    /// Calls of this target are allowed until its definition changes, or until the host ends: grants are not stored.
    Always,
    /// This call is denied.
    Deny,
}

impl Answer {
    /// Returns the word for this answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Always => "always",
            Self::Deny => "deny",
        }
    }
}

/// A call that waits for the consent of a person.
#[derive(Clone, Debug)]
pub struct Question {
    /// The principal of the caller.
    pub principal: Option<Arc<str>>,
    /// The session of the caller; `None` where calls are stateless.
    pub session: Option<Arc<str>>,
    /// The profile.
    pub profile: Arc<str>,
    /// The server.
    pub server: ServerId,
    /// The kind of the target.
    pub kind: Kind,
    /// The server's own name of the target.
    pub raw: Arc<str>,
    /// The way to the target.
    pub door: Door,
    /// The effect class.
    pub effects: Effects,
    /// The trust in the server.
    pub trust: Trust,
    /// The data flow that the call leads to.
    pub flow: Flow,
    /// The arguments.
    pub arguments: Option<JsonText>,
    /// The id of the rule that asks.
    pub rule: Option<Arc<str>>,
    /// The digest of the target's definition, with which a grant ends.
    pub definition: Option<Digest>,
}

impl Question {
    /// The maximum length of the arguments in [`text`](Self::text), in characters.
    pub const LONGEST: usize = 8000;

    /// Returns the answers that a person can give. A call that completes a data flow cannot be allowed for ever, and a
    /// stateless caller has no session.
    pub fn answers(&self) -> Vec<Answer> {
        let session = self.session.as_ref().map(|_| Answer::Session);
        let always = (self.flow == Flow::Clear).then_some(Answer::Always);
        [Some(Answer::Once), session, always, Some(Answer::Deny)].into_iter().flatten().collect()
    }

    /// Returns the question for a person: the server, the target, its effect, the reason and the arguments, escaped for a
    /// terminal or a form.
    ///
    /// Arguments are complete up to [`LONGEST`](Self::LONGEST) characters; a longer text ends with the number of characters
    /// that are left out.
    pub fn text(&self) -> String {
        let world = if self.effects.open_world { ", reaches external systems" } else { "" };
        let mut out = format!(
            "Allow {} {} `{}` of the server `{}`?\nEffect: {}{world}\nServer: {} ({})",
            verb(self.door),
            self.kind,
            visible(&self.raw),
            self.server,
            self.effects.class,
            self.server,
            self.trust,
        );
        let reason = match (self.flow, &self.rule) {
            (Flow::Trifecta, _) => {
                "this session has private data, has read untrusted text, and can send data with this call".to_owned()
            }
            (Flow::Clear, Some(rule)) => format!("the rule `{}`", visible(rule)),
            (Flow::Clear, None) => "no rule matches".to_owned(),
        };
        let _ = write!(out, "\nReason: {reason}");
        if let Some(arguments) = &self.arguments {
            let shown = visible(arguments.as_str());
            let _ = write!(out, "\nArguments: {}", truncated(&shown));
        }
        out
    }
}

fn verb(door: Door) -> &'static str {
    match door {
        Door::List => "listing the",
        Door::Call => "the call of the",
        Door::Read => "reading the",
        Door::Link => "reading, because another server has linked to it, the",
        Door::Get => "the request of the",
        Door::Complete => "completions for the",
        Door::Subscribe => "a subscription to the",
        Door::Task => "access to a task of the",
        Door::Sampling => "a sampling request by the",
        Door::Elicitation => "an elicitation by the",
        Door::Roots => "a roots request by the",
    }
}

fn truncated(text: &str) -> String {
    match text.char_indices().nth(Question::LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} … ({} more characters)", &text[..end], text[end..].chars().count()),
    }
}
