//! What the command line has answered already.

use couplet::{
    client::Elicitation,
    types::{ElicitSchema, Map, RawJson},
};

use super::field;

/// What the command line has answered before anything was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Fields of forms, by their names.
    pub(crate) answers: Vec<(String, String)>,
    /// What a model would say.
    pub(crate) sample: Option<String>,
}

/// What came of it.
pub(crate) enum Filled {
    /// Nothing is left to ask.
    Whole(RawJson),
    /// These are known, others are not.
    Part(Map<RawJson>),
    /// An answer that the form does not take.
    Wrong(String),
}

/// Fills in what was given with `--answer`. Without any, nothing is filled in, not even defaults: somebody should see them.
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
