//! Prompts and their arguments.

use std::collections::BTreeSet;

use serde_json::Value;

use super::words::doubles;
use crate::{
    Surface,
    report::Report,
    rule::table,
    surface::{Item, Kind},
};

table! { Prompts:
    MISSING = "prompt-name-missing" Error
        about "a prompt has no name"
        why "The specification requires one, and clients built on the official SDKs reject the whole list."
        fix "Give it a name."
    BLANK = "prompt-name-blank" Warning
        about "the name of a prompt contains spaces"
        why "Hosts turn it into a command; Claude Code cannot run one with spaces (anthropics/claude-code#5542)."
        fix "Use `_` or `-`."
    DUPLICATE = "prompt-duplicate" Error
        about "two prompts have the same name"
        why "Which of the two `prompts/get` returns is undefined."
        fix "Give each prompt a name of its own."
    UNDESCRIBED = "prompt-undescribed" Warning
        about "a prompt has no description"
        why "Users choose prompts by it."
        fix "Say what the prompt is for."
    ARGUMENT = "prompt-argument-undescribed" Note
        about "an argument of a prompt has no description"
        why "Hosts show it to users when they ask for the value."
        fix "Describe the expected value."
    ARGUMENT_NAME = "prompt-argument-name" Error
        about "an argument of a prompt has no name, or that of another one"
        why "The specification requires names, and values are given by them."
        fix "Give each argument a name of its own."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let prompts = surface.items(Kind::Prompts);
    for prompt in prompts {
        let name = prompt.name();
        if name.is_empty() {
            report.add(&MISSING, prompt.at("/name"), "`name` is missing, empty or not a string");
        } else if name.contains(char::is_whitespace) {
            report.add(&BLANK, prompt.at("/name"), format!("the name is `{name}`"));
        }
        if prompt.text("description").is_none_or(|text| text.trim().is_empty()) {
            report.add(&UNDESCRIBED, prompt.place(), "there is no `description`");
        }
        arguments(prompt, report);
    }
    for (prompt, _) in doubles(prompts, |prompt| Some(prompt.name().to_owned()).filter(|name| !name.is_empty())) {
        report.add(&DUPLICATE, prompt.at("/name"), "there is another prompt of this name");
    }
}

fn arguments(prompt: &Item, report: &mut Report<'_>) {
    let mut seen = BTreeSet::new();
    let arguments = prompt.get("arguments").and_then(Value::as_array).into_iter().flatten();
    for (at, argument) in arguments.enumerate() {
        let place = || prompt.at(format!("/arguments/{at}"));
        let text = |member: &str| argument.get(member).and_then(Value::as_str).unwrap_or_default();
        let name = text("name");
        if name.is_empty() {
            report.add(&ARGUMENT_NAME, place(), "`name` is missing, empty or not a string");
        } else if !seen.insert(name) {
            report.add(&ARGUMENT_NAME, place(), format!("there is another argument `{name}`"));
        }
        if text("description").trim().is_empty() {
            report.add(&ARGUMENT, place(), format!("`{name}` has no `description`"));
        }
    }
}
