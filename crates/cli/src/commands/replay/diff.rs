//! In what two answers differ.

use std::{collections::HashMap, fmt};

use serde_json::Value;

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// Where: `result.content[0].text`.
    pub(crate) place: String,
    /// What was there; nothing if it is new.
    pub(crate) then: Option<Value>,
    /// What is there; nothing if it is gone.
    pub(crate) now: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, then, now } = self;
        match (then, now) {
            (Some(then), Some(now)) => write!(f, "{place}: {} became {}", short(then), short(now)),
            (Some(then), None) => write!(f, "{place}: {} is gone", short(then)),
            (None, Some(now)) => write!(f, "{place}: {} is new", short(now)),
            (None, None) => write!(f, "{place}"),
        }
    }
}

/// What is known about an answer beside the answer itself.
pub(crate) struct Rules<'a> {
    /// Places that may differ.
    pub(crate) ignored: &'a [String],
    /// Where in the recording the client says a text for the first time.
    pub(crate) first: &'a HashMap<String, usize>,
    /// Where in the recording the answer is.
    pub(crate) at: usize,
}

impl Rules<'_> {
    /// Whether the client says the text only after the server has: then it is a name that the server makes up.
    fn is_made_up(&self, text: &str) -> bool {
        self.first.get(text).is_some_and(|first| *first > self.at)
    }
}

/// What came of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) differences: Vec<Difference>,
    /// Texts that the server has made up anew.
    pub(crate) renamed: Vec<(String, String)>,
}

impl Compared {
    /// More than these nobody reads.
    const MOST: usize = 20;

    pub(crate) fn of(then: &Value, now: &Value, rules: &Rules<'_>) -> Self {
        let mut compared = Self::default();
        compared.look(String::new(), Some(then), Some(now), rules);
        compared
    }

    fn look(&mut self, place: String, then: Option<&Value>, now: Option<&Value>, rules: &Rules<'_>) {
        let is_meta = place == "_meta" || place.ends_with("._meta");
        if then == now || is_meta || rules.ignored.contains(&place) || self.differences.len() >= Self::MOST {
            return;
        }
        match (then, now) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
                for key in keys {
                    let inner = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                    self.look(inner, a.get(key), b.get(key), rules);
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                for at in 0..a.len().max(b.len()) {
                    self.look(format!("{place}[{at}]"), a.get(at), b.get(at), rules);
                }
            }
            (Some(Value::String(a)), Some(Value::String(b))) if rules.is_made_up(a) => {
                self.renamed.push((a.clone(), b.clone()));
            }
            (then, now) => {
                self.differences.push(Difference { place, then: then.cloned(), now: now.cloned() });
            }
        }
    }
}

fn short(value: &Value) -> String {
    const SHOWN: usize = 60;
    crate::output::text::cut(&value.to_string(), SHOWN).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_named_by_their_place() {
        let first = HashMap::from([("cursor-1".to_owned(), 5), ("x".to_owned(), 1)]);
        let ignored = ["result.time".to_owned()];
        let then =
            json!({ "result": { "a": [1, { "b": "x" }], "time": 1, "gone": true, "next": "cursor-1", "_meta": 1 } });
        let now =
            json!({ "result": { "a": [1, { "b": "y" }, 3], "time": 2, "next": "cursor-2", "_meta": 2, "new": null } });
        let compared = Compared::of(&then, &now, &Rules { ignored: &ignored, first: &first, at: 3 });
        let lines: Vec<_> = compared.differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                r#"result.a[1].b: "x" became "y""#,
                "result.a[2]: 3 is new",
                "result.gone: true is gone",
                "result.new: null is new",
            ]
        );
        assert_eq!(compared.renamed, [("cursor-1".to_owned(), "cursor-2".to_owned())]);
    }
}
