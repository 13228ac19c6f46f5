//! Completion of a line.

use std::{
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use couplet::{Client, core::sync::lock, types::CompletionReference};
use tokio::runtime::Handle;

use super::COMMANDS;
use crate::{
    commands::list::Offer,
    completion::{
        line::{quoted, split},
        lists::remember_offer,
        offered::{Wanted, argument, prompt_argument, variable},
    },
    exit::Failure,
    output::text,
    target::Session,
};

/// The lists of the server, for completion. Clones share the lists.
#[derive(Clone)]
pub(crate) struct Menu {
    offer: Arc<Mutex<Offer>>,
    client: Client,
    runtime: Handle,
}

impl Menu {
    pub(crate) async fn new(session: &Session) -> Result<Self, Failure> {
        let offer = Offer::of(session, None).await?;
        remember_offer(&session.target, &offer, None);
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
