//! Completion of a line.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use couplet::{
    Client,
    core::sync::lock,
    types::{CompletionReference, UriTemplate},
};
use tokio::runtime::Handle;

use super::COMMANDS;
use crate::{arguments::Schema, commands::list::Offer, exit::Failure, output::text, target::Session};

/// The lists of the server, for completion. Clones share the lists.
#[derive(Clone)]
pub(crate) struct Menu {
    offer: Arc<Mutex<Offer>>,
    client: Client,
    runtime: Handle,
}

/// The candidates for the last word of a line.
#[derive(Debug, PartialEq)]
enum Wanted {
    /// One of these.
    OneOf(Vec<String>),
    /// A value that the server completes: the reference, the argument, the typed text.
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

    /// Returns the start of the last word, and its completions. It may block on a request to the server, so it must be
    /// called on a blocking thread.
    pub(crate) fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let (words, start) = split(line);
        let typed = words.last().map_or("", String::as_str);
        let wanted = wanted(&words, &self.offer());
        let candidates = match wanted {
            Wanted::OneOf(words) => words,
            Wanted::Value(of, argument, typed) => {
                self.ask(of, &argument, &typed).into_iter().map(|value| format!("{argument}={value}")).collect()
            }
        };
        let fits = |candidate: &String| candidate.starts_with(typed) && text::visible(candidate) == candidate.as_str();
        (start, candidates.into_iter().filter(fits).map(|candidate| quoted(&candidate)).collect())
    }

    fn ask(&self, of: CompletionReference, argument: &str, typed: &str) -> Vec<String> {
        const TIMEOUT: Duration = Duration::from_secs(2);
        let asked = self.client.complete(of, argument, typed).timeout(TIMEOUT);
        self.runtime.block_on(async { asked.await }).map(|found| found.values).unwrap_or_default()
    }

    fn offer(&self) -> MutexGuard<'_, Offer> {
        lock(&self.offer)
    }
}

/// Splits a line as a shell does. The last word may be empty or in an open quote; its start is returned too.
fn split(line: &str) -> (Vec<String>, usize) {
    let (mut words, mut word, mut start) = (Vec::new(), String::new(), 0);
    let mut quote = None;
    let mut rest = line.char_indices();
    while let Some((at, c)) = rest.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.extend(rest.next().map(|(_, c)| c)),
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.push(c),
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c.is_whitespace() => {
                // Several spaces count as one.
                if start < at {
                    words.push(std::mem::take(&mut word));
                }
                start = at + c.len_utf8();
            }
            (c, None) => word.push(c),
        }
    }
    words.push(word);
    (words, start)
}

/// Quotes a word for the command line; in `key=value`, the value only.
fn quoted(word: &str) -> String {
    let (key, value) = match word.split_once('=') {
        Some((key, value)) => (format!("{key}="), value),
        None => (String::new(), word),
    };
    match (value, shlex::try_quote(value)) {
        ("", _) => key,
        (_, Ok(quoted)) => key + &quoted,
        (value, Err(_)) => key + value,
    }
}

fn wanted(words: &[String], offer: &Offer) -> Wanted {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let typed = words.pop().unwrap_or_default();
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

/// Completes an argument of a tool, or its value if the schema lists the choices.
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

/// Returns the arguments that are not given yet.
fn left<'a>(names: impl Iterator<Item = &'a str>, given: &[&str]) -> Vec<String> {
    let is_given = |name: &str| given.iter().any(|word| word.split_once('=').is_some_and(|(key, _)| key == name));
    names.filter(|name| !is_given(name)).map(|name| format!("{name}=")).collect()
}

#[cfg(test)]
mod tests {
    use couplet::types::{Prompt, PromptArgument, RawJson, Resource, ResourceTemplate, Tool};

    use super::*;

    fn offer() -> Offer {
        let schema = r#"{"properties":{"size":{"enum":["S","L","Extra large"]},"loud":{"type":"boolean"},"name":{"type":"string"}}}"#;
        Offer {
            tools: vec![Tool::new("order", RawJson::from_text(schema).unwrap())],
            resources: vec![Resource::new("shop://menu", "menu")],
            templates: vec![ResourceTemplate::new("shop://item/{id}", "item")],
            prompts: vec![Prompt::new("plan").arguments(vec![PromptArgument::new("city")])],
            failed: Vec::new(),
        }
    }

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let words = split(line).0;
        let Wanted::OneOf(found) = wanted(&words, &offer()) else { panic!("{line} asks the server") };
        let last = words.last().unwrap();
        let fitting: Vec<_> = found.iter().filter(|word| word.starts_with(last)).map(|word| quoted(word)).collect();
        assert_eq!(fitting, expected, "{line}");
    }

    #[test]
    fn words_are_completed_by_their_place() {
        let commands = ["list", "call", "read", "prompt", "complete", "listen", "log", "ping", "info", "help", "quit"];
        check("", &[&commands[..], &["order"]].concat());
        check("o", &["order"]);
        check("call ", &["order"]);
        check("order ", &["size=", "loud=", "name="]);
        check("call order size=S ", &["loud=", "name="]);
        check("order size=", &["size=S", "size=L", "size='Extra large'"]);
        for typed in ["size=E", "size='Extra l", "size=\"Extra l", "size=Extra\\ l", "'size=Ex"] {
            check(&format!("order {typed}"), &["size='Extra large'"]);
        }
        check("order size='Extra large' lo", &["loud="]);
        check("read shop://i", &["'shop://item/{id}'"]);
        check("order loud=t", &["loud=true"]);
        check("order name=", &[]);
        check("prompt plan ", &["city="]);
        check("read ", &["shop://menu", "'shop://item/{id}'"]);
        check("read 'shop://item/{id}' ", &["id="]);
        check("list t", &["tools"]);
        check("nothing ", &[]);
    }

    #[test]
    fn a_line_is_split_as_when_it_is_entered() {
        for (line, words, start) in [
            ("", &[""][..], 0),
            ("a  b ", &["a", "b", ""], 5),
            ("a 'b c", &["a", "b c"], 2),
            ("a b\\ c", &["a", "b c"], 2),
            ("a 'b'\"c d\"e", &["a", "bc de"], 2),
        ] {
            assert_eq!(split(line), (words.iter().map(ToString::to_string).collect(), start), "{line}");
        }
    }

    #[test]
    fn values_of_prompts_and_templates_are_asked_for() {
        let city = Wanted::Value(CompletionReference::prompt("plan"), "city".into(), "Os".into());
        assert_eq!(wanted(&split("prompt plan city=Os").0, &offer()), city);
        let id = Wanted::Value(CompletionReference::resource("shop://item/{id}"), "id".into(), String::new());
        assert_eq!(wanted(&split("read shop://item/{id} id=").0, &offer()), id);
    }
}
