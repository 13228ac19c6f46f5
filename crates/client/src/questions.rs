//! What a server asked in the rounds of one request, for the error that ends them.

use couplet_core::excerpt;
use couplet_types::{InputRequest, RawJson};

/// How many questions an error names, and how many bytes of each.
const NAMED: usize = 3;
const EXCERPT: usize = 100;

/// The questions of the last round, and whether they were the same ones in all rounds.
#[derive(Debug, Default)]
pub(crate) struct History {
    last: Option<Vec<(String, String)>>,
    changed: bool,
}

impl History {
    /// Adds the questions of a round. Their keys do not count: a server gives each question one of its own.
    pub(crate) fn add(&mut self, asks: &[(String, InputRequest)]) {
        let params = |ask: &InputRequest| ask.params.as_ref().map_or("", RawJson::get).to_owned();
        let mut round: Vec<_> = asks.iter().map(|(_, ask)| (ask.method.to_string(), params(ask))).collect();
        round.sort();
        self.changed |= self.last.as_ref().is_some_and(|last| *last != round);
        self.last = Some(round);
    }

    /// The questions of the last round in words, and what can be done.
    pub(crate) fn told(&self, asks: &[(String, InputRequest)]) -> String {
        let named: Vec<_> = asks.iter().take(NAMED).map(|(key, ask)| name(key, ask)).collect();
        let more = asks.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let advice = match self.changed || asks.is_empty() {
            true => "`rounds` allows more",
            false => "it asked the same in every round, so the answers do not satisfy it",
        };
        let space = if named.is_empty() { "" } else { " " };
        format!("{space}{}{more}; {advice}", named.join(", "))
    }
}

/// The key of a question, and what it says.
fn name(key: &str, ask: &InputRequest) -> String {
    #[derive(serde::Deserialize)]
    struct Message {
        message: String,
    }
    let key = excerpt(key, EXCERPT);
    match ask.params.as_ref().and_then(|params| params.parse::<Message>().ok()) {
        Some(Message { message }) => format!("`{key}` (`{}`)", excerpt(&message, EXCERPT)),
        None => format!("`{key}` (`{}`)", excerpt(&ask.method, EXCERPT)),
    }
}
