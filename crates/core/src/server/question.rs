//! The identity of client requests and steps across rounds: by their keys, and requests also by their texts.

use std::collections::BTreeMap;

use couplet_types::{CreateMessage, Elicit, ListRoots, Request, RpcError};
use serde::{Deserialize, Serialize};

use crate::{server::seal::fingerprint, wire::project::Ask};

/// The number of bytes of a text that are stored to show how it changed. They travel through the client.
const EXCERPT: usize = 200;

/// How often each key was used in one run of a handler. Most handlers use none, and allocate nothing.
#[derive(Debug, Default)]
pub(crate) struct Names(Option<Box<(Uses, Uses)>>);

impl Names {
    /// Returns the name of the next client request with a key.
    pub(crate) fn question(&mut self, key: &str) -> String {
        self.0.get_or_insert_default().0.next(key)
    }

    /// Returns the name of the next step with a key.
    pub(crate) fn step(&mut self, key: &str) -> String {
        self.0.get_or_insert_default().1.next(key)
    }
}

#[derive(Debug, Default)]
struct Uses(BTreeMap<String, usize>);

impl Uses {
    /// Returns the name of the next use of a key: `age`, then `age#2`, `age#3`.
    ///
    /// Names are unique over all keys: a key that itself looks like `age#2` is numbered from its first use on.
    fn next(&mut self, key: &str) -> String {
        let uses = match self.0.get_mut(key) {
            Some(uses) => uses,
            None => self.0.entry(key.to_owned()).or_default(),
        };
        *uses += 1;
        if *uses == 1 && !is_numbered(key) { key.to_owned() } else { format!("{key}#{uses}") }
    }
}

fn is_numbered(key: &str) -> bool {
    let number = key.rsplit_once('#').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A client request as it was sent: enough to detect that it changed in a later round, and to show how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    print: String,
    text: String,
}

impl Asked {
    pub(crate) fn new(ask: &Ask) -> Self {
        let (method, params, text) = match ask {
            Ask::Elicit(params) => {
                let mut params = params.clone();
                // Which id a visit has is nothing that the user sees.
                (params.elicitation_id, params.task) = (None, None);
                (Elicit::METHOD, serde_json::to_string(&params), params.message)
            }
            // What a model is asked may be private, and is not stored anywhere.
            Ask::Sample(params) => (CreateMessage::METHOD, serde_json::to_string(params), String::new()),
            Ask::Roots => (ListRoots::METHOD, Ok(String::new()), String::new()),
        };
        Self { print: fingerprint(method, &params.unwrap_or_default()), text: excerpt(&text, EXCERPT) }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.print == other.print
    }

    /// Returns the error for a request that was this one in an earlier round and is another one `now`.
    pub(crate) fn changed(&self, key: &str, now: &Self) -> RpcError {
        let (then, now) = (&self.text, &now.text);
        let what = if now != then {
            format!("the question `{key}` was `{then}` and is now `{now}`")
        } else {
            format!("the question `{key}` has other parameters than in the round before")
        };
        RpcError::internal(format!("{what}: put what changes into a `step`"))
    }
}

/// Returns the beginning of a string in one line, for an error that shows it: at most `most` bytes, and a mark if truncated.
pub fn excerpt(text: &str, most: usize) -> String {
    let mut short = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if short.len() + c.len_utf8() > most {
            short.push('…');
            break;
        }
        short.push(c);
    }
    short
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use couplet_types::{ElicitParams, ElicitSchema};

    use crate::server::question::*;

    #[test]
    fn no_two_uses_have_one_name() {
        let keys = ["age", "age#2", "age#2#2", "age#02", "age#", "#", "#2", "", "age#x", "age#1", "age#1#1"];
        let (mut uses, mut names) = (Uses::default(), BTreeSet::new());
        for _ in 0..30 {
            for key in keys {
                let name = uses.next(key);
                assert!(names.insert(name.clone()), "{key}: {name}");
            }
        }
        let mut uses = Uses::default();
        let first: Vec<_> = ["age", "age", "age", "age#2", "a b", "age"].map(|key| uses.next(key)).into();
        assert_eq!(first, ["age", "age#2", "age#3", "age#2#1", "a b", "age#4"]);
    }

    #[test]
    fn a_changed_question_names_its_key_and_both_texts() {
        let form = |text: &str| Asked::new(&Ask::Elicit(Box::new(ElicitParams::form(text, &ElicitSchema::new()))));
        let visit = |url: &str| Asked::new(&Ask::Elicit(Box::new(ElicitParams::visit("Log in", url))));
        assert!(form("a?").is_same(&form("a?")));
        for (then, now, told) in [
            (form("a?"), form("b?"), "the question `k` was `a?` and is now `b?`: put what changes into a `step`"),
            (
                visit("https://a.example/1"),
                visit("https://a.example/2"),
                "the question `k` has other parameters than in the round before: put what changes into a `step`",
            ),
        ] {
            assert!(!then.is_same(&now));
            assert_eq!(then.changed("k", &now).message, told);
        }
        let long = form(&"ä".repeat(10_000));
        assert!(long.text.len() <= EXCERPT + 3 && long.text.ends_with('…'), "{}", long.text);
        assert_eq!(excerpt("a\nb", 3), "a b");
    }
}
