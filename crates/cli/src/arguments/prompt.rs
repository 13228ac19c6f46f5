//! The arguments of prompts and URI templates, which are all strings.

use couplet::types::Map;

use super::{Word, nearest};
use crate::exit::Failure;

/// An argument that a prompt or template takes.
pub(crate) struct Offered<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: Option<&'a str>,
    pub(crate) required: bool,
}

/// Converts the words of a command line to strings.
///
/// # Errors
/// If an argument is unknown or missing.
pub(crate) fn strings(words: &[String], offered: &[Offered<'_>]) -> Result<Map<String>, Failure> {
    let mut given = Map::new();
    for word in words {
        match Word::parse(word)? {
            Word::Text(key, text) => given.insert(key, text),
            Word::Json(key, json) => given.insert(key, json.parse().unwrap_or_else(|_| json.get().to_owned())),
            Word::Whole(members) => {
                for (key, json) in members {
                    given.insert(key, json.parse().unwrap_or_else(|_| json.get().to_owned()));
                }
            }
        }
    }
    let is_known = |key: &str| offered.iter().any(|argument| argument.name == key);
    if let Some(wrong) = given.keys().find(|key| !is_known(key)) {
        let failure = Failure::usage(format!("unknown argument `{wrong}`"));
        let names: Vec<_> = offered.iter().map(|argument| argument.name).collect();
        return Err(match (nearest(wrong, names.iter().copied()), names.is_empty()) {
            (Some(name), _) => failure.hint(format!("did you mean `{name}`?")),
            (None, true) => failure.hint("it takes no arguments"),
            (None, false) => failure.hint(format!("expected one of {}", names.join(", "))),
        });
    }
    let missing: Vec<_> = offered.iter().filter(|a| a.required && !given.contains_key(a.name)).collect();
    if missing.is_empty() {
        return Ok(given);
    }
    let names = missing.iter().map(|a| format!("`{}`", a.name)).collect::<Vec<_>>().join(", ");
    let what = if missing.len() == 1 { "missing argument" } else { "missing arguments" };
    let mut failure = Failure::usage(format!("{what}: {names}"));
    for argument in &missing {
        failure = failure.detail(format!("{} {}", argument.name, argument.description.unwrap_or_default()).trim_end());
    }
    Err(failure.hint(format!("add {}", missing.iter().map(|a| format!("{}=…", a.name)).collect::<Vec<_>>().join(" "))))
}
