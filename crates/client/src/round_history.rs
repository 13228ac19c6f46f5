//! The input requests in the rounds of one request, for the error after too many rounds.

use couplet_core::excerpt;
use couplet_types::{InputRequest, RawJson};

/// How many input requests an error names, and how many bytes of each.
const NAMED: usize = 3;
const EXCERPT: usize = 100;

/// The input requests of the last round, and whether they were the same in all rounds.
#[derive(Debug, Default)]
pub(crate) struct RoundHistory {
    last: Option<Vec<(String, String)>>,
    changed: bool,
}

impl RoundHistory {
    /// Adds a round. The keys are not compared: a server may generate them.
    pub(crate) fn add(&mut self, asks: &[(String, InputRequest)]) {
        let params = |ask: &InputRequest| ask.params.as_ref().map_or("", RawJson::get).to_owned();
        let mut round: Vec<_> = asks.iter().map(|(_, ask)| (ask.method.to_string(), params(ask))).collect();
        round.sort();
        self.changed |= self.last.as_ref().is_some_and(|last| *last != round);
        self.last = Some(round);
    }

    /// Describes the input requests of the last round, and says what to do.
    pub(crate) fn describe(&self, asks: &[(String, InputRequest)]) -> String {
        let named: Vec<_> = asks.iter().take(NAMED).map(|(key, ask)| name(key, ask)).collect();
        let more = asks.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let advice = match self.changed || asks.is_empty() {
            true => "`max_rounds` allows more",
            false => "they are the same in every round, so the responses do not satisfy the server",
        };
        let space = if named.is_empty() { "" } else { " " };
        format!("{space}{}{more}; {advice}", named.join(", "))
    }
}

/// Returns the key and the message of an input request.
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
