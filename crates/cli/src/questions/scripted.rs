//! Answers from the command line.

use std::sync::Arc;

use couplet::{
    client::Elicitation,
    types::{ElicitSchema, Map, RawJson},
};

use super::{Plan, field};

/// The values of `--answer` and `--sample`, or a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Fields of forms, by name.
    pub(crate) answers: Vec<(String, String)>,
    /// The answer to sampling requests.
    pub(crate) sample: Option<String>,
    /// The replies of the running call, in place of a terminal.
    pub(crate) plan: Option<Arc<Plan>>,
}

/// The result of filling in a form.
pub(crate) enum Filled {
    /// The form is complete.
    Whole(RawJson),
    /// Some fields are known.
    Part(Map<RawJson>),
    /// An answer is invalid.
    Wrong(String),
}

/// Fills in the answers of `--answer`, and the defaults of other fields if there are any answers.
pub(crate) fn fill(ask: &Elicitation, answers: &[(String, String)]) -> Filled {
    let Ok(Some(schema)) = ask.schema() else { return Filled::Part(Map::new()) };
    let mut known = Map::new();
    for (name, typed) in answers {
        let Some(property) = schema.properties.get(name) else { continue };
        let form = ElicitSchema::new().optional(name, property.clone());
        match field::read(name, property, &form, typed) {
            Ok(value) => known.insert(name.as_str(), value),
            Err(what) => return Filled::Wrong(format!("--answer {name}: {what}")),
        }
    }
    if known.is_empty() {
        return Filled::Part(known);
    }
    let mut whole = schema.defaults();
    known.iter().for_each(|(name, value)| whole.insert(name, value.clone()));
    match schema.check(&whole).ok().and_then(|()| RawJson::new(&whole).ok()) {
        Some(content) => Filled::Whole(content),
        None => Filled::Part(known),
    }
}
