//! Completion of arguments, from the lists of a server.

use couplet::types::{CompletionReference, UriTemplate};

use crate::{arguments::Schema, commands::list::Offer};

/// The candidates for the last word of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Wanted {
    /// One of these.
    OneOf(Vec<String>),
    /// A value that the server completes: the reference, the argument, the typed text.
    Value(CompletionReference, String, String),
}

/// Completes an argument of a tool, or its value if the schema lists the choices.
pub(crate) fn argument(offer: &Offer, tool: &str, given: &[&str], typed: &str) -> Wanted {
    let Some(tool) = offer.tools.iter().find(|t| t.name == tool) else { return Wanted::OneOf(Vec::new()) };
    let schema = Schema::new(&tool.input_schema);
    if let Some((name, _)) = typed.split_once('=') {
        let Some(place) = schema.property(name) else { return Wanted::OneOf(Vec::new()) };
        let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let choices = match place.choices() {
            Some(choices) => choices.iter().map(plain).collect(),
            None if place.sketch() == "boolean" => vec!["true".to_owned(), "false".to_owned()],
            None => Vec::new(),
        };
        return Wanted::OneOf(choices.iter().map(|choice| format!("{name}={choice}")).collect());
    }
    Wanted::OneOf(left(schema.names(), given))
}

pub(crate) fn prompt_argument(offer: &Offer, name: &str, given: &[&str], typed: &str) -> Wanted {
    if let Some((argument, value)) = typed.split_once('=') {
        return Wanted::Value(CompletionReference::prompt(name), argument.to_owned(), value.to_owned());
    }
    let prompt = offer.prompts.iter().find(|prompt| prompt.name == name);
    let names = prompt.into_iter().flat_map(|prompt| prompt.arguments.iter().flatten()).map(|a| a.name.as_str());
    Wanted::OneOf(left(names, given))
}

pub(crate) fn variable(template: &str, given: &[&str], typed: &str) -> Wanted {
    if let Some((argument, value)) = typed.split_once('=') {
        return Wanted::Value(CompletionReference::resource(template), argument.to_owned(), value.to_owned());
    }
    match UriTemplate::parse(template) {
        Ok(template) => Wanted::OneOf(left(template.variables(), given)),
        Err(_) => Wanted::OneOf(Vec::new()),
    }
}

/// Returns the arguments that are not given yet.
fn left<'a>(names: impl Iterator<Item = &'a str>, given: &[&str]) -> Vec<String> {
    let is_given = |name: &str| given.iter().any(|word| word.split_once('=').is_some_and(|(key, _)| key == name));
    names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
}
