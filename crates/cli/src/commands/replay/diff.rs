//! The differences between two responses.

use std::{collections::HashMap, fmt};

use serde_json::Value;

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// The path: `result.content[0].text`.
    pub(crate) place: String,
    /// The recorded value; `None` if the member was added.
    pub(crate) then: Option<Value>,
    /// The current value; `None` if the member was removed.
    pub(crate) now: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, then, now } = self;
        match (then, now) {
            (Some(then), Some(now)) => write!(f, "{place}: {} changed to {}", short(then), short(now)),
            (Some(then), None) => write!(f, "{place}: {} removed", short(then)),
            (None, Some(now)) => write!(f, "{place}: {} added", short(now)),
            (None, None) => write!(f, "{place}"),
        }
    }
}

/// The context of a comparison.
pub(crate) struct Rules<'a> {
    /// Paths that may differ.
    pub(crate) ignored: &'a [String],
    /// The index of the message in which the client first sends a string.
    pub(crate) first: &'a HashMap<String, usize>,
    /// The index of the response in the recording.
    pub(crate) at: usize,
}

impl Rules<'_> {
    /// Whether the string is an identifier of the server: the client repeats it after this response.
    fn is_identifier(&self, text: &str) -> bool {
        self.first.get(text).is_some_and(|first| *first > self.at)
    }
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) differences: Vec<Difference>,
    /// Identifiers of the server: recorded, and current.
    pub(crate) renamed: Vec<(String, String)>,
}

impl Compared {
    /// The maximum number of differences per response.
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
            (Some(Value::String(a)), Some(Value::String(b))) if rules.is_identifier(a) => {
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
                r#"result.a[1].b: "x" changed to "y""#,
                "result.a[2]: 3 added",
                "result.gone: true removed",
                "result.new: null added",
            ]
        );
        assert_eq!(compared.renamed, [("cursor-1".to_owned(), "cursor-2".to_owned())]);
    }
}
