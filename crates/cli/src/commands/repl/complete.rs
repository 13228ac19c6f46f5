//! What could come next in a line.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use couplet::{
    Client,
    types::{CompletionReference, UriTemplate},
};
use tokio::runtime::Handle;

use super::COMMANDS;
use crate::{arguments::Schema, commands::list::Offer, exit::Failure, output::text, target::Session};

/// What the server offers, for completion. Clones are the same menu.
#[derive(Clone)]
pub(crate) struct Menu {
    offer: Arc<Mutex<Offer>>,
    client: Client,
    runtime: Handle,
}

/// What is wanted at the end of a line.
#[derive(Debug, PartialEq)]
enum Wanted {
    /// One of these.
    OneOf(Vec<String>),
    /// A value that the server may know: of what, of which argument, what is typed.
    Value(CompletionReference, String, String),
}

impl Menu {
    pub(crate) async fn new(session: &Session) -> Result<Self, Failure> {
        let offer = Offer::of(session, None).await?;
        Ok(Self { offer: Arc::new(Mutex::new(offer)), client: session.client.clone(), runtime: Handle::current() })
    }

    pub(crate) async fn reload(&self, session: &Session) -> Result<(), Failure> {
        let offer = Offer::of(session, None).await?;
        *self.offer() = offer;
        Ok(())
    }

    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.offer().tools.iter().any(|tool| tool.name == name)
    }

    pub(crate) fn tools(&self) -> Vec<String> {
        self.offer().tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Where the word begins that is being typed, and what it could become. It may ask the server, and waits for it: it
    /// is called on a thread of its own.
    pub(crate) fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = &line[start..];
        let wanted = wanted(line, &self.offer());
        let (from, candidates) = match wanted {
            Wanted::OneOf(words) => (start, words),
            Wanted::Value(of, argument, typed) => (start + word.len() - typed.len(), self.ask(of, &argument, &typed)),
        };
        let typed = &line[from..];
        let fits = |candidate: &String| candidate.starts_with(typed) && text::visible(candidate) == candidate.as_str();
        (from, candidates.into_iter().filter(fits).collect())
    }

    fn ask(&self, of: CompletionReference, argument: &str, typed: &str) -> Vec<String> {
        const PATIENCE: Duration = Duration::from_secs(2);
        let asked = self.client.complete(of, argument, typed).timeout(PATIENCE);
        self.runtime.block_on(async { asked.await }).map(|found| found.values).unwrap_or_default()
    }

    fn offer(&self) -> MutexGuard<'_, Offer> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wanted(line: &str, offer: &Offer) -> Wanted {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    // A line that ends with a blank begins a new word.
    let typed = if line.ends_with(char::is_whitespace) { "" } else { words.pop().unwrap_or_default() };
    let tools = || offer.tools.iter().map(|tool| tool.name.clone());
    let prompts = || offer.prompts.iter().map(|prompt| prompt.name.clone());
    let templates = || offer.templates.iter().map(|template| template.uri_template.clone());
    match words.as_slice() {
        [] => Wanted::OneOf(COMMANDS.iter().map(|(name, ..)| (*name).to_owned()).chain(tools()).collect()),
        ["list" | "ls"] => {
            let kinds = ["tools", "resources", "prompts"].map(str::to_owned);
            Wanted::OneOf(kinds.into_iter().chain(tools()).chain(prompts()).collect())
        }
        ["call"] => Wanted::OneOf(tools().collect()),
        ["prompt"] => Wanted::OneOf(prompts().collect()),
        ["complete"] => Wanted::OneOf(prompts().chain(templates()).collect()),
        ["read"] => Wanted::OneOf(offer.resources.iter().map(|r| r.uri.clone()).chain(templates()).collect()),
        ["call", tool, given @ ..] => argument(offer, tool, given, typed),
        ["prompt", name, given @ ..] => prompt_argument(offer, name, given, typed),
        ["read", template, given @ ..] => variable(template, given, typed),
        [tool, given @ ..] => argument(offer, tool, given, typed),
    }
}

/// An argument of a tool, or its value where there is a choice.
fn argument(offer: &Offer, tool: &str, given: &[&str], typed: &str) -> Wanted {
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

fn prompt_argument(offer: &Offer, name: &str, given: &[&str], typed: &str) -> Wanted {
    if let Some((argument, value)) = typed.split_once('=') {
        return Wanted::Value(CompletionReference::prompt(name), argument.to_owned(), value.to_owned());
    }
    let prompt = offer.prompts.iter().find(|prompt| prompt.name == name);
    let names = prompt.into_iter().flat_map(|prompt| prompt.arguments.iter().flatten()).map(|a| a.name.as_str());
    Wanted::OneOf(left(names, given))
}

fn variable(template: &str, given: &[&str], typed: &str) -> Wanted {
    if let Some((argument, value)) = typed.split_once('=') {
        return Wanted::Value(CompletionReference::resource(template), argument.to_owned(), value.to_owned());
    }
    match UriTemplate::parse(template) {
        Ok(template) => Wanted::OneOf(left(template.variables(), given)),
        Err(_) => Wanted::OneOf(Vec::new()),
    }
}

/// The arguments that are not given yet.
fn left<'a>(names: impl Iterator<Item = &'a str>, given: &[&str]) -> Vec<String> {
    let is_given = |name: &str| given.iter().any(|word| word.split_once('=').is_some_and(|(key, _)| key == name));
    names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
}

#[cfg(test)]
mod tests {
    use couplet::types::{Prompt, PromptArgument, RawJson, Resource, ResourceTemplate, Tool};

    use super::*;

    fn offer() -> Offer {
        let schema = r#"{"properties":{"size":{"enum":["S","L"]},"loud":{"type":"boolean"},"name":{"type":"string"}}}"#;
        Offer {
            tools: vec![Tool::new("order", RawJson::from_text(schema).unwrap())],
            resources: vec![Resource::new("shop://menu", "menu")],
            templates: vec![ResourceTemplate::new("shop://item/{id}", "item")],
            prompts: vec![Prompt::new("plan").arguments(vec![PromptArgument::new("city")])],
        }
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let Wanted::OneOf(words) = wanted(line, &offer()) else { panic!("{line} asks the server") };
        let last = line.rsplit(char::is_whitespace).next().unwrap_or_default();
        let fitting: Vec<_> = words.iter().filter(|word| word.starts_with(last)).collect();
        assert_eq!(fitting, expected, "{line}");
    }

    #[test]
    fn words_are_completed_by_their_place() {
        check("", &["list", "call", "read", "prompt", "complete", "info", "help", "quit", "order"]);
        check("o", &["order"]);
        check("call ", &["order"]);
        check("order ", &["size=", "loud=", "name="]);
        check("call order size=S ", &["loud=", "name="]);
        check("order size=", &["size=S", "size=L"]);
        check("order loud=t", &["loud=true"]);
        check("order name=", &[]);
        check("prompt plan ", &["city="]);
        check("read ", &["shop://menu", "shop://item/{id}"]);
        check("read shop://item/{id} ", &["id="]);
        check("list t", &["tools"]);
        check("nothing ", &[]);
    }

    #[test]
    fn values_of_prompts_and_templates_are_asked_for() {
        let city = Wanted::Value(CompletionReference::prompt("plan"), "city".into(), "Os".into());
        assert_eq!(wanted("prompt plan city=Os", &offer()), city);
        let id = Wanted::Value(CompletionReference::resource("shop://item/{id}"), "id".into(), String::new());
        assert_eq!(wanted("read shop://item/{id} id=", &offer()), id);
    }
}
